import { asyncScheduler, Subscription } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import { TimeoutError } from '../core/errors.js';
import { maxTimerDelay } from '../core/options.js';

/** How long an answer may be silent. */
export interface IdleTimeoutOptions {
  /** Until the first value, in milliseconds. Default: no limit, models that think take minutes. */
  readonly first?: number | undefined;
  /** Between two values, in milliseconds. `false`: no limit. Default: 120000. */
  readonly each?: number | false | undefined;
}

/** The default of `each`. */
const defaultEach = 120_000;

/**
 * Errors when nothing comes for too long. Meant for the raw bytes, where a keep-alive comment counts as life.
 *
 * One timer runs at a time, and no value touches it: a value only notes the time, and the timer, when it fires, sleeps on for what is
 * left. RxJS's `timeout` schedules anew for each value, which was measured at about 2 us each.
 *
 * @param options The limits.
 * @param begins Whether a value begins the answer: until one does, `first` is the limit, from the subscription on. Default: any does.
 * @returns The source's values. Errors with TimeoutError.
 */
export function idleTimeout<T>(
  { first = Infinity, each = defaultEach }: IdleTimeoutOptions = {},
  begins: (value: T) => boolean = () => true,
): MonoTypeOperatorFunction<T> {
  const limits = { first, each: each === false ? Infinity : each };
  return createOperator((out) => {
    let phase: 'first' | 'each' = 'first';
    let last = asyncScheduler.now();
    let watching = Subscription.EMPTY;
    const watch = () => {
      const limit = limits[phase];
      if (limit === Infinity) return;
      const left = limit - (asyncScheduler.now() - last);
      if (left <= 0) {
        out.error(new TimeoutError(phase, limit));
        return;
      }
      watching = asyncScheduler.schedule(watch, Math.min(left, maxTimerDelay));
    };
    out.add(() => watching.unsubscribe());
    watch();
    return {
      next: (value) => {
        if (phase === 'first' && begins(value)) {
          phase = 'each';
          last = asyncScheduler.now();
          watching.unsubscribe();
          watch();
        }
        out.next(value);
        if (phase === 'each') last = asyncScheduler.now(); // after the emission: a reader that takes its time is not the server's silence
      },
    };
  });
}
