import { defer, identity, map, NEVER, takeUntil, throwError, timeout, timer } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { TimeoutError, type TimeoutPhase } from './timeoutError.js';
import { MAX_TIMER_DELAY, requireNumber } from './options.js';

/** RxJS's `timeout({ each })` restarts with each value: a source that keeps emitting would never time out. */
export function timeLimit<T>(phase: TimeoutPhase, limit = Infinity): MonoTypeOperatorFunction<T> {
  if (limit === Infinity) return identity;
  const exceeded = defer(() => {
    requireNumber(`timeout.${phase}`, limit, 0);
    return timer(Math.min(limit, MAX_TIMER_DELAY));
  }).pipe(
    map(() => {
      throw new TimeoutError(phase, limit);
    }),
  );
  return takeUntil(exceeded);
}

/** Fails if `who` has not answered after so many milliseconds. */
export const answerWithin = <T>(who: string, first: number): MonoTypeOperatorFunction<T> =>
  timeout({ first, with: () => throwError(() => new Error(`${who} has not answered for ${first / 1000} s.`)) });

export const after = (milliseconds: number): Observable<unknown> =>
  milliseconds === Infinity ? NEVER : timer(Math.min(milliseconds, MAX_TIMER_DELAY));
