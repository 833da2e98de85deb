import type { Model } from '../core/model.js';
import { compositeModel, firstModel } from './composite.js';
import { firstToAnswer } from './firstToAnswer.js';

/**
 * A model that asks all models at once, and continues with the first that answers.
 *
 * <span class="informal">Ask everybody, and listen to whoever speaks first.</span>
 *
 * ![](../../marbles/race.svg)
 *
 * It is `hedge` without a delay: the first content decides, and the other models are unsubscribed, which closes their
 * connections. A model that fails, or cannot serve the request, takes no part. If the model that answers fails in the
 * middle of its response, a `retract` voids what it has emitted, and the others are asked again. The providers may
 * charge for all requests; `usage` contains only that of the model that answers.
 *
 * ```ts
 * const model = race([openai('gpt-6.1-terra'), google('gemini-3.8-flash')]);
 * ```
 *
 * @param models The models.
 * @returns A model. It has the provider and the name of the first model, and the capabilities that all models have. Its
 * streams error with an AllModelsFailedError, whose `errors` are those of the models.
 * @throws ConfigurationError `model` if there are no models.
 */
export function race(models: readonly Model[]): Model {
  return compositeModel(firstModel('race', models), models, (request) => firstToAnswer(models, request, 0));
}
