import { untracked, type Signal } from '@angular/core';
import { auditTime, filter, fromEvent, interval, merge, switchMap } from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import { MAX_TIMER_DELAY } from '../../core/options.js';

/** Changes within this time, in milliseconds, read a list once. */
const LIST_DELAY = 100;

/**
 * Reads a list of the user at each change, when the page gets the focus or is online again, and each `refresh`
 * milliseconds. Without a user, nothing is read. Subscribe outside of the zone: with zone.js, an interval inside of it
 * would keep the application from ever being stable.
 */
export function readList<T>(user: Signal<unknown>, refresh: number, list: Observable<T>): OperatorFunction<unknown, T> {
  const occasions = ['focus', 'online'].map((name) => fromEvent(globalThis, name));
  return (changes) =>
    merge(changes, ...occasions, interval(Math.min(refresh, MAX_TIMER_DELAY))).pipe(
      auditTime(LIST_DELAY),
      filter(() => untracked(user) !== undefined),
      switchMap(() => list),
    );
}
