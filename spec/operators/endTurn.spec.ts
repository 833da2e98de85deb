import { describe, expect, it } from '@jest/globals';
import { EMPTY, concat, from, of, throwError } from 'rxjs';
import type { OpenCallsEvent } from '../../lib/core/checkpoint.js';
import type { Chunk, FinishReason } from '../../lib/core/chunk.js';
import { startState } from '../../lib/core/event.js';
import type { TurnMessageEvent, RunState, StreamEvent, TurnEvent } from '../../lib/core/event.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { endTurn } from '../../lib/operators/endTurn.js';
import type { EndTurnOptions } from '../../lib/operators/endTurn.js';
import { diagram } from '../support/diagram.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { observe } from '../support/observe.js';

const question = userMessage('Hi');
const says = modelMessage('Hello');
const asks = modelMessage([{ type: 'toolCall', id: 'c1', name: 'f', arguments: {} }]);
const told = userMessage([{ type: 'toolResult', id: 'c1', name: 'f', result: 1 }]);
const start = startState([question]);
const finish = (reason: FinishReason = 'stop'): Chunk => ({ type: 'finish', reason });

function turnOf(
  messages: readonly Message[],
  state: RunState = start,
  reason: FinishReason = 'stop',
  options?: EndTurnOptions,
): TurnEvent | undefined {
  const events = messages.map((message): TurnMessageEvent => ({ type: 'message', message }));
  const { values } = observe(
    from<(TurnMessageEvent | Chunk)[]>([...events, finish(reason)]).pipe(endTurn(state, options)),
  );
  const last = values.at(-1);
  return last?.type === 'turn' ? last : undefined;
}

