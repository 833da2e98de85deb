import { EMPTY } from 'rxjs';
import { editedBy, type WaitingCall } from '../../core/approval.js';
import type { Checkpoint, ResumedTurn } from '../../core/checkpoint.js';
import type { ToolResultEvent, ToolWaitingEvent } from '../../core/event.js';
import { omitUndefined, type JsonObject } from '../../core/json/json.js';
import { refusalOf } from '../../core/lateTool.js';
import { unfinishedResult, type ToolCallPart, type ToolResultPart } from '../../core/message.js';
import type { Tool } from '../../core/tool.js';
import { mayWait, OpenDecision, type DecisionObserver } from './openDecision.js';
import { keyOf, RunningCall, type CallObserver, type CallSettings, type RunningCallEvent } from './runningCall.js';
import { failedResult } from './toolFailure.js';

export interface RoundSettings extends CallSettings {
  readonly concurrency: number;
}

export interface RoundObserver {
  emit(event: RunningCallEvent | ToolWaitingEvent): void;
  /** Called after each `toolWaiting`, each `toolResult` and each checkpoint of an inner run. */
  roundChanged(round: CallRound): void;
  /** All calls have ended, except those that wait for an answer from outside the run. */
  roundEnded(round: CallRound): void;
}

/** Whether a tool is not the one that has begun its call: nobody has approved that it executes the call. */
const isReplaced = (tool: Tool, isApproved: boolean): boolean =>
  !tool.execute || (Boolean(tool.needsApproval) && !isApproved);

export class CallRound implements CallObserver, DecisionObserver {
  readonly results: Map<string, ToolResultPart>;
  /** Waiting calls; empty if the round was vetoed. */
  readonly waiting: Map<string, WaitingCall>;
  /** Inner runs of the calls without a result, by the ids of the calls. */
  readonly nested: Map<string, Checkpoint>;
  /** The calls without a result that were approved, or needed no approval. */
  readonly approvedCalls: Set<string>;
  private readonly suspended = new Map<string, ToolCallPart>();
  private readonly begun: Set<string>;
  private readonly queue: ToolCallPart[] = [];
  /** Calls that were cancelled before `begin` was called for them. */
  private readonly cancelled = new Set<string>();
  /** A person has given these arguments to calls without a result. */
  readonly edited: Map<string, JsonObject>;
  /** Running calls that wait for a person. They do not count for `concurrency`. */
  private readonly paused = new Set<string>();
  /** What such calls do next, when they have their answers. */
  private readonly ready: { readonly id: string; readonly work: () => void }[] = [];
  private readonly running = new Map<string, RunningCall>();
  private readonly decisions = new Map<string, OpenDecision>();
  private readonly lateDecisions = new Set<string>();
  private isStarting = false;
  private isVetoed = false;
  private isClosed = false;
  private isComplete = false;

  /** The calls that `resumed` has recorded are not repeated. */
  constructor(
    private readonly settings: RoundSettings,
    private readonly observer: RoundObserver,
    private readonly resumed?: ResumedTurn,
  ) {
    this.results = new Map(resumed?.open.results.map((result) => [result.id, result]));
    this.waiting = new Map(resumed?.open.waiting.filter(({ path }) => !path).map((call) => [call.id, call]));
    this.nested = new Map([...(resumed?.nested ?? [])].map(([id, { checkpoint }]) => [id, checkpoint]));
    this.edited = new Map(Object.entries(resumed?.open.edited ?? {}));
    this.approvedCalls = new Set(resumed?.open.approved);
    this.begun = new Set(this.results.keys());
  }

  begin(call: ToolCallPart): void {
    if (this.isClosed || this.begun.has(call.id)) return;
    this.begun.add(call.id);
    const { settings, nested, approvedCalls } = this;
    const tool = settings.tools.get(call.name);
    if (tool && isReplaced(tool, approvedCalls.has(call.id))) this.forget(call.id);
    const refusal = nested.has(call.id) ? undefined : refusalOf(tool, () => keyOf(call, settings));
    if (refusal || this.cancelled.has(call.id)) {
      this.emit(refusal ? this.refused(call, refusal) : unfinishedResult(call, 'cancelled'));
      return;
    }
    const isApproved = nested.has(call.id) || approvedCalls.has(call.id);
    if (tool && !this.isVetoed && !isApproved && mayWait(tool, call, this.resumed)) {
      this.decide(call, tool);
    } else {
      this.queue.push(call);
      this.startQueued();
    }
  }

  /** Answers a call as not executed, unless `begin` was called for it. */
  reject(call: ToolCallPart): void {
    if (this.isClosed || this.begun.has(call.id)) return;
    this.begun.add(call.id);
    this.emit(unfinishedResult(call, 'not_executed'));
  }

  cancel(id: string): void {
    if (!this.begun.has(id)) {
      this.cancelled.add(id);
      for (const call of this.running.values()) call.cancelInner(id);
      return;
    }
    const idle = this.takeQueued(id) ?? this.suspended.get(id) ?? this.undecided(id);
    if (idle) this.emit(unfinishedResult(idle, 'cancelled'));
    else (this.running.get(id) ?? this.decisions.get(id))?.cancel();
  }

  /** Calls that have not started get a `not_executed` result. */
  veto(): void {
    this.isVetoed = true;
    const undecided = [...this.waiting.keys()].flatMap((id) => this.undecided(id) ?? []);
    const late = [...this.lateDecisions].map((id) => this.decisions.get(id));
    // Before the running calls are cancelled: the last of them ends the round.
    for (const call of undecided) this.emit(unfinishedResult(call, 'not_executed'));
    for (const call of this.suspended.values()) this.emit(unfinishedResult(call, 'cancelled'));
    for (const open of [...late, ...this.openCalls()]) open?.cancel();
  }

