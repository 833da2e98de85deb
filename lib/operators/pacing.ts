import { asapScheduler, asyncScheduler } from 'rxjs';
import type { Subscriber, Subscription } from 'rxjs';

/** Decides when what has grown is shown. */
export interface Pacer {
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
export function createPacer(out: Subscriber<unknown>, isDue: () => boolean, show: () => void): Pacer {
  let soon: Subscription | undefined;
  let late: Subscription | undefined;
  const drop = () => {
    for (const scheduled of [soon, late]) {
      if (!scheduled) continue;
      scheduled.unsubscribe();
      out.remove(scheduled);
    }
    soon = undefined;
    late = undefined;
  };
  const shown = () => {
    drop();
    show();
  };
  return {
    grown() {
      if (soon) return;
      if (isDue()) out.add((soon = asapScheduler.schedule(shown)));
      else if (!late) out.add((late = asyncScheduler.schedule(shown, LATEST)));
    },
    flush() {
      if (soon ?? late) shown();
    },
    drop,
  };
}
