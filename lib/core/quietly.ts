import { config, Observable } from 'rxjs';

/**
 * A source whose teardown may throw without harm to the run around it.
 *
 * RxJS lets such an error escape into whoever completes or unsubscribes: it would stop a `mergeMap` in its tracks, and what comes next would never
 * start. It is told to `config.onUnhandledError`, where the application has set that; the source itself has answered, or nobody listens any more.
 */
export function quietly<T>(source: Observable<T>): Observable<T> {
  return new Observable<T>((out) => {
    // As in `subscribeWith`, the subscriber is known before the source is subscribed: it may be left while it still subscribes.
    new Observable<T>((inner) => {
      out.add(() => {
        try {
          inner.unsubscribe();
        } catch (error) {
          config.onUnhandledError?.(error);
        }
      });
      source.subscribe(inner);
    }).subscribe({
      next: (value) => out.next(value),
      error: (error: unknown) => out.error(error),
      complete: () => out.complete(),
    });
  });
}
