import { identity, type Observable, type OperatorFunction, type Subscriber } from 'rxjs';
import type { Checkpoint, EmittedContent, OpenCalls } from '../core/checkpoint.js';
import { createOperator, type OperatorHandlers } from '../core/createOperator.js';
import { startState, stateAfter, withoutNext } from '../core/event.js';
import type {
  CheckpointEvent,
  ResultEvent,
  RunResult,
  RunState,
  StreamEvent,
  TurnEvent,
  RunEvent,
} from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { recordFailedRun, type FailedRun } from '../core/failedRun.js';
import { isSameJson } from '../core/json/equal.js';
import { finiteNumber, omitUndefined } from '../core/json/json.js';
import { toJson } from '../core/json/toJson.js';
import {
  answerOf,
  modelMessage,
  toolCallsOf,
  unfinishedResult,
  userMessage,
  type Message,
  type ToolCallPart,
  type ToolResultPart,
} from '../core/message.js';
import { onEachValue } from '../core/notifier.js';
import { usageOfError } from '../core/usageOfError.js';
import { addUsage, type Usage } from '../core/usage.js';
import { RunContent } from './runContent.js';
import type { OfType } from '../core/typesOf.js';

export interface EndRunOptions {
  /** Whether `turn` events have a `checkpoint`, and `checkpoint` events report the calls. Default: false. */
  readonly checkpoints?: boolean | undefined;
  /** The name in checkpoints (default: `custom`) and in `failedRunOf(error)` (default: none). */
  readonly orchestrator?: string | undefined;
  /** The id of the run, for its checkpoints. Default: none. */
  readonly runId?: string | undefined;
  /** Returns the prompts that arrived and did not join the run. Default: none. */
  readonly unjoined?: (() => readonly Message[]) | undefined;
  /** The checkpoint from which the run resumes; `start` is its state. Default: a new run. */
  readonly resumed?: Checkpoint | undefined;
  /** The usage of each response that has ended (`onUsage` of `executeTools`), for a turn that fails. Default: none. */
  readonly used?: Observable<Usage> | undefined;
  /** Adds what else a checkpoint has to have. Default: nothing is added. */
  readonly extend?: ((checkpoint: Checkpoint) => Checkpoint) | undefined;
  /** Checks the result before it is emitted. If it throws, the run fails with that error. Default: no check. */
  readonly check?: ((result: RunResult) => void) | undefined;
}

/**
 * Emits the run's `result` after its last turn.
 *
 * <span class="informal">Collects all events of a run and emits one result.</span>
 *
 * ![](../../marbles/endRun.svg)
 *
 * The result is emitted when the source completes after a `turn` event without `next`. If calls wait for answers, the
 * result has the finish reason `waiting`, the waiting calls and a checkpoint. `next` is removed from `turn` events. A
 * run that fails or is unsubscribed emits no result; `failedRunOf(error)` returns what a run had done when it failed.
 * `retract` discards the content of the current turn, but the result includes the cost and the usage of the retracted
 * attempt.
 *
 * ```ts
 * runTurns(turn, start).pipe(prefixAfterTools(), endRun(start));
 * ```
 *
 * @param start The state from which the run started; the result includes its usage and its turns. Default: a new run.
 * @param options `checkpoints` (default: false), `orchestrator` (default: `custom`), `runId` (default: none), `resumed`
 * (default: a new run), `unjoined` (default: none), `check` (default: no check).
 * @returns A function that returns an Observable of the source's events, and the `result`.
 */
export function endRun<E extends StreamEvent>(
  start?: RunState,
  options?: EndRunOptions,
): OperatorFunction<E, E | OfType<RunEvent, 'result'>>;
export function endRun(
  start: RunState = startState([]),
  options: EndRunOptions = {},
): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => new RunEnd(out, start, options));
}

class RunEnd implements OperatorHandlers<StreamEvent> {
  private readonly run: RunContent;
  private usage: Usage;
  private readonly results: Map<string, ToolResultPart>;
  /** The calls of a response that has not ended, which `eagerTools` may have begun. */
  private early: ToolCallPart[] = [];
  private readonly started = new Set<string>();
  private last: TurnEvent | undefined;
  private waiting: OpenCalls | undefined;

  constructor(
    private readonly out: Subscriber<StreamEvent>,
    private state: RunState,
    private readonly options: EndRunOptions,
  ) {
    const { emitted, ended, open } = options.resumed ?? {};
    if (options.used) onEachValue(out, options.used, (usage) => this.addUsage(usage));
    this.run = new RunContent(emitted);
    this.results = new Map(open?.results.map((result) => [result.id, result]));
    this.usage = addUsage(state.usage, undefined);
    if (ended) this.last = { type: 'turn', turn: state.turn, next: null, ...ended };
  }

