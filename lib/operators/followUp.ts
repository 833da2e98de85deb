import { DEFAULT_MAX_TURNS } from '../core/options.js';
import type { MonoTypeOperatorFunction } from 'rxjs';
import type { RetractChunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import { stateAfter } from '../core/event.js';
import type { MessageEvent, RunState, StreamEvent, TurnEvent } from '../core/event.js';
import type { Message } from '../core/message.js';
import type { EndTurnOptions } from './endTurn.js';

/**
 * Decides what follows a turn, in place of what its `turn` event says: the building block of orchestrators of one's own.
 *
 * <span class="informal">"And now ..."</span>
 *
 * ![](../../marbles/followUp.svg)
 *
 * `decide` gets the `turn` event and the state after the turn, its messages and usage included; it gives the state of the next turn, or null. Messages that it adds to that state
 * are emitted as `message` events before the `turn`, so that the run's result holds them. At `maxTurns` none follows.
 *
 * ```ts
 * toolLoop.turn(state, context).pipe(
 *   followUp(state, (turn, after) => turn.next ?? (state.memo?.['checked'] ? null : { ...after, messages: [...after.messages, userMessage('Are you sure?')], memo: { checked: true } })),
 * );
 * ```
 *
 * @param state Where the turn started.
 * @param decide What follows. What it throws is an error of the run.
 * @param options `maxTurns` (default 20).
 * @returns A function that returns an Observable of the source's events, its `turn` changed.
 */
export function followUp<E extends StreamEvent>(
  state: RunState,
  decide: (turn: TurnEvent, after: RunState) => RunState | null,
  options?: EndTurnOptions,
): MonoTypeOperatorFunction<E | MessageEvent | TurnEvent>;
export function followUp(
  state: RunState,
  decide: (turn: TurnEvent, after: RunState) => RunState | null,
  { maxTurns = DEFAULT_MAX_TURNS }: EndTurnOptions = {},
): MonoTypeOperatorFunction<StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => {
    let messages: Message[] = [];
    const ended = (turn: TurnEvent) => {
      const after = stateAfter(state, turn, messages);
      const decided = decide(turn, after);
      const over = decided !== null && turn.turn >= maxTurns;
      const next = over ? null : decided;
      for (const message of next?.messages.slice(after.messages.length) ?? [])
        out.next({ type: 'message', message } as MessageEvent);
      out.next({ ...turn, finishReason: over ? 'maxTurns' : turn.finishReason, next } as TurnEvent);
    };
    return {
      next(event) {
        if (isTurn(event)) {
          ended(event);
          return;
        }
        if (isMessage(event)) messages.push(event.message);
        else if (isRetract(event)) messages = [];
        out.next(event);
      },
    };
  });
}

const isTurn = (event: StreamEvent): event is TurnEvent => event.type === 'turn';
const isMessage = (event: StreamEvent): event is MessageEvent => event.type === 'message';
const isRetract = (event: StreamEvent): event is RetractChunk => event.type === 'retract';
