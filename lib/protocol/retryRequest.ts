import { concat, concatAll, defaultIfEmpty, map, NEVER, of, takeUntil, timer } from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import type { FinishChunk, RetryChunk } from '../core/chunk.js';
import { errorToJson, isRetryable } from '../core/errors.js';
import { isRecord } from '../core/json/json.js';
import { MAX_TIMER_DELAY, requireNumber } from '../core/options.js';
import { stoppedFinish } from '../core/response.js';
import { continueAfterError } from './continueAfterError.js';

/** How a failed request is retried. */
export interface RetryOptions {
  /** The number of retries after the first attempt. Default: 3. */
  readonly count?: number | undefined;
  /** The delay before the first retry, in milliseconds; it doubles with each. Default: 1000. */
  readonly initialDelay?: number | undefined;
  /**
   * The longest delay, in milliseconds. If the server asks for more (`Retry-After`), the request fails at once, and the
   * error has its `retryAfter`. Default: 60000.
   */
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
 * Resubscribes to the source after a `retryable` error, as long as nothing was emitted. A `retry` chunk announces each
 * retry, before its delay.
 *
 * ```
 * source, 1st  --#            (retryable)
 * source, 2nd           -a-#  (retryable)
 * result       --r-------a-#  emitted values are not repeated
 * ```
 *
 * An error's `retryAfter` (milliseconds) is obeyed. If it is longer than `maxDelay`, the error is emitted at once: the
 * server would refuse an earlier request. Time runs on RxJS's schedulers, so it can be virtual.
 *
 * @param options How often, and after which delays.
 * @param stop Ends a delay with its first value: a `finish` takes the place of the retry. Default: never.
 * @returns The source's values, and the `retry` chunks. Fails with the last error.
 * @throws ConfigurationError `options` if a number is out of its range.
 */
export function retryRequest<T>(
  options: RetryOptions = {},
  stop?: Observable<unknown>,
): OperatorFunction<T, T | RetryChunk | FinishChunk> {
  const { count = 3, initialDelay, maxDelay, jitter } = options;
  for (const [name, value] of Object.entries({ count, initialDelay, maxDelay }))
    requireNumber(`retry.${name}`, value, 0);
  requireNumber('retry.jitter', jitter, 0, 1);
  return (source: Observable<T | RetryChunk | FinishChunk>) =>
    source.pipe(
      continueAfterError(() => {
        let retries = 0;
        return (error, hasEmitted) => {
          if (hasEmitted || retries >= count || !isRetryable(error)) return undefined;
          const delay = retryDelay(error, retries, options);
          return announceRetry(source, { attempt: ++retries, delay, error: errorToJson(error) }, stop);
        };
      }),
    );
}

/**
 * Returns the delay before a retry, in milliseconds: the server's, otherwise a delay that doubles with each retry.
 * Undefined if the server asks for more than the longest delay.
 *
 * @param error The error after which the request is sent again.
 * @param retries The number of retries before this one.
 * @param options The limits.
 */
export function retryDelay(error: unknown, retries: number, options: RetryOptions = {}): number | undefined {
  const { initialDelay = 1000, maxDelay = 60_000, jitter = 0.5, random = Math.random } = options;
  const backoff = () => Math.min(initialDelay * 2 ** retries, maxDelay) * (1 - jitter * random());
  const delay = requestedDelay(error) ?? backoff();
  return delay > maxDelay ? undefined : Math.round(Math.min(delay, MAX_TIMER_DELAY));
}

/** The delay that the server asks for, in milliseconds. */
export function requestedDelay(error: unknown): number | undefined {
  const retryAfter = isRecord(error) ? error['retryAfter'] : undefined;
  return typeof retryAfter === 'number' && retryAfter >= 0 ? retryAfter : undefined;
}

/**
 * Emits a `retry` chunk, waits for its delay, and subscribes to the source. Returns undefined if there is no delay: the
 * server asks for a longer one than is allowed.
 *
 * @param stop Ends the delay: a `finish` takes the place of the source. Default: never.
 */
export function announceRetry<T>(
  source: Observable<T>,
  { delay, ...retry }: Omit<RetryChunk, 'type' | 'delay'> & { readonly delay: number | undefined },
  stop: Observable<unknown> = NEVER,
): Observable<T | RetryChunk | FinishChunk> | undefined {
  if (delay === undefined) return undefined;
  const notice = of<RetryChunk>({ type: 'retry', delay, ...retry });
  const waited = timer(delay).pipe(
    map(() => source),
    takeUntil(stop),
  );
  return concat(notice, waited.pipe(defaultIfEmpty(of(stoppedFinish)), concatAll()));
}
