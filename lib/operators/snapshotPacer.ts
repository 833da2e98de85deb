import { asapScheduler, asyncScheduler, type SchedulerAction, type SchedulerLike, type Subscriber } from 'rxjs';

export interface Growing {
  isDue(): boolean;
  emitSnapshot(): void;
}

/** Milliseconds between the growth of the value and the next snapshot. */
const MAX_WAIT = 100;

/** A snapshot follows a burst (the deltas of one network read), at most 100 ms after the growth. */
export class SnapshotPacer {
  private hasGrown = false;
  private readonly burstEnd: Timer;
  private readonly deadline: Timer;

  constructor(
    out: Subscriber<unknown>,
    private readonly growing: Growing,
  ) {
    this.burstEnd = new Timer(out, asapScheduler, 0, this);
    this.deadline = new Timer(out, asyncScheduler, MAX_WAIT, this);
  }

  grown(): void {
    this.hasGrown = true;
    if (this.burstEnd.isRunning) return;
    if (this.growing.isDue()) this.burstEnd.start();
    // The timer is not stopped when a snapshot is emitted earlier: a timer per snapshot would cost more than most
    // snapshots.
    else if (!this.deadline.isRunning) this.deadline.start();
  }

  flush(): void {
    if (!this.hasGrown) return;
    this.hasGrown = false;
    this.growing.emitSnapshot();
  }

  drop(): void {
    this.hasGrown = false;
  }
}

/** A new scheduler action takes 1.5 times as long as a reused one, more than most snapshots cost (measured). */
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
