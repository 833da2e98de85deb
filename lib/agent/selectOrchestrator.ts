import type { Model } from '../core/model.js';
import type { Schema } from '../core/schema.js';
import type { Tool } from '../core/tool.js';
import type { Orchestrator } from './orchestrator.js';
import { toolLoop } from './toolLoop.js';
import { twoPhase } from './twoPhase.js';
import { typedOutput } from './typedOutput.js';

/**
 * Selects the orchestrator for a run by the model's capabilities, never by its provider's name.
 *
 * @param model The model; its unknown capabilities are assumed to be present.
 * @param run The tools, and the schema of the output. Default: none.
 * @returns `toolLoop` for a run without a typed output; `twoPhase` for a run with tools and a typed output if the model
 * accepts a schema, but not together with tools; otherwise `typedOutput`.
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
