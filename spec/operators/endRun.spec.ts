import { describe, expect, it } from '@jest/globals';
import { EMPTY, concat, from, throwError } from 'rxjs';
import type { Checkpoint, OpenCallsEvent } from '../../lib/core/checkpoint.js';
import { startState } from '../../lib/core/event.js';
import type { RunEvent, RunState, StreamEvent } from '../../lib/core/event.js';
import { failedRunOf } from '../../lib/core/failedRun.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import { setUsageOfError } from '../../lib/core/usageOfError.js';
import { endRun } from '../../lib/operators/endRun.js';
import type { EndRunOptions } from '../../lib/operators/endRun.js';
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

  it('endRun adds the cost that the provider reports, unless the usage has one', () => {
    const metadata: RunEvent = { type: 'metadata', metadata: { cost: 3 } };
    const reported = observe(from<RunEvent[]>([metadata, turn(1)]).pipe(endRun())).values.at(-1);
    expect(reported).toMatchObject({ result: { cost: 3 } });
    const priced: RunEvent = { type: 'turn', turn: 1, finishReason: 'stop', usage: { cost: 0.5 }, next: null };
    expect(observe(from<RunEvent[]>([metadata, priced]).pipe(endRun())).values.at(-1)).toMatchObject({
      result: { cost: 0.5 },
    });
    const unknown = observe(from<RunEvent[]>([turn(1)]).pipe(endRun())).values.at(-1);
    expect(unknown).not.toHaveProperty('result.cost');
  });

  it('endRun adds the prompts that did not join the run, if there are any', () => {
    const prompts = [userMessage('And?')];
    const withPrompts = observe(from([turn(1)]).pipe(endRun(undefined, { unjoined: () => prompts })));
    expect(withPrompts.values.at(-1)).toMatchObject({ result: { prompts } });
    const none = observe(from([turn(1)]).pipe(endRun(undefined, { unjoined: () => [] })));
    expect(none.values.at(-1)).not.toHaveProperty('result.prompts');
  });

  describe('whose run fails', () => {
    const fail = (
      events: readonly RunEvent[],
      start?: RunState,
      options?: EndRunOptions,
      thrown = new Error('reset'),
    ) =>
      failedRunOf(
        observe(
          concat(
            from(events),
            throwError(() => thrown),
          ).pipe(endRun(start, options)),
        ).error,
      );

    it('endRun records the content, the usage and the name of the run with the error', () => {
      const usage: RunEvent = { type: 'toolUsage', id: 'c', name: 'ask', usage: { input: 100 } };
      const events: RunEvent[] = [
        { type: 'thinking', text: 'h' },
        text('a'),
        message('a'),
        turn(1, startState([])),
        text('b'),
        message('b'),
        usage,
        text('c'),
      ];
      const prompts = [userMessage('And?')];
      const thrown = new Error('reset');
      setUsageOfError(thrown, { input: 1000 });
      const start = { ...startState([]), usage: { input: 10 } };
      const options = { orchestrator: 'own', unjoined: () => prompts };
      expect(fail(events, start, options, thrown)).toStrictEqual({
        messages: [modelMessage('a'), modelMessage('b')],
        partialText: 'c',
        text: 'abc',
        thinking: 'h',
        usage: { input: 1111 },
        turn: 2,
        orchestrator: 'own',
        prompts,
      });
    });

    it('endRun records no partial text after a complete message, and no name or prompts that it does not know', () => {
      expect(fail([text('a'), message('a')])).toStrictEqual({
        messages: [modelMessage('a')],
        partialText: '',
        text: 'a',
        thinking: '',
        usage: {},
        turn: 1,
      });
    });

    it.each<[string, RunEvent[], RunState | undefined, number]>([
      ['the first turn', [text('a')], undefined, 1],
      ['the first turn after it was resumed', [text('a')], { ...startState([]), turn: 3 }, 4],
      ['a later turn', [turn(1, startState([])), text('a')], undefined, 2],
      ['no turn, after the last one', [turn(4)], { ...startState([]), turn: 3 }, 4],
    ])('endRun records the number of the turn if it fails in %s', (_, events, start, expected) => {
      expect(fail(events, start)?.turn).toBe(expected);
    });
  });

  describe('with calls that are open', () => {
    const openCalls = (waits: boolean, state?: RunState) =>
      ({
        type: 'openCalls',
        waits,
        open: {
          messages: [],
          finish: { reason: 'toolCalls', usage: { input: 5 } },
          results: [],
          waiting: [{ id: 'c', name: 'pay', arguments: {} }],
        },
        ...(state ? { state } : {}),
      }) satisfies OpenCallsEvent as StreamEvent & OpenCallsEvent;
    const state: RunState = { messages: [userMessage('Hi')], turn: 2, usage: { input: 1 } };
    const run = (event: OpenCallsEvent, options?: EndRunOptions, start?: RunState) =>
      observe(from<StreamEvent[]>([text('a'), event]).pipe(endRun(start, options))).values;

    it('endRun ends a run that waits with the waiting calls and a checkpoint', () => {
      const { open } = openCalls(true);
      expect(run(openCalls(true, state), { runId: 'r1' })).toEqual([
        text('a'),
        {
          type: 'result',
          result: {
            text: 'a',
            answer: '',
            thinking: '',
            messages: [],
            output: undefined,
            finishReason: 'waiting',
            usage: { input: 5 },
            turns: 3,
            waiting: open.waiting,
            checkpoint: {
              version: 1,
              orchestrator: 'custom',
              runId: 'r1',
              state,
              emitted: { text: 'a', thinking: '', messages: [], needsSeparator: false },
              open,
            },
          },
        },
      ]);
    });

    it('endRun resumes from its own start if the open calls have no state', () => {
      expect(run(openCalls(true), undefined, state).at(-1)).toMatchObject({ result: { checkpoint: { state } } });
      expect(run(openCalls(true)).at(-1)).toMatchObject({ result: { checkpoint: { state: startState([]) } } });
    });

    it('endRun reports open calls that do not wait as a checkpoint only if it is requested, and has no result then', () => {
      const checkpoint = { version: 1, orchestrator: 'own', state, open: openCalls(false).open };
      expect(run(openCalls(false, state), { checkpoints: true, orchestrator: 'own' })).toMatchObject([
        text('a'),
        { type: 'checkpoint', checkpoint },
      ]);
      expect(run(openCalls(false, state))).toEqual([text('a')]);
    });

    it('endRun records in a checkpoint that tool results or a prompt followed the last text', () => {
      const told: RunEvent = { type: 'message', message: userMessage('And?') };
      const { values } = observe(
        from([text('a'), message('a'), told, turn(1)]).pipe(endRun(state, { checkpoints: true })),
      );
      expect(values.at(-2)).toMatchObject({ checkpoint: { emitted: { text: 'a', needsSeparator: true } } });
    });
  });

  describe('with the outcome of the last turn in its checkpoint', () => {
    const ending = (output: unknown, rawReason?: string): RunEvent => ({
      type: 'turn',
      turn: 1,
      finishReason: 'stop',
      ...(rawReason === undefined ? {} : { rawReason }),
      output,
      next: null,
    });
    const checkpointed = (event: RunEvent) =>
      observe(from([event]).pipe(endRun(undefined, { checkpoints: true }))).values;

    it('endRun includes an output that is JSON, and the raw reason', () => {
      expect(checkpointed(ending({ a: [1] }, 'end_turn'))[0]).toMatchObject({
        checkpoint: { ended: { finishReason: 'stop', rawReason: 'end_turn', output: { a: [1] } } },
      });
      expect(checkpointed(ending(undefined))).toMatchObject([
        { checkpoint: { state: { messages: [] }, ended: { finishReason: 'stop' } } },
        { type: 'result' },
      ]);
      expect(checkpointed(ending(undefined))[0]).not.toHaveProperty('checkpoint.ended.output');
    });

    it.each([
      ['is changed by JSON', { on: new Date(0) }],
      ['cannot be JSON', { count: 1n }],
    ])('endRun has no checkpoint after a turn whose output %s', (_, output) => {
      const values = checkpointed(ending(output));
      expect(values[0]).not.toHaveProperty('checkpoint');
      expect(values.at(-1)).toMatchObject({ type: 'result', result: { output } });
    });

    it('endRun emits the result of a run that had ended when it was interrupted', () => {
      const resumed: Checkpoint = {
        version: 1,
        orchestrator: 'own',
        state: { messages: [], turn: 2, usage: { input: 4 } },
        emitted: { text: 'a', thinking: 'h', messages: [modelMessage('a')], needsSeparator: false },
        ended: { finishReason: 'stop', rawReason: 'end_turn', output: { a: 1 } },
      };
      expect(observe(EMPTY.pipe(endRun(resumed.state, { resumed }))).values).toEqual([
        {
          type: 'result',
          result: {
            text: 'a',
            answer: 'a',
            thinking: 'h',
            messages: [modelMessage('a')],
            output: { a: 1 },
            finishReason: 'stop',
            rawReason: 'end_turn',
            usage: { input: 4 },
            turns: 2,
          },
        },
      ]);
    });
  });
});
