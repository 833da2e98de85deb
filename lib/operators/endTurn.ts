import type { OperatorFunction } from 'rxjs';
import { vetoReasons } from '../core/chunk.js';
import type { FinishChunk, FinishReason } from '../core/chunk.js';
import type { OpenCallsEvent } from '../core/checkpoint.js';
import { createOperator } from '../core/createOperator.js';
import type { RunState, StreamEvent, TurnEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { omitUndefined } from '../core/json/json.js';
import { hasToolResults, toolCallsOf } from '../core/message.js';
import type { Message, Metadata } from '../core/message.js';
import { mergeMetadata, MetadataCollector, metadataOfRetracted } from '../core/metadata.js';
import { turnMessages } from '../core/turnMessages.js';
import { addUsage } from '../core/usage.js';
import type { Usage } from '../core/usage.js';
import { appendMessages } from '../core/usedIds.js';

/** Options of `endTurn`. */
export interface EndTurnOptions {
  /** Whether this must be the last turn of the run. `runTurns` passes this option to each turn. Default: false. */
  readonly last?: boolean | undefined;
  /** Creates the error for a source that completes without a `finish`. Default: no error, and no `turn` event. */
  readonly unfinished?: (() => Error) | undefined;
}

/** The key in `memo` that records that the model's response in the previous turn was empty. */
const EMPTY_REPLY = 'emptyReply';

/**
 * Replaces the `finish` by a `turn` event, as the last event: the outcome of the turn, and the state from which the
 * next turn starts.
 *
 * <span class="informal">The turn's summary.</span>
 *
 * ![](../../marbles/endTurn.svg)
 *
 * `turn.next` is the state from which the next turn starts, or null. Another turn follows if all calls of this turn
 * have results, if the provider paused, and once if the model's response to tool results was empty (recorded in `memo`;
 * a second empty response ends the run). The finish reasons `length`, `contentFilter`, `error` and `stopped` end the
 * run. If another turn would follow the `last` turn, `finishReason` is `maxTurns` and `next` is null; the messages are
 * unchanged. If the source completes without a `finish`, no `turn` event is emitted. If calls wait for answers, the
 * last event is the `openCalls` event of `executeTools`, with the state and the content of the turn.
 *
 * `turn.metadata` merges the metadata events of the turn: the last value of a key wins, `serverTools` are merged by id
 * and costs are added. `retract` voids the messages and the metadata of the attempt, except its cost and its usage.
 *
 * ```ts
 * const turn = (state: RunState) =>
 *   model
 *     .stream({ messages: state.messages })
 *     .pipe(accumulateToolCalls(), consolidate(), executeTools(tools), endTurn(state));
 * ```
 *
 * @param state The state from which the turn started.
 * @param options `last` (default: false), `unfinished` (default: no error).
 * @returns A function that returns an Observable of the source's events without the `finish`, and the `turn` event.
 */
export function endTurn<E extends StreamEvent>(
  state: RunState,
  options?: EndTurnOptions,
): OperatorFunction<E, Exclude<E, FinishChunk> | (TurnEvent & { readonly next: RunState | null })>;
export function endTurn(
  state: RunState,
  { last = false, unfinished }: EndTurnOptions = {},
): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => {
    let messages: readonly Message[] = [];
    let metadata = new MetadataCollector();
    let otherUsage: Usage | undefined; // of retracted attempts and of tools
    let finish: FinishChunk | undefined;
    let waits = false;
    const withTurn = (event: OpenCallsEvent): OpenCallsEvent => {
      const usage = sumOfKnown(otherUsage, event.open.finish.usage);
      const open = { ...event.open, messages, finish: { ...event.open.finish, ...omitUndefined({ usage }) } };
      const merged = metadata.metadata && mergeMetadata(undefined, metadata.metadata); // a copy: more may be added
      return { ...event, state, open: { ...open, ...omitUndefined({ metadata: merged }) } };
    };
    return {
      next(event) {
        const known = asKnownEvent(event);
        switch (known.type) {
          case 'finish':
            finish ??= known;
            return;
          case 'metadata':
            metadata.add(known.metadata);
            break;
          case 'retract':
            metadata = new MetadataCollector(metadataOfRetracted(metadata.metadata));
            otherUsage = sumOfKnown(otherUsage, sumOfKnown(finish?.usage, known.usage));
            finish = undefined;
            messages = turnMessages(messages, event);
            break;
          case 'message':
            messages = turnMessages(messages, event);
            break;
          case 'toolUsage':
            otherUsage = sumOfKnown(otherUsage, known.usage);
            break;
          case 'openCalls':
            waits = known.waits;
            out.next(withTurn(known));
            return;
          default:
        }
        out.next(event);
      },
      complete() {
        if (!finish && unfinished && !waits) throw unfinished();
        if (finish) {
          const usage = sumOfKnown(otherUsage, finish.usage);
          out.next(turnEvent(state, messages, { ...finish, usage }, metadata.metadata, last));
        }
        out.complete();
      },
    };
  });
}

/** The sum of two usages; unknown if both are. */
function sumOfKnown(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  return a && b ? addUsage(a, b) : (a ?? b);
}

interface Outcome {
  readonly reason: FinishReason;
  readonly rawReason?: string;
  readonly usage: Usage | undefined;
}

function turnEvent(
  state: RunState,
  messages: readonly Message[],
  { reason, rawReason, usage }: Outcome,
  metadata: Metadata | undefined,
  last: boolean,
): TurnEvent {
  const next = nextState(state, messages, reason, usage);
  const reachesLimit = next !== null && last;
  return {
    type: 'turn',
    turn: state.turn + 1,
    finishReason: reachesLimit ? 'maxTurns' : reason,
    ...(rawReason === undefined ? {} : { rawReason }),
    ...(usage ? { usage } : {}),
    ...(metadata ? { metadata } : {}),
    next: reachesLimit ? null : next,
  };
}

function nextState(
  state: RunState,
  messages: readonly Message[],
  reason: FinishReason,
  usage: Usage | undefined,
): RunState | null {
  if (vetoReasons.has(reason)) return null;
  const { [EMPTY_REPLY]: wasEmpty, ...memo } = state.memo ?? {};
  const next = {
    messages: appendMessages(state.messages, messages),
    turn: state.turn + 1,
    usage: addUsage(state.usage, usage),
  };
  if (messages.length === 0) {
    const asksAgain = !wasEmpty && hasToolResults(state.messages.at(-1));
    return asksAgain ? { ...next, memo: { ...memo, [EMPTY_REPLY]: true } } : null;
  }
  const continues = reason === 'paused' || messages.some(hasToolResults);
  if (!continues || hasCallWithoutResult(messages)) return null;
  return Object.keys(memo).length > 0 ? { ...next, memo } : next;
}

/** Whether a call has no result. Providers reject a history with such a call. */
function hasCallWithoutResult(messages: readonly Message[]): boolean {
  const resultIds = new Set<string>();
  for (const { parts } of messages) for (const part of parts) if (part.type === 'toolResult') resultIds.add(part.id);
  return messages.flatMap(toolCallsOf).some(({ id }) => !resultIds.has(id));
}
