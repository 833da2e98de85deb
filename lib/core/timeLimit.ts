import { asyncScheduler, identity } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { createOperator } from './createOperator.js';
import { TimeoutError } from './timeoutError.js';
import type { TimeoutPhase } from './timeoutError.js';
import { maxTimerDelay, requireNumber } from './options.js';

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
 * @returns The source's values. Errors with TimeoutError, and with ConfigurationError `options` for a limit that is not
 * a number.
 */
export function timeLimit<T>(phase: TimeoutPhase, limit = Infinity): MonoTypeOperatorFunction<T> {
  if (limit === Infinity) return identity;
  return createOperator((out) => {
    requireNumber(`timeout.${phase}`, limit, 0);
    // Before the source is subscribed, so that its own timers of the same frame come later.
    out.add(asyncScheduler.schedule(() => out.error(new TimeoutError(phase, limit)), Math.min(limit, maxTimerDelay)));
    return { next: (value) => out.next(value) };
  });
}
