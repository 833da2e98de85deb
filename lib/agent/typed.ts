import type { FinishReason } from '../core/chunk.js';
import { ConfigurationError } from '../core/errors.js';
import type { RunResult } from '../core/event.js';
import type { Model } from '../core/model.js';
import type { Infer, Schema } from '../core/schema.js';
import type { Tool } from '../core/tool.js';
import type { Orchestrator } from './orchestrator.js';
import { selectOrchestrator } from './selectOrchestrator.js';

/** A typed output of an agent: its schema, and what obtains it from a model. `typed` creates it. */
export interface TypedOutput<O = unknown> {
  readonly schema: Schema;
  /** The type of the output. It has no value. */
  readonly type?: O | undefined;
  /** Selects the orchestrator by the model's capabilities. */
  readonly select: (model: Model, tools: readonly Tool[]) => Orchestrator;
  /** Creates the check that a result has an output, for the orchestrator that its error names. */
  readonly check: typeof requireOutput;
}

/**
 * The typed output of an agent: what the model answers is validated, repaired if necessary, and typed.
 *
 * <span class="informal">Answers as objects instead of texts.</span>
 *
 * A bundle has the code for typed outputs only if it imports `typed`. The agent selects `typedOutput` or `twoPhase`
 * by the model's capabilities (`selectOrchestrator`), unless it has an orchestrator of its own.
 *
 * ```ts
 * const agent = createAgent({ model, output: typed(z.object({ city: z.string(), celsius: z.number() })) });
 * agent.run('How warm is it in Oslo?').subscribe(({ output }) => console.log(output.celsius));
 * ```
 *
 * @param schema The schema: of zod, another Standard Schema with a JSON Schema, or a plain JSON Schema.
 * @returns The value of the option `output` of `createAgent`.
 */
export const typed = <S extends Schema>(schema: S): TypedOutput<Infer<S>> => ({
  schema,
  select: (model, tools) => selectOrchestrator(model, { tools, output: schema }),
  check: requireOutput,
});

const reasonsWithoutOutput: ReadonlySet<FinishReason> = new Set(['maxTurns', 'stopped', 'limit', 'waiting']);

/** An orchestrator without support for typed output does not set it. */
const requireOutput =
  (orchestrator: string) =>
  ({ output, finishReason }: RunResult): void => {
    if (output !== undefined || reasonsWithoutOutput.has(finishReason)) return;
    throw new ConfigurationError(
      'output',
      `The orchestrator "${orchestrator}" returned no typed output.`,
      'Build its turns on typedOutput, or omit `output`.',
    );
  };
