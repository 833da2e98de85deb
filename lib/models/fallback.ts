import { asyncScheduler, concat, defer, EMPTY, of, type Observable, type TimestampProvider } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { errorToJson } from '../core/errors.js';
import { isRecord } from '../core/json/json.js';
import type { Model } from '../core/model.js';
import { requireAnswer, requireNumber } from '../core/options.js';
import { continueAfterError } from '../protocol/continueAfterError.js';
import { requestedDelay } from '../protocol/retryRequest.js';
import { combinedError, compositeModel, firstModel, streamOf } from './composite.js';
import { retraction } from './retraction.js';

export interface FallbackOptions {
  /** Whether the next model is asked after this error. Default: after any error. */
  readonly when?: ((error: unknown) => boolean) | undefined;
  /**
   * How long a model that failed is asked last, in milliseconds, or as its server says (`retryAfter`); shared by all
   * runs. An error of the request itself (400) does not count. Default: 0, each turn begins with the first model.
   */
  readonly cooldown?: number | undefined;
  /** The clock of `cooldown`. Default: `asyncScheduler`. */
  readonly scheduler?: TimestampProvider | undefined;
}

/**
 * A model that asks the next model when one fails, also in the middle of a response.
 *
 * <span class="informal">Plan B for a provider that is down.</span>
 *
 * ![](../../marbles/fallback.svg)
 *
 * If the model that fails has emitted anything in this turn, a `retract` voids it, with its usage if the provider had
 * reported it. A `retry` without a delay announces the next model, with the error, so that a view can show why nothing
 * arrives. A model that cannot serve the request (by its `capabilities`) is skipped without a notice. Each turn of a
 * run begins with the first model again, unless it has failed within the time of `cooldown`.
 *
 * The events say which model answers: metadata `{ answeredBy: { provider, name } }` precedes its first chunk, and is in
 * `turn.metadata`. Each model encodes the request itself: data that only one provider understands is sent back only to
 * that provider.
 *
 * ```ts
 * const model = fallback([openai('gpt-6.1-terra'), anthropic('claude-sonnet-5-5')]);
 * ```
 *
 * @param models The models, in the order in which they are asked.
 * @param options `when` (default: after any error), `cooldown` in milliseconds (default: 0), `scheduler`.
 * @returns A model. It has the provider and the name of the first model, and the capabilities that all models have. Its
 * streams fail with an AllModelsFailedError, whose `errors` are those of the models, or with the error for which
 * `when` returned false.
 * @throws ConfigurationError `model` if there are no models, and `options` if `cooldown` is not a number.
 */
export function fallback(
  models: readonly Model[],
  { when = () => true, cooldown = 0, scheduler = asyncScheduler }: FallbackOptions = {},
): Model {
  const first = firstModel('fallback', models);
  requireNumber('cooldown', cooldown, 0);
  /** A model is asked after the others until then. */
  const restsUntil = new Map<Model, number>();
  const byReadiness = (): readonly Model[] => {
    const now = scheduler.now();
    const isResting = (model: Model) => (restsUntil.get(model) ?? now) > now;
    return [...models.filter((model) => !isResting(model)), ...models.filter(isResting)];
  };
  const rest = (model: Model, error: unknown): void => {
    if (cooldown > 0 && !isErrorOfRequest(error))
      restsUntil.set(model, scheduler.now() + Math.max(cooldown, requestedDelay(error) ?? 0));
  };
  return compositeModel(first, models, (request) =>
    defer(() => {
      const order = byReadiness();
      const errors: unknown[] = [];
      let asked = order[0] ?? first;
      let attempt = 0;
      const next = (error: unknown, hasEmitted: boolean): Observable<Chunk> | undefined => {
        if (!requireAnswer('when', when(error))) return undefined;
        rest(asked, error);
        errors.push(error);
        const model = order[errors.length];
        if (!model) throw combinedError(order, errors);
        asked = model;
        const notice = isSkipped(error) ? EMPTY : createNotice(error, ++attempt, model);
        return concat(retraction(error, hasEmitted), notice, streamOf(model, request));
      };
      return streamOf(asked, request).pipe(continueAfterError(() => next));
    }),
  );
}

/** The model was never asked, since it cannot serve the request. */
const isSkipped = (error: unknown): boolean => isRecord(error) && error['subject'] === 'capability';

/** The model is not down, so another request may succeed. */
const isErrorOfRequest = (error: unknown): boolean =>
  isRecord(error) &&
  (requestCodes.has(error['code']) || (error['code'] === 'http' && [400, 413, 422].includes(Number(error['status']))));

const requestCodes: ReadonlySet<unknown> = new Set(['configuration', 'context_length', 'guard']);

const createNotice = (error: unknown, attempt: number, { provider, name }: Model): Observable<Chunk> =>
  of({ type: 'retry', attempt, delay: 0, error: errorToJson(error), next: { provider, name } });
