import { fromEvent, map, startWith, filter, takeUntil } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';

/**
 * Unsubscribes the source when a signal is aborted, and fails with the signal's reason, as `fetch` does. If the signal
 * is already aborted, the source is not subscribed. The listener is removed when the source ends.
 */
export function leaveOn<T>(signal: AbortSignal): MonoTypeOperatorFunction<T> {
  const aborted = fromEvent(signal, 'abort').pipe(
    startWith(undefined), // it may be aborted already
    filter(() => signal.aborted),
    map(() => {
      throw signal.reason;
    }),
  );
  return takeUntil(aborted);
}
