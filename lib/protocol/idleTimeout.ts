import { asyncScheduler, Subscription } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import { TimeoutError } from '../core/errors.js';
import { maxTimerDelay } from '../core/options.js';

/** How long a response may be silent. */
export interface IdleTimeoutOptions {
  /** Until the first value, in milliseconds. Default: no limit, since models that think take minutes. */
  readonly first?: number | undefined;
  /** Between two values, in milliseconds. `false`: no limit. Default: 120000. */
  readonly each?: number | false | undefined;
}

/** The default of `each`. */
const defaultEach = 120_000;

/**
 * Errors when the source is silent for too long. Meant for the bytes of a response, where a keep-alive comment is a
 * sign of life.
 *
 * Only the source's silence counts: the time that a subscriber takes to handle a value does not.
 *
 * One timer runs at a time, and values do not touch it: a value only records the time, and the timer, when it fires, is
 * scheduled again for the remaining time. RxJS's `timeout` schedules again for each value, which was measured at about
 * 2 us.
 *
 * @param options The limits.
 * @param begins Whether a value begins the response: until one does, `first` is the limit, measured from the
 * subscription. Default: any value does.
 * @returns The source's values. Errors with TimeoutError.
 */
export function idleTimeout<T>(
  { first = Infinity, each = defaultEach }: IdleTimeoutOptions = {},
  begins: (value: T) => boolean = () => true,
): MonoTypeOperatorFunction<T> {
  const limits = { first, each: each === false ? Infinity : each };
  return createOperator((out) => {
    let phase: 'first' | 'each' = 'first';
    let silentSince = asyncScheduler.now();
    let timer = Subscription.EMPTY;
    const startTimer = () => {
      const limit = limits[phase];
      if (limit === Infinity) return;
      const remaining = limit - (asyncScheduler.now() - silentSince);
      if (remaining <= 0) {
        out.error(new TimeoutError(phase, limit));
        return;
      }
      timer = asyncScheduler.schedule(startTimer, Math.min(remaining, maxTimerDelay));
    };
    out.add(() => timer.unsubscribe());
    startTimer();
    return {
      next(value) {
        if (phase === 'first' && begins(value)) {
          phase = 'each';
          silentSince = asyncScheduler.now();
          timer.unsubscribe();
          startTimer();
        }
        out.next(value);
        if (phase === 'each') silentSince = asyncScheduler.now(); // after the subscriber has handled it
      },
    };
  });
}
