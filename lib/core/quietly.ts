import { config, Observable, Subject, takeUntil } from 'rxjs';
import type { Subscription } from 'rxjs';

/**
 * A source whose teardown may throw without harm to the run around it.
 *
 * RxJS lets such an error escape into whoever completes or unsubscribes: it would stop a `mergeMap` in its tracks, and what comes next would never
 * start. It is told to `config.onUnhandledError`, where the application has set that; the source itself has answered, or nobody listens any more.
 */
export function quietly<T>(source: Observable<T>): Observable<T> {
  return new Observable<T>((out) => {
    const left = new Subject<void>(); // for a source that is left while it still subscribes
    let subscription = undefined as Subscription | undefined; // not yet: a synchronous source may be left before it has returned one
    out.add(() => {
      try {
        if (subscription) subscription.unsubscribe();
        else left.next();
      } catch (error) {
        config.onUnhandledError?.(error);
      }
    });
    subscription = source.pipe(takeUntil(left)).subscribe({
      next: (value) => out.next(value),
      error: (error: unknown) => out.error(error),
      complete: () => out.complete(),
    });
  });
}
