import { describe, expect, it } from '@jest/globals';
import { concat, from, throwError } from 'rxjs';
import { startState } from '../../lib/core/event.js';
import type { RunEvent, RunState } from '../../lib/core/event.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
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

function withoutNext(event: RunEvent): RunEvent {
  if (event.type !== 'turn') return event;
  const { next: _, ...rest } = event;
  return rest;
}

describe('endRun', () => {
  it('endRun emits the result as the last value', () => diagram('endRun', ({ source }) => source.pipe(endRun())));

  it.each(operatorContract(endRun(), { source: [text('a'), message('a'), turn(1)] }))('endRun $title', ({ run }) =>
    run(),
  );

  it.each<[title: string, events: RunEvent[], expected: string]>([
    ['the text of its message', [text('a'), text('b'), message('ab')], 'ab'],
    ['the text of its message and a prefix', [text('\na'), text('b'), message('ab')], '\nab'],
    ['another text than its message', [text('***'), message('abc')], '***'],
    ['less text than its message', [text('c'), message('abc')], 'c'],
    ['no text of its message', [message('abc')], ''],
    ['text before and after a message', [text('a'), message('a'), text('b'), message(''), text('c')], 'abc'],
    ['text without a message', [text('a'), text('b')], 'ab'],
  ])('endRun keeps the streamed text of a turn with %s', (_title, events, expected) => {
    const { values } = observe(from([...events, turn(1)]).pipe(endRun()));
    expect(values.at(-1)).toMatchObject({ type: 'result', result: { text: expected } });
  });

  it('endRun sums the turns, including those before a resumed run', () => {
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
        answer: 'b',
        thinking: 'hm',
        output: undefined,
        messages: [modelMessage('a'), modelMessage('b')],
        finishReason: 'stop',
        usage: { input: 19, output: 2 },
        turns: 5,
      },
    });
  });

  it('endRun drops retracted content, and keeps the earlier turns', () => {
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
  ])('endRun emits no result for a run that ends %s', (_, events) => {
    expect(observe(from(events).pipe(endRun())).values).toEqual(events.map(withoutNext));
  });

  it('endRun emits no result for a run that fails', () => {
    const failed = concat(
      from([text('a'), turn(1)]),
      throwError(() => new Error('reset')),
    );
    const { values, error } = observe(failed.pipe(endRun()));
    expect(values).toHaveLength(2);
    expect(error).toEqual(new Error('reset'));
  });

  it('endRun merges the metadata of all turns, and reports the last raw reason', () => {
    const metadata = (value: JsonObject): RunEvent => ({ type: 'metadata', metadata: value });
    const { values } = observe(
      from<RunEvent[]>([
        metadata({ id: 'r1', cost: 1 }),
        { ...turn(1, startState([])), rawReason: 'tool_use' } as RunEvent,
        metadata({ id: 'void', model: 'void', cost: 2 }),
        { type: 'retract' },
        metadata({ id: 'r2', cost: 4 }),
        { ...turn(2), rawReason: 'end_turn' } as RunEvent,
      ]).pipe(endRun()),
    );
    expect(values.at(-1)).toMatchObject({ result: { rawReason: 'end_turn', metadata: { id: 'r2', cost: 7 } } });
    const { values: bare } = observe(from([turn(1)]).pipe(endRun()));
    expect(JSON.stringify(bare)).not.toMatch(/rawReason|metadata/);
  });

  it('endRun removes next from the turn events, and adds checkpoints if requested', () => {
    const state: RunState = { messages: [userMessage('Hi')], turn: 1, usage: { input: 1 } };
    const events = [turn(1, state), turn(2)];
    const { values } = observe(from(events).pipe(endRun()));
    expect(values).toMatchObject([{ turn: 1 }, { turn: 2 }, { type: 'result', result: { turns: 2 } }]);
    expect(values.some((event) => 'next' in event || 'checkpoint' in event)).toBe(false);
    const { values: checked } = observe(from(events).pipe(endRun(state, { checkpoints: true, orchestrator: 'own' })));
    const emitted = { text: '', thinking: '', messages: [], needsSeparator: false };
    const common = { version: 1, orchestrator: 'own', emitted };
    expect(checked).toMatchObject([
      { turn: 1, checkpoint: { ...common, state } },
      { turn: 2, checkpoint: { ...common, state: { turn: 2 }, ended: { finishReason: 'stop' } } },
      { type: 'result' },
    ]);
    expect(checked.some((event) => 'next' in event)).toBe(false);
  });

  it('endRun reports an exception of check in place of the result', () => {
    const check = () => {
      throw new Error('no output');
    };
    const { values, error } = observe(from([turn(1)]).pipe(endRun(undefined, { check })));
    expect(values).toEqual([withoutNext(turn(1))]);
    expect(error).toEqual(new Error('no output'));
  });
});
