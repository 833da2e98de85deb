import { defer, identity, map, takeUntil, timer } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { TimeoutError } from './timeoutError.js';
import type { TimeoutPhase } from './timeoutError.js';
import { MAX_TIMER_DELAY, requireNumber } from './options.js';

/**
 * Limits the total time of a source.
 *
 * ```
 * source   -a---b---c---|
 * result   -a---b--#         limit: 8 ms
 * ```
 *
 * RxJS's `timeout({ each })` restarts with each value, so a source that keeps emitting would never time out.
 *
 * @param phase What is limited: the error names it.
 * @param limit The longest time from the subscription to the end, in milliseconds. Default: no limit.
 * @returns The source's values. Fails with TimeoutError, and with ConfigurationError `options` for a limit that is not
 * a number.
 */
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
