import { Observable } from 'rxjs';
import { reportUnhandled } from './createOperator.js';

/**
 * Isolates a run from the errors of a source's teardown.
 *
 * RxJS throws such an error to the caller of `complete` or `unsubscribe`: it would interrupt a `mergeMap`, whose next
 * inner source would never start. `ignoreTeardownErrors` reports the error as RxJS reports every unhandled error:
 * asynchronously, to `config.onUnhandledError`, or, without that handler, as an uncaught exception. No notification is
 * lost: when the teardown runs, the source has ended or has been unsubscribed.
 */
export function ignoreTeardownErrors<T>(source: Observable<T>): Observable<T> {
  return new Observable<T>((out) => {
    // The subscriber `inner` exists before the source is subscribed, so it can be unsubscribed while `subscribe` still
    // runs.
    new Observable<T>((inner) => {
      out.add(() => attempt(() => inner.unsubscribe()));
      if (!out.closed) attempt(() => void source.subscribe(inner)); // throws if a synchronous teardown throws
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
    reportUnhandled(thrown);
  }
}
