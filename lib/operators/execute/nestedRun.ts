import { defer, finalize, map, ReplaySubject, type Observable } from 'rxjs';
import type { Approve, CallAnswers } from '../../core/approval.js';
import type { CallScope } from '../../core/callScope.js';
import type { Checkpoint, ResumedRun } from '../../core/checkpoint.js';
import type { NestedEvent, RunEvent, StreamEvent } from '../../core/event.js';
import type { ToolCallPart } from '../../core/message.js';
import type { InnerPlaces } from '../../core/innerPlaces.js';
import { InnerWork } from '../../core/innerWork.js';
import { answersInside, innermost, innerRuns } from '../../core/nested.js';
import type { Clock, InnerRunControl, OuterRun, PausableCall } from '../../core/nested.js';
import type { ToolExecution } from './toolExecution.js';

export interface NestedSettings {
  readonly approve: Approve | undefined;
  readonly checkpoints: boolean;
  /** Milliseconds for which a call waits in memory. 0: nobody answers. */
  readonly patience: number;
  readonly answers: Observable<CallAnswers>;
  readonly written: Observable<never>;
  readonly outerCall?: PausableCall | undefined;
}

export interface NestedObserver {
  emit(event: NestedEvent): void;
  innerRunChanged(id: string, checkpoint: Checkpoint): void;
  innerRunWaits(call: ToolCallPart, checkpoint: Checkpoint): void;
  /** A call waits in memory: another one may begin. */
  callPaused(id: string): void;
  /** A call that has waited continues by calling a function, as soon as it may. */
  callProceeds(id: string, work: () => void): void;
}

export class NestedRun extends InnerWork implements OuterRun {
  wrapAgent: OuterRun['wrapAgent'];
  readonly controls = new Set<InnerRunControl>();
  private readonly begunInside = new ReplaySubject<void>(1);
  readonly becomesPrivate = this.begunInside.asObservable();
  readonly resumed: readonly ResumedRun[] | undefined;
  readonly begun: OuterRun['begun'];
  places?: InnerPlaces;
  scope?: CallScope;
  /** The inner runs so far, by their order. The last one has changed last. */
  private readonly runs: Map<number | undefined, Checkpoint>;
  readonly clocks: Set<Clock>;
  hasAsked: boolean;
  /** What waits for a person. */
  private readonly paused = new Set<object>();
  private isStopped = false;

  constructor(
    readonly call: ToolCallPart,
    private readonly settings: NestedSettings,
    private readonly execution: ToolExecution,
    private readonly observer: NestedObserver,
    resumed: ResumedRun | undefined,
  ) {
    super();
    this.resumed = resumed && innerRuns(resumed.checkpoint).map((checkpoint) => ({ ...resumed, checkpoint }));
    this.begun = resumed?.checkpoint.begun;
    this.runs = new Map(this.resumed?.map(({ checkpoint }) => [checkpoint.task?.order, checkpoint]));
    this.clocks = new Set([execution]);
    this.hasAsked = resumed !== undefined;
  }

  get checkpoints(): boolean {
    return this.settings.checkpoints;
  }

  get approve(): Approve | undefined {
    return this.settings.approve;
  }

  get patience(): number {
    return this.settings.patience;
  }

  get answers(): Observable<CallAnswers> {
    return this.settings.answers.pipe(map((given) => answersInside(this.call.id, given)));
  }

  /** The time until then does not count for the deadlines: the response is still read (`eagerTools`), or stored. */
  get written(): Observable<never> {
    return defer(() => {
      for (const clock of this.clocks) clock.pause();
      return this.settings.written.pipe(finalize(() => this.restart()));
    });
  }

  control(inner: InnerRunControl): void {
    this.controls.add(inner);
    this.begunInside.next();
  }

  emit(event: StreamEvent): void {
    const { id, name } = this.call;
    if (innermost(event).type === 'toolWaiting') this.hasAsked = true;
    if (this.execution.isOpen()) this.observer.emit({ type: 'nested', id, name, event: event as RunEvent });
  }

  keep(checkpoint: Checkpoint): void {
    if (!this.execution.isOpen()) return;
    this.store(checkpoint);
    this.observer.innerRunChanged(this.call.id, this.withOthers(checkpoint));
  }

  override suspend(checkpoint: Checkpoint): void {
    this.store(checkpoint);
    super.suspend(checkpoint);
  }

  pause(waiting: object): void {
    if (!this.execution.isOpen()) return;
    this.paused.add(waiting);
    for (const clock of this.clocks) clock.pause();
    this.observer.callPaused(this.call.id);
    this.settings.outerCall?.pause(waiting);
  }

  proceed(waiting: object, work: () => void): void {
    const goOn = () => {
      this.paused.delete(waiting);
      if (this.paused.size > 0) work();
      else
        this.observer.callProceeds(this.call.id, () => {
          this.restart();
          work();
        });
    };
    const { outerCall } = this.settings;
    if (outerCall) outerCall.proceed(waiting, goOn);
    else goOn();
  }

  /** Stops what is inside. The call ends then, and does not wait. */
  stop(): void {
    this.isStopped = true;
    for (const control of this.controls) control.stop();
  }

  protected override suspendAll(last: Checkpoint): void {
    if (this.isStopped || !this.execution.isOpen()) return;
    this.observer.innerRunWaits(this.call, this.withOthers(last));
    this.execution.suspend();
  }

  private store(checkpoint: Checkpoint): void {
    const order = checkpoint.task?.order;
    if (this.suspended.has(order)) this.suspended.set(order, checkpoint);
    this.runs.delete(order);
    this.runs.set(order, checkpoint);
  }

  private restart(): void {
    if (this.paused.size === 0) for (const clock of this.clocks) clock.proceed();
  }

  private withOthers(checkpoint: Checkpoint): Checkpoint {
    const beside = [...this.runs].flatMap(([order, run]) => (order === checkpoint.task?.order ? [] : [run]));
    const begun = (this.places?.tasks ?? []).filter(({ order }) => !this.runs.has(order));
    return { ...checkpoint, ...(beside.length > 0 && { beside }), ...(begun.length > 0 && { begun }) };
  }
}
