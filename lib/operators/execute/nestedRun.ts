import { map, type Observable } from 'rxjs';
import type { Approve, CallAnswers } from '../../core/approval.js';
import type { Checkpoint, ResumedRun } from '../../core/checkpoint.js';
import type { NestedEvent, RunEvent, StreamEvent } from '../../core/event.js';
import type { ToolCallPart } from '../../core/message.js';
import { answersInside, innermost, innerRuns } from '../../core/nested.js';
import type { Clock, InnerRunControl, OuterRun } from '../../core/nested.js';
import type { ToolExecution } from './toolExecution.js';

export interface NestedSettings {
  readonly approve: Approve | undefined;
  readonly checkpoints: boolean;
  /** Milliseconds for which a call waits in memory. 0: nobody answers. */
  readonly patience: number;
  readonly answers: Observable<CallAnswers>;
  readonly written: Observable<never>;
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

export class NestedRun implements OuterRun {
  wrapAgent: OuterRun['wrapAgent'];
  readonly controls = new Set<InnerRunControl>();
  readonly resumed: readonly ResumedRun[] | undefined;
  /** The inner runs so far, by their ids. The last one has changed last. */
  private readonly runs: Map<string | undefined, Checkpoint>;
  readonly clocks: Set<Clock>;
  hasAsked: boolean;

  constructor(
    readonly call: ToolCallPart,
    private readonly settings: NestedSettings,
    private readonly execution: ToolExecution,
    private readonly observer: NestedObserver,
    resumed: ResumedRun | undefined,
  ) {
    this.resumed = resumed && innerRuns(resumed.checkpoint).map((checkpoint) => ({ ...resumed, checkpoint }));
    this.runs = new Map(this.resumed?.map(({ checkpoint }) => [checkpoint.runId, checkpoint]));
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

  get written(): Observable<never> {
    return this.settings.written;
  }

  emit(event: StreamEvent): void {
    const { id, name } = this.call;
    if (innermost(event).type === 'toolWaiting') this.hasAsked = true;
    if (this.execution.isOpen()) this.observer.emit({ type: 'nested', id, name, event: event as RunEvent });
  }

  keep(checkpoint: Checkpoint): void {
    if (this.execution.isOpen()) this.observer.innerRunChanged(this.call.id, this.withOthers(checkpoint));
  }

  suspend(checkpoint: Checkpoint): void {
    if (!this.execution.isOpen()) return;
    this.observer.innerRunWaits(this.call, this.withOthers(checkpoint));
    this.execution.suspend();
  }

  pause(): void {
    if (!this.execution.isOpen()) return;
    for (const clock of this.clocks) clock.pause();
    this.observer.callPaused(this.call.id);
  }

  proceed(work: () => void): void {
    this.observer.callProceeds(this.call.id, () => {
      for (const clock of this.clocks) clock.proceed();
      work();
    });
  }

  private withOthers(checkpoint: Checkpoint): Checkpoint {
    this.runs.delete(checkpoint.runId);
    const beside = [...this.runs.values()];
    this.runs.set(checkpoint.runId, checkpoint);
    return beside.length > 0 ? { ...checkpoint, beside } : checkpoint;
  }
}
