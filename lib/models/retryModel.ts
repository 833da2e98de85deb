import { concat, defer, type Observable } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { callModelWrapper } from '../core/callWrapper.js';
import { deriveModel } from '../core/deriveModel.js';
import { errorToJson, isRetryable } from '../core/errors.js';
import { isRecord } from '../core/json/json.js';
import type { Model, ModelRequest } from '../core/model.js';
import { MAX_TIMER_DELAY, requireAnswer, requireNumber, requireSync } from '../core/options.js';
import { openResponse } from '../core/response.js';
import { continueAfterError } from '../protocol/continueAfterError.js';
import { announceRetry, retryDelay } from '../protocol/retryRequest.js';
import { retraction } from './retraction.js';

export interface RetryModelOptions {
  /** The number of retries after the first attempt. Default: 3. */
  readonly count?: number | undefined;
  /**
   * The delay before a retry, in milliseconds, or a function of the error and the number of the retry, from 1. Default:
   * the server's, otherwise 1 s, doubling, with jitter, at most 60 s. If the server asks for more, it fails at once.
   */
  readonly delay?: number | ((error: unknown, attempt: number) => number) | undefined;
  /**
   * Whether a turn is started over. Default: after a `retryable` error, and a silence in a response (TimeoutError
   * `each`).
   */
  readonly when?: ((error: unknown) => boolean) | undefined;
}

/**
 * A model that starts its turn over when it fails, also in the middle of its response.
 *
 * <span class="informal">A connection that breaks after half an answer is tried again, and nobody sees the text
 * twice.</span>
 *
 * ![](../../marbles/retryModel.svg)
 *
 * After a failure it emits `retract`, if the attempt had emitted anything: what was emitted since the turn began is
 * void. Then it emits `retry`, waits, and sends the request again. `retry` is the last event before the wait, so a view
 * can show its `delay` until the next event arrives. `retract` has the usage of the void attempt, if the provider had
 * reported it. After the last attempt, the error is emitted, and the text that had arrived stays valid.
 *
 * Only the turn that failed is repeated: earlier turns, and the tools that they have run, are not. (With `eagerTools`,
 * a tool may have started in the void attempt. It is then unsubscribed, and the new attempt may call it again.)
 * Unsubscribing ends the wait.
 *
 * A model over HTTP retries by itself, before its first chunk (`protocol/retryRequest.ts`); those retries come first,
 * for each attempt. With `{ retry: false }`, it does not.
 *
 * ```ts
 * const model = retryModel(openai('gpt-6.1-terra'), { count: 2, delay: 1000 });
 * createAgent({ model }).stream('Tell me a story.').subscribe((event) => {
 *   if (event.type === 'retry') console.log(`Retrying in ${event.delay / 1000} s`);
 * });
 * ```
 *
 * @param model The model. It may be left out.
 * @param options `count` (default: 3), `delay` (default: 1 s, doubling, with jitter), `when` (default: retryable
 * errors).
 * @returns A model with the provider, the name and the capabilities of `model`. Its streams fail with the error of the
 * last attempt. Without `model`, a function of a model, for rxjs's `pipe`.
 */
export function retryModel(model: Model, options?: RetryModelOptions): Model;
export function retryModel(options?: RetryModelOptions): (model: Model) => Model;
export function retryModel(...args: readonly unknown[]) {
  return callModelWrapper(args, retried);
}

function retried({ count = 3, delay, when = isTransient }: RetryModelOptions = {}) {
  requireNumber('count', count, 0);
  if (typeof delay !== 'function') requireNumber('delay', delay, 0);
  const delayBefore = (error: unknown, attempt: number): number | undefined => {
    const milliseconds = typeof delay === 'function' ? requireSync('delay', delay(error, attempt)) : delay;
    if (milliseconds === undefined) return retryDelay(error, attempt - 1);
    requireNumber('delay', milliseconds, 0);
    return Math.min(milliseconds, MAX_TIMER_DELAY);
  };
  const stream = (model: Model, request: ModelRequest): Observable<Chunk> =>
    defer(() => {
      let attempt = 0;
      const startOver = (error: unknown, hasEmitted: boolean): Observable<Chunk> | undefined => {
        if (attempt >= count || !requireAnswer('when', when(error))) return undefined;
        attempt++;
        const retry = { attempt, delay: delayBefore(error, attempt), error: errorToJson(error) };
        const next = announceRetry(openResponse(model, request), retry, request.stop);
        return next && concat(retraction(error, hasEmitted), next);
      };
      return openResponse(model, request).pipe(continueAfterError(() => startOver));
    });
  return (model: Model) => deriveModel(model, (request) => stream(model, request));
}

/** The request may succeed if it is sent again, also after a part of the response has been emitted. */
const isTransient = (error: unknown): boolean =>
  isRetryable(error) || (isRecord(error) && error['code'] === 'timeout' && error['phase'] === 'each');
