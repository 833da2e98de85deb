import { AsyncSubject, mergeMap, Observable, using, type MonoTypeOperatorFunction, type Unsubscribable } from 'rxjs';
import { subscribeUntilClosed } from './createOperator.js';

/** Sources wait in the order in which they were subscribed; unsubscribing one that waits removes it. */
export interface Semaphore {
  /** The source has a place until it ends or is unsubscribed. */
  limit<T>(): MonoTypeOperatorFunction<T>;
  readonly isFull: boolean;
}

interface Place extends Unsubscribable {
  readonly granted: Observable<void>;
  /** Called after the teardown of the source. */
  release(): void;
}

/** `finalize` would not wait for what its source subscribes later (in a `mergeMap`). */
const occupied = <T>(place: Place, source: Observable<T>): Observable<T> =>
  new Observable((out) => {
    subscribeUntilClosed(out, source, { next: (value) => out.next(value) });
    out.add(() => place.release());
  });

export function createSemaphore(places: number): Semaphore {
  let taken = 0;
  let isGranting = false;
  const waiting = new Set<() => void>();

  function createPlace(): Place {
    const granted = new AsyncSubject<void>();
    const grant = () => {
      taken++;
      granted.next();
      granted.complete();
    };
    waiting.add(grant);
    grantWaiting();
    return {
      granted,
      unsubscribe: () => void waiting.delete(grant),
      release() {
        taken--;
        grantWaiting();
      },
    };
  }

  /** A loop: sources that end synchronously would otherwise start one another inside their teardown. */
  function grantWaiting() {
    if (isGranting) return;
    isGranting = true;
    try {
      for (const grant of waiting) {
        if (taken >= places) break;
        waiting.delete(grant);
        grant();
      }
    } finally {
      isGranting = false;
    }
  }

  return {
    limit: () => (source) =>
      using(createPlace, (resource) => {
        const place = resource as Place;
        return place.granted.pipe(mergeMap(() => occupied(place, source)));
      }),
    get isFull() {
      return taken >= places;
    },
  };
}
