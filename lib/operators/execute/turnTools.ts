import { asyncScheduler, AsyncSubject, concat, EMPTY, from, NEVER, ReplaySubject, Subscription, tap } from 'rxjs';
import type { Observable, ObservableInput, Subscriber } from 'rxjs';
import { MAX_ANSWERS, type Approve, type CallAnswers } from '../../core/approval.js';
import { vetoReasons, type FinishChunk } from '../../core/chunk.js';
import type { OpenCallsEvent, ResumedTurn } from '../../core/checkpoint.js';
import type { OperatorHandlers } from '../../core/createOperator.js';
import { toolsError } from '../../core/errors.js';
import type { TurnMessageEvent, StreamEvent, ToolCallEvent } from '../../core/event.js';
import { isFinish, isModelMessage, isRetract, isToolCall } from '../../core/eventGuards.js';
import { omitUndefined } from '../../core/json/json.js';
import { isLate } from '../../core/lateTool.js';
import { toolCallsOf, type Message, type ToolCallPart } from '../../core/message.js';
import { laterAnswers, waitingInside, type PausableCall } from '../../core/nested.js';
import { onEachValue, onFirstValue } from '../../core/notifier.js';
import { requireNumber } from '../../core/options.js';
import { newRunId } from '../../core/runId.js';
import type { Tool } from '../../core/tool.js';
import { eventWithToolNames } from '../../core/toolNames.js';
import { interruptedFinish } from '../../core/response.js';
import { validUsage, type Usage } from '../../core/usage.js';
import { CallRound, type RoundObserver, type RoundSettings } from './callRound.js';

export interface ExecuteToolsOptions<C = unknown> {
  /** The conversation, for the tools' context. Default: none. */
  readonly messages?: readonly Message[] | undefined;
  /** The maximum number of calls that run at a time. Default: 1, in order. `Infinity`: all at once. */
  readonly concurrency?: number | undefined;
  /** Whether a call starts while the model still streams. Default: false: the model's connection is closed first. */
  readonly eager?: boolean | undefined;
  /** The maximum total time of one call, in milliseconds. Default: no deadline. */
  readonly deadline?: number | undefined;
  /** The user's own value, for the tools' context. Default: undefined. */
  readonly context?: C | undefined;
  /** What idempotency keys begin with. The id of the call and a hash of its content follow. Default: a random text. */
  readonly idempotencyPrefix?: string | undefined;
  /** Stops the calls with its first value. Default: never. */
  readonly stop?: ObservableInput<unknown> | undefined;
  /**
   * The ids of calls to cancel (`outer/inner` for an inner run) while the turn continues: a call that runs, waits or
   * has not begun is answered with the code `cancelled`; one that has ended is not. Default: none.
   */
  readonly cancel?: ObservableInput<string> | undefined;
  /** Decides about calls of tools with `needsApproval`. Default: such a call waits, and the run ends. */
  readonly approve?: Approve | undefined;
  /**
   * Answers to waiting calls and questions (`askTool`), while the calls wait in memory; also those that come first.
   * When it completes, nobody answers any more. Default: nobody answers.
   */
  readonly answers?: ObservableInput<CallAnswers> | undefined;
  /**
   * How long a call waits in memory for an answer, in milliseconds; then the run ends, and the call waits in its
   * checkpoint. Default: without a limit if there are `answers`, otherwise 0.
   */
  readonly patience?: number | undefined;
  /** Completes when everything that the run has emitted is stored. Default: nothing is stored. */
  readonly written?: Observable<never> | undefined;
  /** The call of an outer run that the turn is in. It waits while calls of the turn do. Default: none. */
  readonly outerCall?: PausableCall | undefined;
  /** Receives what a tool throws. The model is told only its message. Default: nothing is called. */
  readonly onToolError?: ((thrown: unknown, call: ToolCallPart) => void) | undefined;
  /** Receives the usage of a response that has ended, before its calls have. Default: nothing is called. */
  readonly onUsage?: ((usage: Usage) => void) | undefined;
  /** Whether an `openCalls` event follows the model's message and each result, for checkpoints. Default: false. */
  readonly checkpoints?: boolean | undefined;
  /** The open turn that is resumed: what it has recorded is not repeated. Default: none. */
  readonly resumed?: ResumedTurn | undefined;
}

