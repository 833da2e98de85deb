import { asapScheduler, asyncScheduler } from 'rxjs';
import type { SchedulerLike, Subscriber } from 'rxjs';

/** Decides when what has grown is shown. */
export interface SnapshotPacer {
  /** It has grown. */
  grown(): void;
  /** Shows it now, if it has grown since it was shown. */
  flush(): void;
  /** Forgets that it has grown. */
  drop(): void;
}

/** For so long, in milliseconds, a snapshot that is not yet due waits for one that is. */
const LATEST = 100;

/**
 * Paces snapshots: one at the end of the burst in which they are due (the deltas of a network read come in one burst), and no later than 100 ms after the
 * first growth that it shows.
 *
 * @param out Whose end ends it all.
 * @param isDue Whether a snapshot now is worth what it costs.
 * @param show Emits it.
 */
export function createSnapshotPacer(out: Subscriber<unknown>, isDue: () => boolean, show: () => void): SnapshotPacer {
  let hasGrown = false;
  const flush = () => {
    if (!hasGrown) return;
    hasGrown = false;
    show();
  };
  const soon = createAlarm(out, asapScheduler, 0, flush);
  const late = createAlarm(out, asyncScheduler, LATEST, flush);
  return {
    grown() {
      hasGrown = true;
      if (soon.isSet()) return;
      if (isDue()) soon.set();
      // It is left running when a snapshot comes first: a timer for each would cost more than most snapshots.
      else if (!late.isSet()) late.set();
    },
    flush,
    drop() {
      hasGrown = false;
    },
  };
}

interface Alarm {
  isSet(): boolean;
  set(): void;
}

/** Can be set again whenever it has rung, with one action for all times: measured, a new one costs half as much again, and more than most snapshots. */
function createAlarm(out: Subscriber<unknown>, scheduler: SchedulerLike, delay: number, ring: () => void): Alarm {
  let isSet = false;
  let again: (() => void) | undefined;
  return {
    isSet: () => isSet,
    set() {
      isSet = true;
      if (again) again();
      else
        out.add(
          scheduler.schedule(function () {
            again ??= () => this.schedule(undefined, delay);
            isSet = false;
            ring();
          }, delay),
        );
    },
  };
}