  unsubscribe(): void {
    this.isClosed = true;
    for (const open of this.openCalls()) open.unsubscribe();
  }

  complete(): void {
    this.isComplete = true;
    this.startQueued();
  }

  emit(event: RunningCallEvent | ToolWaitingEvent): void {
    if (this.isClosed) return;
    switch (event.type) {
      case 'toolResult':
        this.waiting.delete(event.id);
        this.forget(event.id);
        this.edited.delete(event.id);
        this.suspended.delete(event.id);
        this.results.set(event.id, event);
        break;
      case 'toolWaiting': {
        const { type: _, ...call } = event;
        this.waiting.set(event.id, call);
        break;
      }
      default:
        this.observer.emit(event);
        return;
    }
    this.observer.emit(event);
    this.observer.roundChanged(this);
  }

  /** The call starts when its decision has ended. */
  approved(call: ToolCallPart, edited: JsonObject | undefined): void {
    this.waiting.delete(call.id);
    this.approvedCalls.add(call.id);
    if (edited) this.edited.set(call.id, edited);
    else this.edited.delete(call.id);
    this.queue.push(call);
  }

  innerRunChanged(id: string, checkpoint: Checkpoint): void {
    if (this.isClosed) return;
    this.nested.set(id, checkpoint);
    this.observer.roundChanged(this);
  }

  innerRunWaits(call: ToolCallPart, checkpoint: Checkpoint): void {
    this.suspended.set(call.id, call);
    this.innerRunChanged(call.id, checkpoint);
  }

  get waits(): boolean {
    return this.waiting.size > 0 || this.suspended.size > 0;
  }

  callPaused(id: string): void {
    this.paused.add(id);
    this.startQueued();
  }

  callProceeds(id: string, work: () => void): void {
    if (!this.paused.has(id)) {
      work();
      return;
    }
    this.ready.push({ id, work });
    this.startQueued();
  }

  callEnded(id: string): void {
    this.running.delete(id);
    this.paused.delete(id);
    this.startQueued();
  }

  decisionEnded(id: string): void {
    this.decisions.delete(id);
    this.lateDecisions.delete(id);
    this.startQueued();
  }

  private refused(call: ToolCallPart, refusal: Error): ToolResultEvent {
    const edited = editedBy(this.resumed?.decisions.get(call.id)) ?? this.edited.get(call.id);
    return { ...failedResult(call, refusal), ...omitUndefined({ arguments: edited }) };
  }

  private forget(id: string): void {
    this.nested.delete(id);
    this.approvedCalls.delete(id);
  }

  private openCalls(): readonly (RunningCall | OpenDecision)[] {
    return [...this.running.values(), ...this.decisions.values()];
  }

  private takeQueued(id: string): ToolCallPart | undefined {
    const index = this.queue.findIndex((call) => call.id === id);
    return index < 0 ? undefined : this.queue.splice(index, 1)[0];
  }

  private undecided(id: string): WaitingCall | undefined {
    return this.decisions.has(id) ? undefined : this.waiting.get(id);
  }

  private decide(call: ToolCallPart, tool: Tool): void {
    const { checkpoints, written } = this.settings;
    const decision = new OpenDecision(call, this);
    this.decisions.set(call.id, decision);
    const onLate = () => {
      this.lateDecisions.add(call.id);
      this.startQueued();
    };
    decision.start(tool, { ...this.settings, written: checkpoints ? written : EMPTY, onLate, resumed: this.resumed });
  }

  private run(call: ToolCallPart): void {
    if (this.isVetoed) {
      this.emit(unfinishedResult(call, this.nested.has(call.id) ? 'cancelled' : 'not_executed'));
      return;
    }
    const resumed = this.nested.has(call.id) ? this.resumed?.nested.get(call.id) : undefined;
    const running = new RunningCall(call, this.settings, this, resumed, this.edited.get(call.id));
    this.running.set(call.id, running);
    running.start();
    for (const id of this.cancelled) running.cancelInner(id); // of a run that is resumed
  }

  /** A loop: with `mergeMap`, 160 synchronous calls overflowed the stack, and RxJS dropped the error. */
  private startQueued(): void {
    if (this.isStarting) return;
    this.isStarting = true;
    while (this.continueReady() || this.startNext());
    this.isStarting = false;
    const openCount = this.running.size + this.decisions.size - this.lateDecisions.size + this.queue.length;
    if (this.isComplete && !this.isClosed && openCount === 0) this.observer.roundEnded(this);
  }

  /** Continues a call that has its answer: one that has kept its place at once, any other when there is a place. */
  private continueReady(): boolean {
    const index = this.ready.findIndex(({ id }) => !this.paused.has(id) || this.canStart());
    const [next] = index < 0 ? [] : this.ready.splice(index, 1);
    if (!next) return false;
    this.paused.delete(next.id);
    if (!this.isClosed && this.running.has(next.id)) next.work();
    return true;
  }

  private startNext(): boolean {
    const call = this.canStart() ? this.queue.shift() : undefined;
    if (call) this.run(call);
    return call !== undefined;
  }

  private canStart(): boolean {
    return !this.isClosed && this.running.size - this.paused.size < this.settings.concurrency;
  }
}
