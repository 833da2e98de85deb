import { concat, concatAll, defaultIfEmpty, map, NEVER, of, takeUntil, timer } from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import type { FinishChunk, RetryChunk } from '../core/chunk.js';
import { errorToJson, isRetryable } from '../core/errors.js';
import { isRecord } from '../core/json/json.js';
import { MAX_TIMER_DELAY, requireNumber, requireSync } from '../core/options.js';
import { stoppedFinish } from '../core/response.js';
import { continueAfterError } from './continueAfterError.js';

export interface RetryOptions {
  readonly count?: number | undefined;
  /** The delay before the first retry, in milliseconds; it doubles with each. Default: 1000. */
  readonly initialDelay?: number | undefined;
  /** The longest delay, in milliseconds. If `Retry-After` is longer, the request fails at once. Default: 60000. */
  readonly maxDelay?: number | undefined;
  /** The random share of a delay, so that clients do not come back at once. Default: 0.5 (half to all of it). */
  readonly jitter?: number | undefined;
  readonly random?: (() => number) | undefined;
}

/** While nothing was emitted. A `retryAfter` over `maxDelay` fails at once: it would be refused earlier. */
export function retryRequest<T>(
  options: RetryOptions = {},
  stop?: Observable<unknown>,
): OperatorFunction<T, T | RetryChunk | FinishChunk> {
  const { random: _, ...numbers } = options;
  for (const [name, value] of Object.entries(numbers))
    requireNumber(`retry.${name}`, value, 0, name === 'jitter' ? 1 : Infinity);
  const { count = 3 } = numbers;
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

export function retryDelay(error: unknown, retries: number, options: RetryOptions = {}): number | undefined {
  const { initialDelay = 1000, maxDelay = 60_000, jitter = 0.5, random = Math.random } = options;
  const backoff = () =>
    Math.min(initialDelay * 2 ** retries, maxDelay) * (1 - jitter * requireSync('random', random()));
  const delay = requestedDelay(error) ?? backoff();
  return delay > maxDelay ? undefined : Math.round(Math.min(delay, MAX_TIMER_DELAY));
}

export function requestedDelay(error: unknown): number | undefined {
  const retryAfter = isRecord(error) ? error['retryAfter'] : undefined;
  return typeof retryAfter === 'number' && retryAfter >= 0 ? retryAfter : undefined;
}

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
