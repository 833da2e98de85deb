import { asapScheduler, asyncScheduler } from 'rxjs';
import type { SchedulerLike, Subscriber } from 'rxjs';

/** Decides when a snapshot of a growing value is emitted. */
export interface SnapshotPacer {
  /** Notes that the value has grown. */
  grown(): void;
  /** Emits a snapshot now if the value has grown since the last one. */
  flush(): void;
  /** Forgets that the value has grown. */
  drop(): void;
}

/** The maximum time, in milliseconds, between the growth of the value and the next snapshot. */
const MAX_WAIT = 100;

/**
 * Creates a pacer. When a snapshot is due, the pacer emits it at the end of the current burst (the deltas of one
 * network read arrive in one burst). It waits no longer than 100 ms after the value has grown.
 *
 * @param out The output; when it closes, the timers stop.
 * @param isDue Whether a snapshot is now worth its cost.
 * @param emitSnapshot Emits the snapshot.
 */
export function createSnapshotPacer(
  out: Subscriber<unknown>,
  isDue: () => boolean,
  emitSnapshot: () => void,
): SnapshotPacer {
  let hasGrown = false;
  const flush = () => {
    if (!hasGrown) return;
    hasGrown = false;
    emitSnapshot();
  };
  const burstEnd = createTimer(out, asapScheduler, 0, flush);
  const deadline = createTimer(out, asyncScheduler, MAX_WAIT, flush);
  return {
    grown() {
      hasGrown = true;
      if (burstEnd.isRunning()) return;
      if (isDue()) burstEnd.start();
      // The timer is not stopped when a snapshot is emitted earlier: a timer per snapshot would cost more than most
      // snapshots.
      else if (!deadline.isRunning()) deadline.start();
    },
    flush,
    drop() {
      hasGrown = false;
    },
  };
}

interface Timer {
  isRunning(): boolean;
  start(): void;
}

/**
 * Creates a timer that can be started again after it has fired. It reuses one scheduler action: a new action takes 1.5
 * times as long, which is more than most snapshots cost (measured).
 */
function createTimer(out: Subscriber<unknown>, scheduler: SchedulerLike, delay: number, fire: () => void): Timer {
  let isRunning = false;
  let reschedule: (() => void) | undefined;
  return {
    isRunning: () => isRunning,
    start() {
      isRunning = true;
      if (reschedule) {
        reschedule();
        return;
      }
      out.add(
        scheduler.schedule(function () {
          reschedule ??= () => this.schedule(undefined, delay);
          isRunning = false;
          fire();
        }, delay),
      );
    },
  };
}
