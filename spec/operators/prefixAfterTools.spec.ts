import { describe, expect, it } from '@jest/globals';
import { from } from 'rxjs';
import type { RunEvent } from '../../lib/core/event.js';
import { userMessage } from '../../lib/core/message.js';
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
  it('prefixAfterTools puts the first text after a tool round on a new line', () =>
    diagram('prefixAfterTools', ({ source }) => source.pipe(prefixAfterTools())));

  it.each(operatorContract(prefixAfterTools(), { source: [results, text('a'), text('b')] }))(
    'prefixAfterTools $title',
    ({ run }) => run(),
  );

  it('prefixAfterTools prefixes the first text after each tool round', () => {
    expect(textsOf([text('o'), results, turn(1), text('a'), text('b'), results, turn(2), text('c')])).toEqual([
      'o',
      '\na',
      'b',
      '\nc',
    ]);
  });

  it('prefixAfterTools prefixes the first text after a prompt that has joined the run', () => {
    const prompt: RunEvent = { type: 'message', message: userMessage('And in Rome?') };
    expect(textsOf([text('o'), prompt, turn(1), text('a'), text('b')])).toEqual(['o', '\na', 'b']);
    expect(textsOf([prompt, text('a')])).toEqual(['a']);
  });

  it('prefixAfterTools adds no prefix if the run has not emitted text before', () => {
    expect(textsOf([results, turn(1), text('a'), results, turn(2), text('b')])).toEqual(['a', '\nb']);
    expect(textsOf([text(''), results, text('a')])).toEqual(['', 'a']);
  });

  it('prefixAfterTools does not change a run without tools, and ignores other messages', () => {
    const model: RunEvent = { type: 'message', message: { role: 'model', parts: [{ type: 'text', text: 'a' }] } };
    expect(textsOf([text('a'), model, turn(1), text('b')])).toEqual(['a', 'b']);
  });

  it('prefixAfterTools prefixes the first text that is not empty, after thinking and metadata', () => {
    const others: RunEvent[] = [
      { type: 'thinking', text: 'hm' },
      { type: 'metadata', metadata: {} },
    ];
    expect(textsOf([text('o'), results, ...others, text(''), text('a')])).toEqual(['o', '', '\na']);
  });

  it('prefixAfterTools accepts another prefix', () => {
    expect(textsOf([text('o'), results, text('a')], ' · ')).toEqual(['o', ' · a']);
  });

  describe('prefixAfterTools on retract', () => {
    const retract: RunEvent = { type: 'retract' };

    it('prefixes the text of the new attempt', () => {
      expect(textsOf([text('o'), results, turn(1), text('void'), retract, text('a')])).toEqual(['o', '\nvoid', '\na']);
      expect(textsOf([text('o'), results, turn(1), retract, text('a')])).toEqual(['o', '\na']);
    });

    it('does not prefix again what an earlier turn has prefixed', () => {
      expect(textsOf([text('o'), results, text('a'), turn(2), text('b'), retract, text('c')])).toEqual([
        'o',
        '\na',
        'b',
        'c',
      ]);
    });

    it('forgets the text and the tool round of the void attempt', () => {
      expect(textsOf([text('void'), retract, results, turn(1), text('a')])).toEqual(['void', 'a']);
      expect(textsOf([text('o'), turn(1), results, retract, text('a')])).toEqual(['o', 'a']);
    });
  });

  it('prefixAfterTools does not change a stored message', () => {
    const stored: RunEvent = { type: 'message', message: { role: 'model', parts: [{ type: 'text', text: 'a' }] } };
    const { values } = observe(from([text('o'), results, text('a'), stored]).pipe(prefixAfterTools()));
    expect(values.at(-1)).toBe(stored);
  });
});
