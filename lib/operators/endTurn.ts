import type { OperatorFunction, Subscriber } from 'rxjs';
import { vetoReasons, type FinishChunk, type FinishReason } from '../core/chunk.js';
import type { OpenCallsEvent } from '../core/checkpoint.js';
import { createOperator, type OperatorHandlers } from '../core/createOperator.js';
import type { RunState, StreamEvent, TurnEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { omitUndefined, type JsonObject } from '../core/json/json.js';
import { hasToolResults, type Message } from '../core/message.js';
import { mergeMetadata, MetadataCollector, metadataOfRetracted } from '../core/metadata.js';
import { addUsage, validUsage, type Usage } from '../core/usage.js';
import type { Plain } from '../core/typesOf.js';

export interface EndTurnOptions {
  /** The last turn of the run; `runTurns` sets it for each turn. Default: false. */
  readonly last?: boolean | undefined;
  /** The error of a source that completes without a `finish`. Default: no error, and no `turn` event. */
  readonly unfinished?: (() => Error) | undefined;
}

/** The model's response in the previous turn was empty. */
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
): OperatorFunction<E, Exclude<E, FinishChunk> | Plain<TurnEvent & { readonly next: RunState | null }>>;
export function endTurn(state: RunState, options: EndTurnOptions = {}): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => new TurnEnd(out, state, options));
}

class TurnEnd implements OperatorHandlers<StreamEvent> {
  private messages: Message[] = [];
  private metadata = new MetadataCollector();
  private otherUsage: Usage | undefined; // of retracted attempts and of tools
  private finish: FinishChunk | undefined;
  private waits = false;

  constructor(
    private readonly out: Subscriber<StreamEvent>,
    private readonly state: RunState,
    private readonly options: EndTurnOptions,
  ) {}

  next(event: StreamEvent): void {
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'finish':
        this.finish ??= known;
        return;
      case 'metadata':
        this.metadata.add(known.metadata);
        break;
      case 'retract':
        this.metadata = new MetadataCollector(metadataOfRetracted(this.metadata.metadata));
        this.otherUsage = sumOfKnown(this.otherUsage, sumOfKnown(this.finish?.usage, known.usage));
        this.finish = undefined;
        this.messages = [];
        break;
      case 'message':
        this.messages.push(known.message);
        break;
      case 'toolUsage':
        this.otherUsage = sumOfKnown(this.otherUsage, known.usage);
        break;
      case 'openCalls':
        this.waits = known.waits;
        this.out.next(this.withTurn(known));
        return;
      default:
    }
    this.out.next(event);
  }

  complete(): void {
    const { finish, options } = this;
    if (!finish && options.unfinished && !this.waits) throw options.unfinished();
    if (finish) this.out.next(this.turnEvent(finish));
    this.out.complete();
  }

  private withTurn(event: OpenCallsEvent): OpenCallsEvent {
    const { finish } = event.open;
    const usage = sumOfKnown(this.otherUsage, finish.usage);
    const open = { ...event.open, messages: [...this.messages], finish: { ...finish, ...omitUndefined({ usage }) } };
    const { metadata } = this.metadata;
    const merged = metadata && mergeMetadata(undefined, metadata); // a copy: more may be added
    return { ...event, state: this.state, open: { ...open, ...omitUndefined({ metadata: merged }) } };
  }

  private turnEvent({ reason, rawReason, usage: reported }: FinishChunk): TurnEvent {
    const { state } = this;
    const { metadata } = this.metadata;
    const usage = sumOfKnown(this.otherUsage, reported);
    const follows = isFollowed(state, this.messages, reason);
    const reachesLimit = follows && this.options.last === true;
    return {
      type: 'turn',
      turn: state.turn + 1,
      finishReason: reachesLimit ? 'maxTurns' : reason,
      ...(rawReason === undefined ? undefined : { rawReason }),
      ...(usage && { usage }),
      ...(metadata && { metadata }),
      next: follows && !reachesLimit ? nextState(state, this.messages, usage) : null,
    };
  }
}

function sumOfKnown(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  return (a ?? b) && addUsage(validUsage(a), validUsage(b));
}

function isFollowed(state: RunState, messages: readonly Message[], reason: FinishReason): boolean {
  if (vetoReasons.has(reason)) return false;
  if (messages.length === 0) return !state.memo?.[EMPTY_REPLY] && hasToolResults(state.messages.at(-1));
  return (reason === 'paused' || messages.some(hasToolResults)) && !hasCallWithoutResult(messages);
}

function nextState(state: RunState, messages: readonly Message[], usage: Usage | undefined): RunState {
  const next = {
    messages: [...state.messages, ...messages],
    turn: state.turn + 1,
    usage: addUsage(state.usage, usage),
  };
  const memo = nextMemo(state.memo, messages.length === 0);
  return memo ? { ...next, memo } : next;
}

function nextMemo(memo: JsonObject | undefined, isEmptyReply: boolean): JsonObject | undefined {
  if (isEmptyReply) return { ...memo, [EMPTY_REPLY]: true };
  if (!memo) return undefined; // nearly every run
  const { [EMPTY_REPLY]: _, ...others } = memo;
  return Object.keys(others).length > 0 ? others : undefined;
}

/** Providers reject a history with a call that has no result. */
export function hasCallWithoutResult(messages: readonly Message[]): boolean {
  const resultIds = new Set<string>();
  for (const { parts } of messages) for (const part of parts) if (part.type === 'toolResult') resultIds.add(part.id);
  for (const { parts } of messages)
    for (const part of parts) if (part.type === 'toolCall' && !resultIds.has(part.id)) return true;
  return false;
}
