import { Observable } from 'rxjs';

/**
 * A source whose teardown may throw without harm to the run around it.
 *
 * RxJS lets such an error escape to whatever completes or unsubscribes: it would stop a `mergeMap` halfway, and its
 * next inner source would never start. Here it is reported as RxJS reports every unhandled error: asynchronously, to
 * `config.onUnhandledError`, or thrown where there is none. By then the source has emitted everything, or its
 * subscriber has left.
 */
export function ignoreTeardownErrors<T>(source: Observable<T>): Observable<T> {
  return new Observable<T>((out) => {
    // The subscriber exists before the source is subscribed, so that it can be left while the source subscribes.
    new Observable<T>((inner) => {
      out.add(() => attempt(() => inner.unsubscribe()));
      if (!out.closed) attempt(() => void source.subscribe(inner)); // throws if a synchronous source's teardown does
    }).subscribe({
      next: (value) => out.next(value),
      error: (error: unknown) => out.error(error),
      complete: () => out.complete(),
    });
  });
}

function attempt(work: () => void): void {
  try {
    work();
  } catch (thrown) {
    new Observable((report) => report.error(thrown)).subscribe();
  }
}
