import type { Model } from '../core/model.js';
import type { Schema } from '../core/schema.js';
import type { Tool } from '../core/tool.js';
import type { Orchestrator } from './orchestrator.js';
import { toolLoop } from './toolLoop.js';
import { twoPhase } from './twoPhase.js';
import { typedOutput } from './typedOutput.js';

/**
 * The orchestrator for a wish, by what the model can do, never by its provider's name.
 *
 * @param model Its capabilities decide; what is not known is taken for granted.
 * @param wish The tools, and the schema of the output, if there is one.
 * @returns `toolLoop` without an output; `twoPhase` for tools and output on a model that takes a schema, but not beside tools; otherwise `typedOutput`.
 */
export function selectOrchestrator(
  model: Model,
  wish: { readonly tools?: readonly Tool[]; readonly output?: Schema | undefined },
): Orchestrator {
  if (!wish.output) return toolLoop;
  const { typedOutput: native, typedOutputWithTools: both } = model.capabilities ?? {};
  return (wish.tools?.length ?? 0) > 0 && native !== false && both === false ? twoPhase : typedOutput;
}