describe('endTurn', () => {
  it('endTurn replaces the finish by the turn event, as the last event', () =>
    diagram('endTurn', ({ source }) => source.pipe(endTurn(start))));

  it.each(operatorContract(endTurn(start), { source: [{ type: 'message', message: says }, finish()] }))(
    'endTurn $title',
    ({ run }) => run(),
  );

  it('endTurn continues after tool results, with all messages and the summed usage', () => {
    const state = { ...start, turn: 2, usage: { input: 5, output: 1 }, memo: { mine: true } };
    const { values } = observe(
      from<(TurnMessageEvent | Chunk)[]>([
        { type: 'message', message: asks },
        { type: 'message', message: told },
        { type: 'finish', reason: 'toolCalls', usage: { input: 3, reasoning: 2 } },
      ]).pipe(endTurn(state)),
    );
    expect(values.at(-1)).toEqual({
      type: 'turn',
      turn: 3,
      finishReason: 'toolCalls',
      usage: { input: 3, reasoning: 2 },
      next: {
        messages: [question, asks, told],
        turn: 3,
        usage: { input: 8, output: 1, reasoning: 2 },
        memo: { mine: true },
      },
    });
  });

  it.each<[string, Message[], FinishReason]>([
    ['an answer', [says], 'stop'],
    ['calls without results', [asks], 'toolCalls'],
    ['an empty reply without tools before', [], 'stop'],
  ])('endTurn ends the run after %s', (_, messages, reason) => {
    expect(turnOf(messages, start, reason)).toMatchObject({ finishReason: reason, next: null });
  });

  it('endTurn decides by the messages, not by a finish reason of toolCalls', () => {
    expect(turnOf([asks, told], start, 'stop')?.next).not.toBeNull();
    expect(turnOf([says], start, 'toolCalls')?.next).toBeNull();
  });

  it('endTurn continues after the provider paused', () => {
    expect(turnOf([says], start, 'paused')?.next?.messages).toEqual([question, says]);
  });

  it('endTurn continues once after an empty response to tool results; a second empty response ends the run', () => {
    const afterTools = { ...startState([question, asks, told]), turn: 1 };
    const first = turnOf([], afterTools);
    expect(first).toMatchObject({
      turn: 2,
      next: { messages: afterTools.messages, turn: 2, memo: { emptyReply: true } },
    });
    expect(turnOf([], first?.next ?? start)?.next).toBeNull();
  });

  it('endTurn resets the count of empty responses after each tool round', () => {
    const again = turnOf([], startState([question, asks, told]))?.next ?? start;
    const round = turnOf([asks, told], again)?.next;
    expect(round?.memo).toBeUndefined();
    expect(turnOf([], round ?? start)?.next).not.toBeNull();
  });

  it('endTurn ends the run with maxTurns on the last turn if another turn would follow', () => {
    expect(turnOf([asks, told], start, 'toolCalls', { last: true })).toMatchObject({
      turn: 1,
      finishReason: 'maxTurns',
      next: null,
    });
    expect(turnOf([says], start, 'stop', { last: true })?.finishReason).toBe('stop');
  });

  it('endTurn omits an unknown usage', () => {
    expect(turnOf([says])).not.toHaveProperty('usage');
  });

  it('endTurn returns a state that is plain JSON', () => {
    const next = turnOf([asks, told])?.next;
    expect(JSON.parse(JSON.stringify(next))).toEqual(next);
  });

  it('endTurn drops the messages of a retracted turn', () => {
    const { values } = observe(
      from<(TurnMessageEvent | Chunk)[]>([
        { type: 'message', message: asks },
        { type: 'retract' },
        { type: 'message', message: asks },
        { type: 'message', message: told },
        finish(),
      ]).pipe(endTurn(start)),
    );
    expect((values.at(-1) as TurnEvent).next?.messages).toEqual([question, asks, told]);
  });

  it.each([
    ['a completion without finish', EMPTY],
    ['an error', throwError(() => new Error('reset'))],
  ])('endTurn emits no turn event on %s', (_, end) => {
    const event: TurnMessageEvent = { type: 'message', message: says };
    expect(observe(concat(of(event), end).pipe(endTurn(start))).values).toEqual([event]);
  });

  it('endTurn preserves the types of custom events and removes finish', () => {
    interface Mine extends StreamEvent {
      readonly type: 'mine';
      readonly n: number;
    }
    const { values } = observe(of<(Mine | Chunk)[]>({ type: 'mine', n: 1 }).pipe(endTurn(start)));
    const first: Exclude<Chunk, { type: 'finish' }> | TurnEvent | Mine | undefined = values[0];
    expect(first?.type === 'mine' ? first.n : undefined).toBe(1);
  });

  it.each<FinishReason>(['length', 'contentFilter', 'error', 'stopped'])(
    'endTurn ends the run on %s, also when the calls were answered as not executed, and after an empty reply',
    (reason) => {
      expect(turnOf([asks, told], start, reason)).toMatchObject({ finishReason: reason, next: null });
      expect(turnOf([asks, told], start, reason, { last: true })?.finishReason).toBe(reason);
      expect(turnOf([], startState([question, asks, told]), reason)).toMatchObject({
        finishReason: reason,
        next: null,
      });
    },
  );

  it('endTurn ends the run if one of two calls has no result, even if another id has two results', () => {
    const call = (id: string) => ({ type: 'toolCall' as const, id, name: 'f', arguments: {} });
    const result = (id: string) => ({ type: 'toolResult' as const, id, name: 'f', result: 1 });
    const asksTwice = modelMessage([call('c1'), call('c2')]);
    expect(turnOf([asksTwice, userMessage([result('c1')])])?.next).toBeNull();
    expect(turnOf([asksTwice, userMessage([result('c1'), result('c1')])])?.next).toBeNull();
    expect(turnOf([asksTwice, userMessage([result('c1'), result('c2')])])?.next).not.toBeNull();
    expect(turnOf([asksTwice], start, 'paused')?.next).toBeNull();
  });

  it("endTurn keeps the provider's raw finish reason", () => {
    const chunk: Chunk = { type: 'finish', reason: 'other', rawReason: 'recitation' };
    expect(observe(of(chunk).pipe(endTurn(start))).values).toMatchObject([
      { finishReason: 'other', rawReason: 'recitation' },
    ]);
  });

  it('endTurn keeps the first of two finishes', () => {
    const { values } = observe(from<Chunk[]>([finish('length'), finish('stop')]).pipe(endTurn(start)));
    expect(values).toMatchObject([{ type: 'turn', finishReason: 'length' }]);
  });

  it('endTurn merges the metadata of the turn, and forwards each metadata event once', () => {
    const metadata = (value: JsonObject): Chunk => ({ type: 'metadata', metadata: value });
    const searching = { id: 's1', name: 'search', status: 'running' };
    const chunks = [
      metadata({ id: 'r1', model: 'a', cost: 1 }),
      metadata({ model: 'b', serverTools: [searching] }),
      metadata({ cost: 2, serverTools: [{ ...searching, status: 'completed' }] }),
    ];
    const { values } = observe(from([...chunks, finish()]).pipe(endTurn(start)));
    expect(values.slice(0, -1)).toEqual(chunks);
    expect(values.at(-1)).toMatchObject({
      metadata: { id: 'r1', model: 'b', cost: 3, serverTools: [{ ...searching, status: 'completed' }] },
    });
    expect(turnOf([says])).not.toHaveProperty('metadata');
  });

  it('endTurn keeps only the cost and the usage of a retracted attempt', () => {
    const { values } = observe(
      from<Chunk[]>([
        { type: 'metadata', metadata: { id: 'void', cost: 1 } },
        { type: 'retract', usage: { input: 10 } },
        { type: 'metadata', metadata: { cost: 2 } },
        { type: 'finish', reason: 'length', usage: { input: 100 } },
        { type: 'retract' },
        { type: 'finish', reason: 'stop', usage: { input: 1000, output: 1 } },
      ]).pipe(endTurn(start)),
    );
    expect(values.at(-1)).toEqual({
      type: 'turn',
      turn: 1,
      finishReason: 'stop',
      usage: { input: 1110, output: 1 },
      metadata: { cost: 3 },
      next: null,
    });
  });

  it('endTurn adds the usage of tools to that of the turn', () => {
    const usage = (input: number): StreamEvent => ({
      type: 'toolUsage',
      ...{ id: 'c', name: 'ask', usage: { input } },
    });
    const report: Chunk = { type: 'finish', reason: 'stop', usage: { input: 1, output: 1 } };
    const { values } = observe(from<StreamEvent[]>([usage(10), usage(100), report]).pipe(endTurn(start)));
    expect(values.slice(0, 2)).toEqual([usage(10), usage(100)]);
    expect(values.at(-1)).toMatchObject({ type: 'turn', usage: { input: 111, output: 1 } });
  });

  it('endTurn has no raw reason if the provider has none', () => {
    expect(turnOf([says])).not.toHaveProperty('rawReason');
  });

  it('endTurn fails with the error of the option unfinished if the source completes without a finish', () => {
    const options = { unfinished: () => new Error('cut off') };
    expect(observe(EMPTY.pipe(endTurn(start, options))).error).toEqual(new Error('cut off'));
    expect(turnOf([says], start, 'stop', options)).toMatchObject({ finishReason: 'stop' });
  });

  describe('with calls that are open', () => {
    const finished = { reason: 'toolCalls', usage: { input: 1 } } as const;
    const openCalls = (waits: boolean): OpenCallsEvent => ({
      type: 'openCalls',
      waits,
      open: { messages: [], finish: finished, results: [], waiting: [] },
    });
    const asking: StreamEvent[] = [
      { type: 'metadata', ...{ metadata: { id: 'r1' } } },
      { type: 'toolUsage', ...{ id: 'c', name: 'ask', usage: { input: 10 } } },
      { type: 'message', ...{ message: asks } },
    ];

    it('endTurn completes the event with the state, the messages, the usage and the metadata of the turn', () => {
      const { values, error } = observe(
        from([...asking, openCalls(true)]).pipe(endTurn(start, { unfinished: () => new Error('cut off') })),
      );
      expect(error).toBeUndefined();
      expect(values.at(-1)).toEqual({
        ...openCalls(true),
        state: start,
        open: {
          ...openCalls(true).open,
          messages: [asks],
          finish: { reason: 'toolCalls', usage: { input: 11 } },
          metadata: { id: 'r1' },
        },
      });
    });

    it('endTurn adds no usage and no metadata that is unknown', () => {
      const bare = openCalls(true);
      const { values } = observe(
        of<StreamEvent>({ ...bare, ...{ open: { ...bare.open, finish: { reason: 'stop' } } } }).pipe(endTurn(start)),
      );
      expect(values.at(-1)).toStrictEqual({
        ...bare,
        state: start,
        open: { ...bare.open, finish: { reason: 'stop' } },
      });
    });

    it('endTurn does not change the event when more messages and metadata follow', () => {
      const more: StreamEvent[] = [
        { type: 'metadata', ...{ metadata: { id: 'r2' } } },
        { type: 'message', ...{ message: told } },
      ];
      const { values } = observe(from([...asking, openCalls(false), ...more, finish()]).pipe(endTurn(start)));
      expect(values[3]).toMatchObject({ open: { messages: [asks], metadata: { id: 'r1' } } });
      expect(values.at(-1)).toMatchObject({ type: 'turn', metadata: { id: 'r2' } });
    });

    it('endTurn fails if the source completes without a finish after calls that did not wait', () => {
      const options = { unfinished: () => new Error('cut off') };
      expect(observe(of(openCalls(false)).pipe(endTurn(start, options))).error).toEqual(new Error('cut off'));
    });
  });
});
