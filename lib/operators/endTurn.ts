import type { OperatorFunction } from 'rxjs';
import type { FinishChunk, FinishReason, RetractChunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { MessageEvent, RunState, StreamEvent, TurnEvent } from '../core/event.js';
import { hasToolResults, toolCallsOf } from '../core/message.js';
import type { Message } from '../core/message.js';
import { DEFAULT_MAX_TURNS, requireNumber } from '../core/options.js';
import { addUsage } from '../core/usage.js';

/** Options of `endTurn`. */
export interface EndTurnOptions {
  /** The most turns of a run, those before this one included. Default 20. */
  readonly maxTurns?: number | undefined;
  /** The error for a source that completes without a `finish`. Default: none; it then completes without a `turn`. */
  readonly unfinished?: (() => Error) | undefined;
}

/** The note in `memo` that the last reply was empty. */
const EMPTY_REPLY = 'emptyReply';

/**
 * Consumes the `finish` and emits `turn`, last: what came of the turn, and whether another follows.
 *
 * <span class="informal">The line under the sum.</span>
 *
 * ![](../../marbles/endTurn.svg)
 *
 * `turn.next` is the state from which the next turn starts, or null. Another turn follows when tools answered, when the provider paused, and once when the
 * model's reply to tool results was empty (noted in `memo`; the second empty reply ends the run). At `maxTurns` none follows: the `finishReason` is then
 * `maxTurns`, and all that came stays. A source that completes without a `finish` has no `turn`.
 *
 * ```ts
 * const turn = (state: RunState) =>
 *   model.stream({ messages: state.messages }).pipe(accumulateToolCalls(), consolidate(), executeTools(tools), endTurn(state));
 * ```
 *
 * @param state Where the turn started.
 * @param options `maxTurns` (default 20), `unfinished` (default: no error).
 * @returns A function that returns an Observable of the source's events, and the `turn`.
 */
export function endTurn<E extends StreamEvent>(
  state: RunState,
  options?: EndTurnOptions,
): OperatorFunction<E, Exclude<E, FinishChunk> | (TurnEvent & { readonly next: RunState | null })>;
export function endTurn(
  state: RunState,
  { maxTurns = DEFAULT_MAX_TURNS, unfinished }: EndTurnOptions = {},
): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => {
    requireNumber('maxTurns', maxTurns, 0);
    let messages: Message[] = [];
    let finish: FinishChunk | undefined;
    return {
      next(event) {
        if (!isKnown(event)) {
          out.next(event);
          return;
        }
        if (event.type === 'finish') {
          finish ??= event;
          return;
        }
        if (event.type === 'retract') messages = [];
        else messages.push(event.message);
        out.next(event);
      },
      complete() {
        if (!finish && unfinished) throw unfinished();
        if (finish) out.next(turnEvent(state, messages, finish, maxTurns));
        out.complete();
      },
    };
  });
}

type Known = FinishChunk | RetractChunk | MessageEvent;
const isKnown = (event: StreamEvent): event is Known =>
  event.type === 'finish' || event.type === 'message' || event.type === 'retract';

/** The pure core: what a turn comes to. */
function turnEvent(
  state: RunState,
  messages: readonly Message[],
  { reason, usage }: FinishChunk,
  maxTurns: number,
): TurnEvent {
  const turn = state.turn + 1;
  const next = nextState(state, messages, reason, addUsage(state.usage, usage));
  const stopped = next !== null && turn >= maxTurns;
  const finishReason: FinishReason = stopped ? 'maxTurns' : reason;
  return { type: 'turn', turn, finishReason, ...(usage ? { usage } : {}), next: stopped ? null : next };
}

function nextState(
  state: RunState,
  messages: readonly Message[],
  reason: FinishReason,
  usage: RunState['usage'],
): RunState | null {
  const { [EMPTY_REPLY]: askedAgain, ...memo } = state.memo ?? {};
  const next = { messages: [...state.messages, ...messages], turn: state.turn + 1, usage };
  const withMemo = Object.keys(memo).length > 0 ? { ...next, memo } : next;
  if (messages.length === 0) {
    const again = !askedAgain && hasToolResults(state.messages.at(-1));
    return again ? { ...next, memo: { ...memo, [EMPTY_REPLY]: true } } : null;
  }
  const unanswered = messages.reduce((open, message) => open + toolCallsOf(message).length - answers(message), 0);
  const goesOn = reason === 'paused' || messages.some(hasToolResults);
  return goesOn && unanswered <= 0 ? withMemo : null;
}

const answers = ({ parts }: Message) => parts.filter((part) => part.type === 'toolResult').length;
