import { from, of, type MonoTypeOperatorFunction, type Observable, type ObservableInput } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import { stateAfter } from '../core/event.js';
import type { TurnMessageEvent, RunState, StreamEvent, TurnEvent, RunEvent } from '../core/event.js';
import { asKnownEvent, isTurn } from '../core/eventGuards.js';
import type { Message } from '../core/message.js';
import { hasEmitted } from '../core/notifier.js';
import type { EndTurnOptions } from './endTurn.js';
import type { OfType } from '../core/typesOf.js';

export interface FollowUpOptions extends Pick<EndTurnOptions, 'last'> {
  /** Emits when the run is stopped, also to a late subscriber (a `ReplaySubject`). Default: never. */
  readonly stop?: ObservableInput<unknown> | undefined;
}

/**
 * Decides whether and from which state another turn follows, and emits a new `turn` event. It is the building block of
 * custom orchestrators.
 *
 * <span class="informal">Adds another step after a turn.</span>
 *
 * ![](../../marbles/followUp.svg)
 *
 * `decide` receives the `turn` event and the state after the turn, with its messages and its usage, and returns the
 * state of the next turn, or null. Messages that it adds to that state are emitted as `message` events before the
 * `turn` event, so that the run's result contains them. No turn follows the `last` turn: no message is added, and if
 * `decide` returns a state, `finishReason` is `maxTurns`. In the same way, no turn follows when the run has been
 * stopped, and `finishReason` is `stopped`. A turn with the finish reason `stopped` ends the run without a decision.
 *
 * ```ts
 * const checked: Orchestrator = {
 *   name: 'checked',
 *   turn: (state, context) =>
 *     toolLoop.turn(state, context).pipe(
 *       followUp(
 *         state,
 *         (turn, after) => {
 *           if (turn.next || state.memo?.['checked']) return turn.next ?? null;
 *           return { ...after, messages: [...after.messages, userMessage('Are you sure?')], memo: { checked: true } };
 *         },
 *         context,
 *       ),
 *     ),
 * };
 * ```
 *
 * @param state The state from which the turn started.
 * @param decide Returns the state of the next turn, or null. If it throws, the run fails with that error.
 * @param options `last`: whether this must be the last turn (default: false); `stop`: emits when the run is stopped,
 * also to a late subscriber (default: never). The context of an orchestrator contains both. Without `last`, `runTurns`
 * still ends the run at `maxTurns`, but after the added messages.
 * @returns A function that returns an Observable of the source's events, with a new `turn` event.
 */
export function followUp<E extends StreamEvent>(
  state: RunState,
  decide: (turn: TurnEvent, after: RunState) => RunState | null,
  options?: FollowUpOptions,
): MonoTypeOperatorFunction<E | OfType<RunEvent, 'message' | 'turn'>>;
export function followUp(
  state: RunState,
  decide: (turn: TurnEvent, after: RunState) => RunState | null,
  { last = false, stop }: FollowUpOptions = {},
): MonoTypeOperatorFunction<StreamEvent> {
  return replaceTurnEvent((turn, messages) => {
    if (turn.finishReason === 'stopped') return of<StreamEvent>(turn);
    const after = stateAfter(state, turn, messages);
    const next = decide(turn, after);
    if (next && last) return of<StreamEvent>({ ...turn, finishReason: 'maxTurns', next: null } as TurnEvent);
    if (next && hasEmitted(stop)) return of<StreamEvent>({ ...turn, finishReason: 'stopped', next: null } as TurnEvent);
    const added = next?.messages.slice(after.messages.length) ?? [];
    return from<StreamEvent[]>([
      ...added.map((message): TurnMessageEvent => ({ type: 'message', message })),
      { ...turn, next } as TurnEvent,
    ]);
  });
}

export function replaceTurnEvent<E extends StreamEvent>(
  replace: (turn: TurnEvent, messages: readonly Message[]) => Observable<E>,
): MonoTypeOperatorFunction<E> {
  return createOperator<E, E>((out) => {
    let messages: readonly Message[] = [];
    let turn: TurnEvent | undefined;
    return {
      next(event) {
        if (isTurn(event)) {
          turn = event;
          return;
        }
        messages = turnMessages(messages, event);
        out.next(event);
      },
      afterTeardown() {
        if (turn) replace(turn, messages).subscribe(out);
        else out.complete();
      },
    };
  });
}

function turnMessages(messages: readonly Message[], event: StreamEvent): readonly Message[] {
  const known = asKnownEvent(event);
  switch (known.type) {
    case 'message':
      return [...messages, known.message];
    case 'retract':
      return [];
    default:
      return messages;
  }
}
