import { describe, expect, it } from '@jest/globals';
import { EMPTY, concat, from, of, throwError } from 'rxjs';
import type { Chunk, FinishReason } from '../../lib/core/chunk.js';
import { startState } from '../../lib/core/event.js';
import type { MessageEvent, RunState, StreamEvent, TurnEvent } from '../../lib/core/event.js';
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
  const events = messages.map((message): MessageEvent => ({ type: 'message', message }));
  const { values } = observe(from<(MessageEvent | Chunk)[]>([...events, finish(reason)]).pipe(endTurn(state, options)));
  const last = values.at(-1);
  return last?.type === 'turn' ? last : undefined;
}

describe('endTurn', () => {
  it('puts the turn in the place of the finish, last', () =>
    diagram('endTurn', ({ source }) => source.pipe(endTurn(start))));

  it.each(operatorContract(endTurn(start), { source: [{ type: 'message', message: says }, finish()] }))(
    'endTurn $title',
    ({ run }) => run(),
  );

  it('goes on when tools answered, with all messages and the summed usage', () => {
    const state = { ...start, turn: 2, usage: { input: 5, output: 1 }, memo: { mine: true } };
    const { values } = observe(
      from<(MessageEvent | Chunk)[]>([
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
    ['calls that nobody answered', [asks], 'toolCalls'],
    ['nothing at all, without tools before', [], 'stop'],
  ])('ends the run after %s', (_, messages, reason) => {
    expect(turnOf(messages, start, reason)).toMatchObject({ finishReason: reason, next: null });
  });

  it('looks at the messages, not at the finish reason', () => {
    expect(turnOf([asks, told], start, 'stop')?.next).not.toBeNull();
    expect(turnOf([says], start, 'toolCalls')?.next).toBeNull();
  });

  it('goes on when the provider paused', () => {
    expect(turnOf([says], start, 'paused')?.next?.messages).toEqual([question, says]);
  });

  it('asks once more after an empty reply to tool results; a second one ends the run', () => {
    const afterTools = { ...startState([question, asks, told]), turn: 1 };
    const first = turnOf([], afterTools);
    expect(first).toMatchObject({
      turn: 2,
      next: { messages: afterTools.messages, turn: 2, memo: { emptyReply: true } },
    });
    expect(turnOf([], first?.next ?? start)?.next).toBeNull();
  });

  it('counts empty replies anew after each tool round', () => {
    const again = turnOf([], startState([question, asks, told]))?.next ?? start;
    const round = turnOf([asks, told], again)?.next;
    expect(round?.memo).toBeUndefined();
    expect(turnOf([], round ?? start)?.next).not.toBeNull();
  });

  it('ends the run with maxTurns on the last turn if another turn would follow; nothing is lost', () => {
    expect(turnOf([asks, told], start, 'toolCalls', { last: true })).toMatchObject({
      turn: 1,
      finishReason: 'maxTurns',
      next: null,
    });
    expect(turnOf([says], start, 'stop', { last: true })?.finishReason).toBe('stop');
  });

  it('leaves usage out where it is not known', () => {
    expect(turnOf([says])).not.toHaveProperty('usage');
  });

  it('writes a state that is plain JSON', () => {
    const next = turnOf([asks, told])?.next;
    expect(JSON.parse(JSON.stringify(next))).toEqual(next);
  });

  it('takes the messages of a retracted turn back', () => {
    const { values } = observe(
      from<(MessageEvent | Chunk)[]>([
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
  ])('has no turn on %s', (_, end) => {
    const event: MessageEvent = { type: 'message', message: says };
    expect(observe(concat(of(event), end).pipe(endTurn(start))).values).toEqual([event]);
  });

  it('keeps the types: own events stay, the finish leaves', () => {
    interface Mine extends StreamEvent {
      readonly type: 'mine';
      readonly n: number;
    }
    const { values } = observe(of<(Mine | Chunk)[]>({ type: 'mine', n: 1 }).pipe(endTurn(start)));
    const first: Exclude<Chunk, { type: 'finish' }> | TurnEvent | Mine | undefined = values[0];
    expect(first?.type === 'mine' ? first.n : undefined).toBe(1);
  });
});
