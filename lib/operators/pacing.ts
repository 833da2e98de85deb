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
  let hasGrown = false;
  let soon: Subscription | undefined;
  let late: Subscription | undefined;
  const flush = () => {
    soon?.unsubscribe();
    soon = undefined;
    if (!hasGrown) return;
    hasGrown = false;
    show();
  };
  const drop = () => {
    soon?.unsubscribe();
    late?.unsubscribe();
    soon = undefined;
    late = undefined;
    hasGrown = false;
  };
  out.add(drop);
  return {
    grown() {
      hasGrown = true;
      if (soon) return;
      if (isDue()) soon = asapScheduler.schedule(flush);
      // It is left running when a snapshot comes first: a timer for each would cost more than most snapshots.
      else
        late ??= asyncScheduler.schedule(() => {
          late = undefined;
          flush();
        }, LATEST);
    },
    flush,
    drop,
  };
}