/** The calls of a turn. Most turns have none, so their round is created with the first call. */
export class TurnTools implements OperatorHandlers<StreamEvent>, RoundObserver {
  private settings: RoundSettings;
  private round: CallRound | undefined;
  private hasCalls = false;
  private calls: ToolCallPart[] = [];
  private finish: FinishChunk | undefined;
  private isStopped = false;
  private sourceEnded = false;
  /** The calls that `eager` begins next. */
  private early = new Subscription();
  /** Completes when the model's message is complete, if somebody waits for it. */
  private announced: AsyncSubject<never> | undefined;

  constructor(
    private readonly out: Subscriber<StreamEvent>,
    tools: readonly Tool[],
    private readonly options: ExecuteToolsOptions,
  ) {
    const { concurrency = 1, deadline = Infinity, messages = [], checkpoints = false, resumed, stop, cancel } = options;
    const { context, approve, onToolError, answers, outerCall } = options;
    // With `eager`, a call runs before the model's message is complete, and can be stored: it may be retracted.
    if (options.eager) this.announced = new AsyncSubject();
    const written = concat(this.announced ?? EMPTY, options.written ?? EMPTY);
    const { patience: longest = Infinity } = options;
    const patience = answers ? longest : 0;
    requireNumber('concurrency', concurrency, 1);
    requireNumber('deadline', deadline, 0);
    requireNumber('patience', longest, 0);
    const { idempotencyPrefix = `${newRunId()}.` } = options;
    const known = answers && new ReplaySubject<CallAnswers>(MAX_ANSWERS);
    const calls = { messages, context, idempotencyPrefix, approve, checkpoints, onToolError, patience, written };
    this.settings = { tools: toolsByName(tools), ...calls, outerCall, answers: known ?? NEVER, deadline, concurrency };
    if (resumed) this.round = new CallRound(this.settings, this, resumed);
    out.add(this);
    if (stop) onFirstValue(out, stop, () => this.stop());
    if (cancel) onEachValue(out, cancel, (id) => this.currentRound().cancel(id));
    // Its completion says that nobody answers any more.
    if (answers && known)
      out.add(
        from(answers)
          .pipe(tap({ error: (thrown: unknown) => out.error(thrown) }))
          .subscribe(known),
      );
  }

  next(given: StreamEvent): void {
    const event = eventWithToolNames(given, this.settings.tools);
    if (isFinish(event)) {
      this.finish ??= event;
      this.early.unsubscribe();
      return;
    }
    if (isRetract(event)) this.startOver();
    if (isToolCall(event)) this.hasCalls = true;
    if (isModelMessage(event)) this.calls.push(...toolCallsOf(event.message));
    const isEager = this.options.eager && isToolCall(event) && !isLate(this.settings.tools.get(event.name));
    if (isEager) this.beginEarly(event);
    else this.out.next(event);
  }

  afterTeardown(): void {
    const { finish, calls, options } = this;
    if (!finish) {
      this.unsubscribe();
      this.out.complete();
      return;
    }
    this.sourceEnded = true;
    options.onUsage?.(validUsage(finish.usage));
    if (calls.length === 0 && !this.round) {
      this.endTurn(finish);
      return;
    }
    const round = this.currentRound();
    const isInterrupted = finish.reason === 'stopped' && finish.rawReason === interruptedFinish.rawReason;
    if (this.isStopped || (vetoReasons.has(finish.reason) && !isInterrupted)) round.veto();
    if (!options.resumed) this.roundChanged(round); // for the checkpoint after the model's message
    this.announced?.complete();
    for (const call of calls) {
      if (isInterrupted && !options.resumed) round.reject(call); // `eager` has begun the others
      else round.begin(call);
    }
    round.complete();
  }

