import { auditTime, defer, filter, finalize, fromEvent, interval, merge, switchMap } from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import { MAX_TIMER_DELAY } from '../../core/options.js';

/** Changes within this time, in milliseconds, read a list once. */
const LIST_DELAY = 100;

/**
 * Reads a list of the user at each change, when the page gets the focus or is online again, and each `refresh`
 * milliseconds, but not while it is read. Subscribe outside of the zone: with zone.js, an interval inside of it would
 * keep the application from ever being stable.
 */
export function readList<T>(refresh: number, list: Observable<T>): OperatorFunction<unknown, T> {
  const occasions = ['focus', 'online'].map((name) => fromEvent(globalThis, name));
  return (changes) => {
    let isReading = false;
    const refreshed = interval(Math.min(refresh, MAX_TIMER_DELAY)).pipe(filter(() => !isReading));
    const read = defer(() => {
      isReading = true;
      return list.pipe(finalize(() => (isReading = false)));
    });
    return merge(changes, ...occasions, refreshed).pipe(
      auditTime(LIST_DELAY),
      switchMap(() => read),
    );
  };
}
