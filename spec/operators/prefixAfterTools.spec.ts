import { describe, expect, it } from '@jest/globals';
import { from } from 'rxjs';
import type { RunEvent } from '../../lib/core/event.js';
import { prefixAfterTools } from '../../lib/operators/prefixAfterTools.js';
import { diagram } from '../support/diagram.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { observe } from '../support/observe.js';

const text = (value: string): RunEvent => ({ type: 'text', text: value });
const results: RunEvent = {
  type: 'message',
  message: { role: 'user', parts: [{ type: 'toolResult', id: 'c1', name: 'f', result: 1 }] },
};
const turn = (n: number): RunEvent => ({ type: 'turn', turn: n, finishReason: 'stop' });

const textsOf = (events: readonly RunEvent[], prefix?: string) =>
  observe(from(events).pipe(prefixAfterTools(prefix)))
    .values.filter((event) => event.type === 'text')
    .map((event) => event.text);

describe('prefixAfterTools', () => {
  it('puts the first text after a tool round on a new line', () =>
    diagram('prefixAfterTools', ({ source }) => source.pipe(prefixAfterTools())));

  it.each(operatorContract(prefixAfterTools(), { source: [results, text('a'), text('b')] }))(
    'prefixAfterTools $title',
    ({ run }) => run(),
  );

  it('does so after each tool round, also when no text preceded it', () => {
    expect(textsOf([results, turn(1), text('a'), text('b'), results, turn(2), text('c')])).toEqual(['\na', 'b', '\nc']);
  });

  it('leaves a run without tools as it is, and other messages', () => {
    const model: RunEvent = { type: 'message', message: { role: 'model', parts: [{ type: 'text', text: 'a' }] } };
    expect(textsOf([text('a'), model, turn(1), text('b')])).toEqual(['a', 'b']);
  });

  it('waits for text that says something, past thinking and metadata', () => {
    const others: RunEvent[] = [
      { type: 'thinking', text: 'hm' },
      { type: 'metadata', metadata: {} },
    ];
    expect(textsOf([results, ...others, text(''), text('a')])).toEqual(['', '\na']);
  });

  it('takes another prefix', () => {
    expect(textsOf([results, text('a')], ' · ')).toEqual([' · a']);
  });

  it('prefixes again after a retract of the turn that had it, and only then', () => {
    const retract: RunEvent = { type: 'retract' };
    expect(textsOf([results, turn(1), text('void'), retract, text('a')])).toEqual(['\nvoid', '\na']);
    expect(textsOf([results, turn(1), retract, text('a')])).toEqual(['\na']);
    expect(textsOf([results, text('a'), turn(2), text('b'), retract, text('c')])).toEqual(['\na', 'b', 'c']);
  });

  it('does not change a stored message', () => {
    const stored: RunEvent = { type: 'message', message: { role: 'model', parts: [{ type: 'text', text: 'a' }] } };
    expect(observe(from([results, text('a'), stored]).pipe(prefixAfterTools())).values.at(-1)).toBe(stored);
  });
});
