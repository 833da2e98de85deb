import { filter, fromEvent, map, share, startWith, takeUntil } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';

/** Fails with the signal's reason, as `fetch` does; if it is already aborted, the source is not subscribed. */
export function leaveOn<T>(signal: AbortSignal): MonoTypeOperatorFunction<T> {
  const aborted = abortEvents(signal).pipe(
    startWith(undefined), // it may be aborted already
    filter(() => signal.aborted),
    map(() => {
      throw signal.reason;
    }),
  );
  return takeUntil(aborted);
}

const shared = new WeakMap<AbortSignal, Observable<unknown>>();

/** All runs share one listener: Node warns of a leak when a signal has more than ten. */
function abortEvents(signal: AbortSignal): Observable<unknown> {
  const events = shared.get(signal) ?? fromEvent(signal, 'abort').pipe(share());
  shared.set(signal, events);
  return events;
}