  unsubscribe(): void {
    this.early.unsubscribe();
    this.round?.unsubscribe();
  }

  emit(event: StreamEvent): void {
    this.out.next(event);
  }

  roundChanged(round: CallRound): void {
    if (this.settings.checkpoints) this.emitOpenCalls(round, false);
  }

  roundEnded(round: CallRound): void {
    const { calls, finish } = this;
    if (!finish) return;
    if (round.waits) {
      this.emitOpenCalls(round, true);
      this.out.complete();
      return;
    }
    const parts = calls.flatMap(({ id }) => round.results.get(id) ?? []);
    if (parts.length > 0) this.out.next({ type: 'message', message: { role: 'user', parts } } as TurnMessageEvent);
    this.endTurn(this.isStopped && calls.length > 0 ? stoppedFinish(finish) : finish);
  }

  /** Begins a call when all that has arrived with it is read: the response may have been cut, or have failed. */
  private beginEarly(call: ToolCallEvent): void {
    // Before the event is emitted: a handler may push a `retract` into the source, which starts another round.
    const { early } = this;
    const round = this.currentRound();
    this.out.next(call);
    early.add(asyncScheduler.schedule(() => this.isStopped || round.begin(call)));
  }

  private currentRound(): CallRound {
    return (this.round ??= new CallRound(this.settings, this));
  }

  private stop(): void {
    this.isStopped = true;
    this.round?.veto();
  }

  private startOver(): void {
    const { finish } = this;
    this.finish = undefined;
    this.calls = [];
    this.unsubscribe();
    this.early = new Subscription();
    if (this.hasCalls) this.settings = { ...this.settings, answers: laterAnswers(this.settings.answers) };
    this.hasCalls = false;
    this.round = undefined;
    if (!finish) return;
    this.options.onUsage?.(validUsage(finish.usage));
    this.out.next(finish); // so that the turn includes its usage
  }

  /** Before the source has ended, the model's message may be incomplete: there is nothing to resume yet. */
  private emitOpenCalls(round: CallRound, waits: boolean): void {
    const { finish, sourceEnded, calls } = this;
    if (finish && sourceEnded && calls.length > 0) this.out.next(openCalls(finish, round, waits));
  }

  private endTurn(finish: FinishChunk): void {
    this.out.next(finish);
    this.out.complete();
  }
}

/** The finish of a turn whose calls were stopped. Another reason that vetoes execution remains. */
function stoppedFinish(finish: FinishChunk): FinishChunk {
  if (vetoReasons.has(finish.reason)) return finish;
  const { rawReason: _, ...rest } = finish;
  return { ...rest, reason: 'stopped' };
}

function openCalls({ reason, rawReason, usage }: FinishChunk, round: CallRound, waits: boolean): OpenCallsEvent {
  const results = [...round.results.values()];
  const waiting = [...round.waiting.values(), ...waitingInside(round.nested)];
  const finish = { reason, ...omitUndefined({ rawReason, usage }) };
  const nested = round.nested.size > 0 ? { nested: Object.fromEntries(round.nested) } : {};
  const edited = round.edited.size > 0 ? { edited: Object.fromEntries(round.edited) } : {};
  const approved = round.approvedCalls.size > 0 ? { approved: [...round.approvedCalls] } : {};
  return {
    type: 'openCalls',
    waits,
    open: { messages: [], finish, results, waiting, ...edited, ...approved, ...nested },
  };
}

function toolsByName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    if (byName.has(tool.name)) throw duplicateName(tool.name);
    byName.set(tool.name, tool);
  }
  return byName;
}

const duplicateName = (name: string) =>
  toolsError(`Two tools are named "${name}".`, 'A model identifies tools by name only: rename one of them.');
