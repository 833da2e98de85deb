import type { OperatorFunction } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { callModelWrapper } from '../core/callWrapper.js';
import { deriveModel } from '../core/deriveModel.js';
import type { Model } from '../core/model.js';
import { stopResponse } from '../core/response.js';
import { withToolNames } from '../core/toolNames.js';

/**
 * A model whose streams pass through operators.
 *
 * <span class="informal">`pipe` for a model.</span>
 *
 * ![](../../marbles/pipeModel.svg)
 *
 * The operators are applied to the chunks of the model, before anything is made of them: the messages, the history and
 * the result of a run are built from their output. They must keep the contract of a model: exactly one `finish`, as the
 * last chunk. `retract` voids everything since the turn began, so an operator with state starts over there.
 *
 * ```ts
 * const shouting = pipeModel(
 *   openai('gpt-6.1-terra'),
 *   map((chunk) => (chunk.type === 'text' ? { ...chunk, text: chunk.text.toUpperCase() } : chunk)),
 * );
 * ```
 *
 * @param model The model. It may be left out.
 * @param operators The operators, applied in order.
 * @returns A model with the provider, the name and the capabilities of `model`. Without `model`, a function of a model,
 * for rxjs's `pipe`.
 */
export function pipeModel(model: Model, ...operators: readonly ChunkOperator[]): Model;
export function pipeModel(...operators: readonly ChunkOperator[]): (model: Model) => Model;
export function pipeModel(...args: readonly unknown[]) {
  return callModelWrapper(
    args,
    (...operators: readonly ChunkOperator[]) =>
      (model) =>
        deriveModel(model, (request) =>
          operators.reduce((chunks, operator) => operator(chunks), stopResponse(withToolNames(model), request)),
        ),
  );
}

type ChunkOperator = OperatorFunction<Chunk, Chunk>;