  next(event: StreamEvent): void {
    const { run } = this;
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'text':
        run.turn.addText(known);
        break;
      case 'thinking':
        run.turn.addThinking(known.text);
        break;
      case 'toolCall':
        this.early.push(known);
        break;
      case 'toolStart':
        this.started.add(known.id);
        break;
      case 'message':
        run.turn.addMessage(known.message);
        this.early = [];
        break;
      case 'metadata':
        run.turn.metadata.add(known.metadata);
        break;
      case 'retract':
        run.retract(known.usage);
        this.early = [];
        break;
      case 'toolResult':
        this.results.set(known.id, known);
        break;
      case 'toolUsage':
        this.addUsage(known.usage);
        break;
      case 'turn':
        this.endTurn(known);
        return;
      case 'openCalls':
        this.state = known.state ?? this.state;
        if (known.waits) this.waiting = known.open;
        else if (this.options.checkpoints)
          this.out.next({ type: 'checkpoint', checkpoint: this.checkpoint({ open: known.open }) } as CheckpointEvent);
        return;
      default:
    }
    this.out.next(event);
  }

  error(thrown: unknown): void {
    const { run, last, state, options } = this;
    const { messages: complete, text, thinking } = run.copy();
    const begun = this.early.filter(({ id }) => this.started.has(id));
    const messages = begun.length > 0 ? [...complete, modelMessage(begun)] : complete;
    const failedRun: FailedRun = {
      // What has ended is not cancelled.
      messages: withResults(messages, (call) => this.results.get(call.id) ?? unfinishedResult(call, 'cancelled')),
      partialText: run.turn.partialText(),
      text,
      thinking,
      usage: addUsage(addUsage(this.usage, run.turn.usage), usageOfError(thrown)),
      turn: last && !last.next ? last.turn : (last ?? state).turn + 1, // the one after the last, unless none follows
      ...omitUndefined({ orchestrator: options.orchestrator }),
      ...this.prompts(),
    };
    this.out.error(recordFailedRun(thrown, failedRun));
  }

  complete(): void {
    const { waiting, last, usage } = this;
    if (waiting) this.emitResult(waitingOutcome(waiting, usage, this.checkpoint({ open: waiting })));
    else if (last && !last.next) this.emitResult(turnOutcome(last, usage));
    this.out.complete();
  }

  private addUsage(usage: Usage): void {
    const { turn } = this.run;
    turn.usage = addUsage(turn.usage, usage);
  }

  private endTurn(event: TurnEvent): void {
    const { run, out } = this;
    const { next } = event;
    this.last = event;
    this.usage = addUsage(this.usage, event.usage);
    if (!this.options.checkpoints) {
      run.endTurn();
      out.next(withoutNext(event));
      return;
    }
    this.state = next ?? stateAfter(this.state, event, run.turn.messages);
    run.endTurn();
    const end = next ? {} : endedCheckpoint(event);
    out.next(withoutNext(event, end && { checkpoint: this.checkpoint(end) }));
  }

  private emitResult(outcome: Outcome): void {
    const { needsSeparator: _, ...emitted } = this.run.copy();
    const { messages } = emitted;
    const ended = new Map(outcome.checkpoint?.open?.results.map((result) => [result.id, result]));
    const cost = outcome.usage.cost ?? finiteNumber(emitted.metadata?.['cost']);
    const result = {
      ...emitted,
      answer: answerOf(messages),
      messages: withResults(messages, ({ id }) => ended.get(id)), // whoever does not resume the run has them, too
      ...outcome,
      ...omitUndefined({ cost }),
      ...this.prompts(),
    };
    try {
      this.options.check?.(result);
    } catch (thrown) {
      this.error(thrown);
      return;
    }
    this.out.next({ type: 'result', result } as ResultEvent);
  }

  private checkpoint(rest: Pick<Checkpoint, 'open' | 'ended'>): Checkpoint {
    const { orchestrator = 'custom', runId, extend = identity } = this.options;
    const named = { orchestrator, ...omitUndefined({ runId }) };
    return extend({ version: 1, ...named, state: this.state, emitted: this.run.copy(), ...rest });
  }

  private prompts(): Pick<RunResult, 'prompts'> {
    const prompts = this.options.unjoined?.() ?? [];
    return prompts.length > 0 ? { prompts } : {};
  }
}

/** With the results of the last message's calls, of which a turn that has not ended has no message. */
function withResults(
  messages: readonly Message[],
  resultOf: (call: ToolCallPart) => ToolResultPart | undefined,
): readonly Message[] {
  const results = messages
    .slice(-1)
    .flatMap(toolCallsOf)
    .flatMap((call) => resultOf(call) ?? []);
  return results.length > 0 ? [...messages, userMessage(results)] : messages;
}

type Outcome = Omit<RunResult, keyof EmittedContent | 'answer'>;

function turnOutcome({ output, finishReason, rawReason, turn }: TurnEvent, usage: Usage): Outcome {
  return { output, finishReason, ...omitUndefined({ rawReason }), usage, turns: turn };
}

/** The turn that waits is counted, with its usage. */
function waitingOutcome(open: OpenCalls, usage: Usage, checkpoint: Checkpoint): Outcome {
  const turns = checkpoint.state.turn + 1;
  const total = addUsage(usage, open.finish.usage);
  const { waiting } = checkpoint.open ?? open;
  return { output: undefined, finishReason: 'waiting', usage: total, turns, waiting, checkpoint };
}

/** The outcome of the last turn, for a checkpoint; undefined if JSON cannot represent its output exactly. */
function endedCheckpoint({ finishReason, rawReason, output }: TurnEvent): Pick<Checkpoint, 'ended'> | undefined {
  const ended = { finishReason, ...omitUndefined({ rawReason }) };
  if (output === undefined) return { ended };
  try {
    const copy = toJson(output);
    return isSameJson(copy, output) ? { ended: { ...ended, output: copy } } : undefined;
  } catch {
    return undefined; // toJson throws for what JSON cannot represent; the checkpoint before the turn remains valid
  }
}
