import type { Approve } from '../../core/approval.js';
import type { Checkpoint, ResumedRun } from '../../core/checkpoint.js';
import type { NestedEvent, RunEvent, StreamEvent } from '../../core/event.js';
import type { ToolCallPart } from '../../core/message.js';
import type { InnerRunControl, OuterRun } from '../../core/nested.js';
import type { ToolExecution } from './toolExecution.js';

/** The settings that an inner run takes from the run of its call. */
export interface NestedSettings {
  readonly approve: Approve | undefined;
  readonly checkpoints: boolean;
}

/** Receives what an inner run reports. */
export interface NestedObserver {
  emit(event: NestedEvent): void;
  /** The inner run of a call has reached a checkpoint. */
  innerRunChanged(id: string, checkpoint: Checkpoint): void;
  innerRunWaits(call: ToolCallPart, checkpoint: Checkpoint): void;
}

export class NestedRun implements OuterRun {
  wrapAgent: OuterRun['wrapAgent'];
  inner: InnerRunControl | undefined;

  constructor(
    readonly call: ToolCallPart,
    private readonly settings: NestedSettings,
    private readonly execution: ToolExecution,
    private readonly observer: NestedObserver,
    readonly resumed: ResumedRun | undefined,
  ) {}

  get checkpoints(): boolean {
    return this.settings.checkpoints;
  }

  get approve(): Approve | undefined {
    return this.settings.approve;
  }

  emit(event: StreamEvent): void {
    const { id, name } = this.call;
    if (this.execution.isOpen()) this.observer.emit({ type: 'nested', id, name, event: event as RunEvent });
  }

  keep(checkpoint: Checkpoint): void {
    if (this.execution.isOpen()) this.observer.innerRunChanged(this.call.id, checkpoint);
  }

  suspend(checkpoint: Checkpoint): void {
    if (!this.execution.isOpen()) return;
    this.observer.innerRunWaits(this.call, checkpoint);
    this.execution.suspend();
  }
}
