import { defer, mergeMap, Observable, timer } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { subscribeUntilClosed } from '../core/createOperator.js';
import { isRecord } from '../core/json/json.js';
import { maxTimerDelay } from '../core/options.js';

/** How a failed request is retried. */
export interface RetryOptions {
  /** The number of retries after the first attempt. Default: 3. */
  readonly count?: number | undefined;
  /** The delay before the first retry, in milliseconds; it doubles with each. Default: 1000. */
  readonly initialDelay?: number | undefined;
  /** The longest delay, in milliseconds, also where the server asks for more. Default: 60000. */
  readonly maxDelay?: number | undefined;
  /**
   * The random share of a delay, from 0 to 1, so that many clients do not come back at once. Default: 0.5 (from half of
   * the delay to all of it).
   */
  readonly jitter?: number | undefined;
  /** Returns a random number from 0 to 1. Default: Math.random. */
  readonly random?: (() => number) | undefined;
}

/**
 * Resubscribes to the source after a `retryable` error, as long as nothing was emitted.
 *
 * ```
 * source, 1st  --#            (retryable)
 * source, 2nd           -a-#  (retryable)
 * result       ----------a-#  emitted values are not repeated
 * ```
 *
 * An error's `retryAfter` (milliseconds) is obeyed, up to `maxDelay`. Time runs on RxJS's schedulers, so it can be
 * virtual.
 *
 * @param options How often, and after which delays.
 * @returns The source's values. Errors with the last error.
 */
export function retryBeforeFirst<T>(options: RetryOptions = {}): MonoTypeOperatorFunction<T> {
  const { count = 3, maxDelay = 60_000 } = options;
  const attempt = (source: Observable<T>, retries: number): Observable<T> =>
    source.pipe(
      catchBeforeFirst((error) => {
        if (retries === count || !isRetryable(error)) return undefined;
        const delay = Math.min(requestedDelay(error) ?? backoff(options, retries), maxDelay, maxTimerDelay);
        return timer(delay).pipe(mergeMap(() => attempt(source, retries + 1)));
      }),
    );
  return (source) => attempt(source, 0);
}

function isRetryable(error: unknown): error is Record<string, unknown> {
  return isRecord(error) && error['retryable'] === true;
}

function requestedDelay({ retryAfter }: { readonly retryAfter?: unknown }): number | undefined {
  return typeof retryAfter === 'number' && retryAfter >= 0 ? retryAfter : undefined;
}

function backoff(
  { initialDelay = 1000, maxDelay = 60_000, jitter = 0.5, random = Math.random }: RetryOptions,
  retries: number,
): number {
  return Math.min(initialDelay * 2 ** retries, maxDelay) * (1 - jitter * random());
}

/**
 * Continues with another source after an error, as long as nothing was emitted.
 *
 * ```
 * source   --#
 * other      --a-|   what `select` returns for the error
 * result   ----a-|
 * ```
 *
 * @param select Returns the other source for an error, or undefined if there is none: the error is then emitted.
 * @returns The values of the source, or of the other one.
 */
export function catchBeforeFirst<T>(
  select: (error: unknown) => Observable<T> | undefined,
): MonoTypeOperatorFunction<T> {
  return (source) =>
    new Observable<T>((out) => {
      let emitted = false;
      let other: Observable<T> | undefined;
      // `tap` and `catchError` in one: a call less on the path of every delta. As with them, the other source is
      // subscribed when the first one is gone.
      const observer = {
        next(value: T) {
          emitted = true;
          out.next(value);
        },
        error(error: unknown) {
          if (emitted) out.error(error);
          else other = defer(() => select(error) ?? new Observable<never>((failed) => failed.error(error)));
        },
        complete: () => out.complete(),
      };
      subscribeUntilClosed(out, source, observer, () => other?.subscribe(out));
    });
}
