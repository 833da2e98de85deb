import type { Model } from '../core/model.js';
import { requireNumber } from '../core/options.js';
import { compositeModel, firstModel } from './composite.js';
import { firstToAnswer } from './firstToAnswer.js';

export interface HedgeOptions {
  /** How long a model may take until its first content before the next one is asked as well, in milliseconds. */
  readonly after: number;
}

/**
 * A model that asks the next model as well when one is slow to begin, and continues with the first that answers.
 *
 * <span class="informal">No answer after two seconds? Ask another one, and take whoever speaks first.</span>
 *
 * ![](../../marbles/hedge.svg)
 *
 * The first content (text, thinking, a tool call, a file) decides; metadata does not. The other models are then
 * unsubscribed, which closes their connections, before that content is emitted. Until then, only `retry` notices are
 * emitted. A model that fails, or cannot serve the request (by its `capabilities`), is replaced by the next one at
 * once. If the model that answers fails in the middle of its response, a `retract` voids what it has emitted, and the
 * turn starts over with the models that have not failed.
 *
 * The events say which model answers: metadata `{ answeredBy: { provider, name } }` precedes its first chunk. The
 * providers may charge for the requests of the other models; `usage` does not contain them. A stop before the first
 * content ends all of them, and `usage` is their sum.
 *
 * ```ts
 * const model = hedge([openai('gpt-6.1-terra'), openai('gpt-6.1-terra', { baseUrl: backupUrl })], { after: 2000 });
 * ```
 *
 * @param models The models, in the order in which they are asked.
 * @param options `after`, in milliseconds.
 * @returns A model. It has the provider and the name of the first model, and the capabilities that all models have. Its
 * streams fail with an AllModelsFailedError, whose `errors` are those of the models.
 * @throws ConfigurationError `model` if there are no models, and `options` if `after` is not a number.
 */
export function hedge(models: readonly Model[], { after }: HedgeOptions): Model {
  requireNumber('after', after, 0);
  return compositeModel(firstModel('hedge', models), models, (request) => firstToAnswer(models, request, after));
}
