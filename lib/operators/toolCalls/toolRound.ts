import type { Approve, WaitingCall } from '../../core/approval.js';
import type { ResumedTurn } from '../../core/checkpoint.js';
import type { ToolResultEvent, ToolWaitingEvent } from '../../core/event.js';
import { unfinishedResult } from '../../core/message.js';
import type { ToolCallPart, ToolResultPart } from '../../core/message.js';
import type { Tool } from '../../core/tool.js';
import { mayWait, OpenDecision } from './approveCall.js';
import type { DecisionEvent } from './approveCall.js';
import { RunningCall } from './runningCall.js';
import type { CallObserver, CallSettings, RunningCallEvent } from './runningCall.js';

/** The settings of all calls of a turn. */
export interface RoundSettings extends CallSettings {
  readonly concurrency: number;
  readonly approve: Approve | undefined;
}

/** Receives the events of a round. */
export interface RoundObserver {
  emit(event: RunningCallEvent | ToolWaitingEvent): void;
  /** Called after each `toolWaiting` and each `toolResult`. */
  changed(round: ToolRound): void;
  /** Called when all calls have ended, except those that wait for an answer from outside the run. */
  ended(round: ToolRound): void;
}

/** The calls of one attempt at a turn; `retract` starts another round. */
export class ToolRound implements CallObserver<RunningCallEvent | DecisionEvent> {
  /** The results by the ids of the calls. */
  readonly results: Map<string, ToolResultPart>;
  /** The waiting calls by id. Empty if the round was vetoed. */
  readonly waiting: Map<string, WaitingCall>;
  private readonly begun: Set<string>;
  private readonly queue: ToolCallPart[] = [];
  /** The calls that run, and those whose approval has not ended, by id. */
  private readonly open = new Map<string, RunningCall | OpenDecision>();
  /** The number of calls that run. */
  private active = 0;
  private isStarting = false;
  private isVetoed = false;
  private isClosed = false;
  /** Whether the round ends with the calls that have begun. */
  private isComplete = false;

  /** @param resumed The turn that is resumed: the calls that it has recorded are not repeated. Default: none. */
  constructor(
    private readonly settings: RoundSettings,
    private readonly observer: RoundObserver,
    private readonly resumed?: ResumedTurn,
  ) {
    this.results = new Map(resumed?.open.results.map((result) => [result.id, result]));
    this.waiting = new Map(resumed?.open.waiting.map((call) => [call.id, call]));
    this.begun = new Set(this.results.keys());
  }

  /** Runs the call as soon as `concurrency` allows; does nothing if `begin` was already called for it. */
  begin(call: ToolCallPart): void {
    if (this.isClosed || this.begun.has(call.id)) return;
    this.begun.add(call.id);
    const tool = this.settings.tools.get(call.name);
    if (tool && !this.isVetoed && mayWait(tool, call, this.resumed)) {
      this.decide(call, tool);
    } else {
      this.queue.push(call);
      this.startQueued();
    }
  }

  /** Cancels the running calls and the open decisions; calls that have not started get a `not_executed` result. */
  veto(): void {
    this.isVetoed = true;
    const undecided = [...this.waiting.values()].filter(({ id }) => !this.open.has(id));
    // Before the running calls are cancelled: the last of them ends the round.
    for (const call of undecided) this.emit(unfinishedResult(call, 'not_executed'));
    for (const call of this.open.values()) call.cancel();
  }

  /** Unsubscribes the running tools and the open decisions, and discards all results. */
  unsubscribe(): void {
    this.isClosed = true;
    for (const call of this.open.values()) call.unsubscribe();
  }

  /** No further call begins: the observer is told when all calls have ended. */
  complete(): void {
    this.isComplete = true;
    this.startQueued();
  }

  emit(event: RunningCallEvent | DecisionEvent): void {
    if (this.isClosed) return;
    switch (event.type) {
      case 'approvedCall':
        this.waiting.delete(event.call.id);
        this.queue.push(event.call);
        break;
      case 'toolResult':
        this.setResult(event);
        break;
      case 'toolWaiting':
        this.waiting.set(event.id, { id: event.id, name: event.name, arguments: event.arguments });
        this.observer.emit(event);
        this.observer.changed(this);
        break;
      default:
        this.observer.emit(event);
    }
  }

  ended({ id }: ToolCallPart, sender: unknown): void {
    if (sender instanceof RunningCall) this.active--;
    if (this.open.get(id) === sender) this.open.delete(id);
    this.startQueued();
  }

  private setResult(event: ToolResultEvent): void {
    this.waiting.delete(event.id);
    this.results.set(event.id, event);
    this.observer.emit(event);
    this.observer.changed(this);
  }

  private decide(call: ToolCallPart, tool: Tool): void {
    const { messages, context, approve } = this.settings;
    const decision = new OpenDecision(call, this);
    this.open.set(call.id, decision);
    decision.start(tool, { messages, context, approve, resumed: this.resumed });
  }

  private run(call: ToolCallPart): void {
    if (this.isVetoed) {
      this.emit(unfinishedResult(call, 'not_executed'));
      return;
    }
    const running = new RunningCall(call, this.settings, this);
    this.active++;
    this.open.set(call.id, running);
    running.start();
  }

  /**
   * Starts as many queued calls as `concurrency` allows. It is a loop, because `mergeMap(run, concurrency)` starts a
   * call inside the completion of the previous call: 160 synchronous calls after an asynchronous call overflowed the
   * stack, and RxJS dropped the error.
   */
  private startQueued(): void {
    if (this.isStarting) return;
    this.isStarting = true;
    for (let call; this.canStart() && (call = this.queue.shift());) this.run(call);
    this.isStarting = false;
    if (this.isComplete && !this.isClosed && this.open.size + this.queue.length === 0) this.observer.ended(this);
  }

  private canStart(): boolean {
    return !this.isClosed && this.active < this.settings.concurrency;
  }
}
