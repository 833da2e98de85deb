import { asapScheduler, mergeMap, Observable, type MonoTypeOperatorFunction, type Subscriber } from 'rxjs';
import { subscribeUntilClosed } from './createOperator.js';

/**
 * Sources wait in the order in which they were subscribed; unsubscribing one that waits removes it. The next one begins
 * when a source ends. If a source is unsubscribed, it begins a microtask later: who leaves one may leave all of them.
 */
export interface Semaphore {
  /** The source has a place until it ends or is unsubscribed. For a closed subscriber, it is not subscribed. */
  limit<T>(): MonoTypeOperatorFunction<T>;
  readonly isFull: boolean;
}

export function createSemaphore(places: number): Semaphore {
  let taken = 0;
  let isGranting = false;
  const waiting = new Set<Subscriber<void>>();

  const granted = new Observable<void>((out) => {
    waiting.add(out);
    out.add(() => waiting.delete(out)); // at once, if `forkJoin` had failed before it subscribed this source
    grantWaiting();
  });

  /** `finalize` would not wait for what its source subscribes later (in a `mergeMap`). */
  const occupied = <T>(source: Observable<T>) =>
    new Observable<T>((out) => {
      if (out.closed) return; // the teardown of the subscriber itself has freed the place
      taken++;
      let hasEnded = false;
      subscribeUntilClosed(out, source, {
        next: (value) => out.next(value),
        error: (thrown) => {
          hasEnded = true;
          out.error(thrown);
        },
        complete: () => {
          hasEnded = true;
          out.complete();
        },
      });
      out.add(() => {
        taken--;
        if (hasEnded) grantWaiting();
        else if (waiting.size > 0) asapScheduler.schedule(grantWaiting);
      });
    });

  /** A loop: sources that end synchronously would otherwise start one another inside their teardown. */
  function grantWaiting() {
    if (isGranting) return;
    isGranting = true;
    try {
      for (const each of waiting) {
        if (taken >= places) break;
        each.next();
        each.complete(); // removes it
      }
    } finally {
      isGranting = false;
    }
  }

  return {
    limit: () => (source) => granted.pipe(mergeMap(() => occupied(source))),
    get isFull() {
      return taken >= places;
    },
  };
}
