import type { Model } from '../core/model.js';
import type { Schema } from '../core/schema.js';
import type { Tool } from '../core/tool.js';
import type { Orchestrator } from './orchestrator.js';
import { toolLoop } from './toolLoop.js';
import { twoPhase } from './twoPhase.js';
import { typedOutput } from './typedOutput.js';

/**
 * Selects the orchestrator for a run by what the model can do, never by its provider's name.
 *
 * @param model Its capabilities decide; a capability that is not known is assumed.
 * @param run The tools, and the schema of the output, if there is one.
 * @returns `toolLoop` without an output; `twoPhase` for tools and an output on a model that accepts a schema, but not
 * together with tools; otherwise `typedOutput`.
 */
export function selectOrchestrator(
  model: Model,
  run: { readonly tools?: readonly Tool[]; readonly output?: Schema | undefined },
): Orchestrator {
  if (!run.output) return toolLoop;
  const { typedOutput: acceptsSchema, typedOutputWithTools: acceptsBoth } = model.capabilities ?? {};
  const hasTools = (run.tools?.length ?? 0) > 0;
  return hasTools && acceptsSchema !== false && acceptsBoth === false ? twoPhase : typedOutput;
}
