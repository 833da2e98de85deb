import { mergeMap, Observable, type MonoTypeOperatorFunction, type Subscriber } from 'rxjs';
import { subscribeUntilClosed } from './createOperator.js';

/** Sources wait in the order in which they were subscribed; unsubscribing one that waits removes it. */
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
      subscribeUntilClosed(out, source, { next: (value) => out.next(value) });
      out.add(() => {
        taken--;
        grantWaiting();
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
