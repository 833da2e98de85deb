import { defer, mergeMap, Observable, timer } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { subscribeUntilClosed } from '../core/createOperator.js';
import { isRecord } from '../core/json/json.js';
import { maxTimerDelay } from '../core/options.js';

/** How a request is sent again. */
export interface RetryOptions {
  /** How many times, after the first. Default: 3. */
  readonly count?: number | undefined;
  /** The wait before the first retry, in milliseconds; it doubles with each. Default: 1000. */
  readonly initialDelay?: number | undefined;
  /** The longest wait, in milliseconds, also where the server asks for more. Default: 60000. */
  readonly maxDelay?: number | undefined;
  /** The part of a wait that is left to chance, from 0 to 1, so that many clients do not come back at once. Default: 0.5 (half to the whole wait). */
  readonly jitter?: number | undefined;
  /** Chance, from 0 to 1. Default: Math.random. */
  readonly random?: (() => number) | undefined;
}

/**
 * Subscribes again after an error that is `retryable`, as long as nothing was emitted.
 *
 * ```
 * source, 1st  --#            (retryable)
 * source, 2nd           -a-#  (retryable)
 * result       ----------a-#  what was shown is not shown twice
 * ```
 *
 * An error's `retryAfter` (milliseconds) is obeyed, up to `maxDelay`. Time runs by RxJS's schedulers, so it can be virtual.
 *
 * @param options How often and how long.
 * @returns The source's values. Errors with the last error.
 */
export function retryBeforeFirst<T>(options: RetryOptions = {}): MonoTypeOperatorFunction<T> {
  const { count = 3, maxDelay = 60_000 } = options;
  const attempt = (source: Observable<T>, done: number): Observable<T> =>
    source.pipe(
      catchBeforeFirst((error) => {
        if (done === count || !isRetryable(error)) return undefined;
        const wait = Math.min(asked(error) ?? backoff(options, done + 1), maxDelay, maxTimerDelay);
        return timer(wait).pipe(mergeMap(() => attempt(source, done + 1)));
      }),
    );
  return (source) => attempt(source, 0);
}

function isRetryable(error: unknown): error is Record<string, unknown> {
  return isRecord(error) && error['retryable'] === true;
}

function asked(error: Record<string, unknown>): number | undefined {
  const wait = error['retryAfter'];
  return typeof wait === 'number' && wait >= 0 ? wait : undefined;
}

function backoff(
  { initialDelay = 1000, maxDelay = 60_000, jitter = 0.5, random = Math.random }: RetryOptions,
  attempt: number,
): number {
  return Math.min(initialDelay * 2 ** (attempt - 1), maxDelay) * (1 - jitter * random());
}

/**
 * Goes on with another source after an error, as long as nothing was emitted.
 *
 * ```
 * source   --#       (instead gives other)
 * other      --a-|
 * result   ----a-|   what was shown is not shown twice
 * ```
 *
 * @param instead The other source for an error; undefined: the error stands.
 * @returns The source's values, or the other's.
 */
export function catchBeforeFirst<T>(
  instead: (error: unknown) => Observable<T> | undefined,
): MonoTypeOperatorFunction<T> {
  return (source) =>
    new Observable<T>((out) => {
      let emitted = false;
      let other: Observable<T> | undefined;
      // `tap` and `catchError` in one: on the way of every delta, a call less. As with them, the other source begins when the first is gone.
      const observer = {
        next(value: T) {
          emitted = true;
          out.next(value);
        },
        error(error: unknown) {
          if (emitted) out.error(error);
          else other = defer(() => instead(error) ?? new Observable<never>((failed) => failed.error(error)));
        },
        complete: () => out.complete(),
      };
      subscribeUntilClosed(out, source, observer, () => other?.subscribe(out));
    });
}
