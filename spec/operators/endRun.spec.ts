import { describe, expect, it } from '@jest/globals';
import { concat, from, throwError } from 'rxjs';
import { startState } from '../../lib/core/event.js';
import type { RunEvent, RunState } from '../../lib/core/event.js';
import { modelMessage } from '../../lib/core/message.js';
import { endRun } from '../../lib/operators/endRun.js';
import { diagram } from '../support/diagram.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { observe } from '../support/observe.js';

const text = (value: string): RunEvent => ({ type: 'text', text: value });
const message = (value: string): RunEvent => ({ type: 'message', message: modelMessage(value) });
const turn = (n: number, next: RunState | null = null): RunEvent => ({
  type: 'turn',
  turn: n,
  finishReason: 'stop',
  usage: { input: n },
  next,
});

describe('endRun', () => {
  it('gives the run in one value at its end', () => diagram('endRun', ({ source }) => source.pipe(endRun())));

  it.each(operatorContract(endRun(), { source: [text('a'), message('a'), turn(1)] }))('endRun $title', ({ run }) =>
    run(),
  );

  it('sums the turns, those before a resumed run included', () => {
    const start = { ...startState([]), turn: 3, usage: { input: 10, output: 2 } };
    const { values } = observe(
      from<RunEvent[]>([
        { type: 'thinking', text: 'h' },
        text('a'),
        message('a'),
        turn(4, start),
        { type: 'thinking', text: 'm' },
        text('b'),
        message('b'),
        turn(5),
      ]).pipe(endRun(start)),
    );
    expect(values.at(-1)).toEqual({
      type: 'result',
      result: {
        text: 'ab',
        thinking: 'hm',
        output: undefined,
        messages: [modelMessage('a'), modelMessage('b')],
        finishReason: 'stop',
        usage: { input: 19, output: 2 },
        turns: 5,
      },
    });
  });

  it('drops what was retracted, and keeps the turns before', () => {
    const { values } = observe(
      from<RunEvent[]>([
        text('a'),
        message('a'),
        turn(1, startState([])),
        text('void'),
        message('void'),
        { type: 'retract' },
        text('b'),
        turn(2),
      ]).pipe(endRun()),
    );
    expect(values.at(-1)).toMatchObject({ result: { text: 'ab', messages: [modelMessage('a')] } });
  });

  it.each<[string, RunEvent[]]>([
    ['without a turn', [text('a')]],
    ['before its last turn', [text('a'), turn(1, startState([]))]],
  ])('has no result for a run that ends %s', (_, events) => {
    expect(observe(from(events).pipe(endRun())).values).toEqual(events);
  });

  it('has no result for a run that fails', () => {
    const failed = concat(
      from([text('a'), turn(1)]),
      throwError(() => new Error('reset')),
    );
    const { values, error } = observe(failed.pipe(endRun()));
    expect(values).toHaveLength(2);
    expect(error).toEqual(new Error('reset'));
  });
});
