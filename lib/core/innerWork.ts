import type { Checkpoint } from './checkpoint.js';

/** What a call, or a part of it that has a place of `limitTool`, does inside: it waits when all of this waits. */
export abstract class InnerWork {
  /** The inner runs that wait, and do not go on in memory, by their order. */
  protected readonly suspended = new Map<number | undefined, Checkpoint>();
  private readonly working = new Set<object>();

  /** Begins work that a suspension would interrupt. Returns its end. */
  begin(): () => void {
    const work = {};
    this.working.add(work);
    return () => {
      this.working.delete(work);
      this.checkAll();
    };
  }

  /** An inner run waits: it needs nothing of this process any more. */
  suspend(checkpoint: Checkpoint): void {
    this.suspended.set(checkpoint.task?.order, checkpoint);
    this.checkAll();
  }

  /** Such a run goes on, by calling a function, as soon as it may. */
  goOn(order: number, work: () => void): void {
    this.suspended.delete(order);
    work();
  }

  /** Called when nothing works. `last` is the inner run that has changed last. */
  protected abstract suspendAll(last: Checkpoint): void;

  private checkAll(): void {
    const last = [...this.suspended.values()].at(-1);
    if (last && this.working.size === 0) this.suspendAll(last);
  }
}
