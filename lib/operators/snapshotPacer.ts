import { asapScheduler, asyncScheduler } from 'rxjs';
import type { SchedulerAction, SchedulerLike, Subscriber } from 'rxjs';

/** A value that grows, of which snapshots are emitted. */
export interface Growing {
  /** Whether a snapshot is now worth its cost. */
  isDue(): boolean;
  /** Emits a snapshot. */
  emitSnapshot(): void;
}

/** The maximum time, in milliseconds, between the growth of the value and the next snapshot. */
const MAX_WAIT = 100;

/**
 * Decides when a snapshot of a growing value is emitted. When a snapshot is due, it is emitted at the end of the
 * current burst (the deltas of one network read arrive in one burst). It waits no longer than 100 ms after the value
 * has grown.
 */
export class SnapshotPacer {
  private hasGrown = false;
  private readonly burstEnd: Timer;
  private readonly deadline: Timer;

  /**
   * @param out The output; when it closes, the timers stop.
   * @param growing The value.
   */
  constructor(
    out: Subscriber<unknown>,
    private readonly growing: Growing,
  ) {
    this.burstEnd = new Timer(out, asapScheduler, 0, this);
    this.deadline = new Timer(out, asyncScheduler, MAX_WAIT, this);
  }

  /** Notes that the value has grown. */
  grown(): void {
    this.hasGrown = true;
    if (this.burstEnd.isRunning) return;
    if (this.growing.isDue()) this.burstEnd.start();
    // The timer is not stopped when a snapshot is emitted earlier: a timer per snapshot would cost more than most
    // snapshots.
    else if (!this.deadline.isRunning) this.deadline.start();
  }

  /** Emits a snapshot now if the value has grown since the last one. */
  flush(): void {
    if (!this.hasGrown) return;
    this.hasGrown = false;
    this.growing.emitSnapshot();
  }

  /** Forgets that the value has grown. */
  drop(): void {
    this.hasGrown = false;
  }
}

/**
 * A timer that flushes a pacer, and can be started again after that. It reuses one scheduler action: a new action takes
 * 1.5 times as long, which is more than most snapshots cost (measured).
 */
class Timer {
  isRunning = false;
  private action: SchedulerAction<Timer> | undefined;

  constructor(
    private readonly out: Subscriber<unknown>,
    private readonly scheduler: SchedulerLike,
    private readonly delay: number,
    private readonly pacer: SnapshotPacer,
  ) {}

  start(): void {
    this.isRunning = true;
    if (this.action) this.action.schedule(this, this.delay);
    else this.out.add(this.scheduler.schedule(fire, this.delay, this));
  }

  fire(action: SchedulerAction<Timer>): void {
    this.action = action;
    this.isRunning = false;
    this.pacer.flush();
  }
}

function fire(this: SchedulerAction<Timer>, timer: Timer | undefined): void {
  timer?.fire(this);
}
