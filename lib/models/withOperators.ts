import type { Observable, OperatorFunction } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { deriveModel } from '../core/deriveModel.js';
import type { Model } from '../core/model.js';

/**
 * A model whose streams pass through operators.
 *
 * <span class="informal">`pipe` for a model.</span>
 *
 * ![](../../marbles/withOperators.svg)
 *
 * The operators are applied to the chunks of the model, before anything is made of them: the messages, the history and
 * the result of a run are built from their output. They must keep the contract of a model: exactly one `finish`, as the
 * last chunk. `retract` voids everything since the turn began, so an operator with state starts over there.
 *
 * ```ts
 * const shouting = withOperators(
 *   openai('gpt-6.1-terra'),
 *   map((chunk) => (chunk.type === 'text' ? { ...chunk, text: chunk.text.toUpperCase() } : chunk)),
 * );
 * ```
 *
 * @param model The model.
 * @param operators The operators, applied in order.
 * @returns A model with the provider, the name and the capabilities of `model`.
 */
export function withOperators(model: Model, ...operators: readonly OperatorFunction<Chunk, Chunk>[]): Model {
  return deriveModel(model, (request) =>
    operators.reduce<Observable<Chunk>>((chunks, operator) => chunks.pipe(operator), model.stream(request)),
  );
}
