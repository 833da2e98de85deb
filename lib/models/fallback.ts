import { EMPTY, concat, defer, of } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { releaseThrough } from '../core/createOperator.js';
import { errorToJson } from '../core/errors.js';
import { isRecord } from '../core/json/json.js';
import type { Model } from '../core/model.js';
import { continueAfterError } from '../protocol/retry.js';
import { combinedError, compositeModel, firstModel, streamOf } from './composite.js';
import { retraction } from './retraction.js';

/** Options of `fallback`. */
export interface FallbackOptions {
  /** Whether the next model is asked after this error. Default: after any error. */
  readonly when?: ((error: unknown) => boolean) | undefined;
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
 * run begins with the first model again.
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
 * @param options `when` (default: after any error).
 * @returns A model. It has the provider and the name of the first model, and the capabilities that all models have. Its
 * streams fail with an AllModelsFailedError, whose `errors` are those of the models, or with the error for which
 * `when` returned false.
 * @throws ConfigurationError `model` if there are no models.
 */
export function fallback(models: readonly Model[], { when = () => true }: FallbackOptions = {}): Model {
  const first = firstModel('fallback', models);
  return compositeModel(first, models, (request) =>
    defer(() => {
      const errors: unknown[] = [];
      const next = (error: unknown, hasEmitted: boolean): Observable<Chunk> | undefined => {
        if (!when(error)) return undefined;
        errors.push(error);
        const model = models[errors.length];
        if (!model) throw combinedError(models, errors);
        const retract = hasEmitted ? of(retraction(error)) : EMPTY;
        const notice = createNotice(error, errors.length);
        return releaseThrough(streamOf(model, request), (chunks) => concat(retract, notice, chunks));
      };
      return streamOf(first, request).pipe(continueAfterError(next));
    }),
  );
}

/** The notice that another model is asked. A model that was skipped was never asked. */
function createNotice(error: unknown, attempt: number): Observable<Chunk> {
  if (isRecord(error) && error['subject'] === 'capability') return EMPTY;
  return of({ type: 'retry', attempt, delay: 0, error: errorToJson(error) });
}
