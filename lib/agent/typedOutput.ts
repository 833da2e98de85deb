import type { Observable } from 'rxjs';
import type { RunEvent } from '../core/event.js';
import { deriveModel } from '../core/deriveModel.js';
import type { Model } from '../core/model.js';
import { isWrapped, outputSchema } from '../core/outputWrapper.js';
import { toJsonSchema, type Schema } from '../core/schema.js';
import { replaceTurnEvent } from '../operators/followUp.js';
import { unwrapOutput } from '../operators/unwrapOutput.js';
import type { Orchestrator, TurnContext } from './orchestrator.js';
import { acceptOrRepair, type TypedTurn } from './outputRepair.js';
import { outputTool } from './outputTool.js';
import { toolLoop } from './toolLoop.js';

/**
 * Runs turns, with tools in between, until the model's response matches a schema.
 *
 * The model's capabilities decide how it receives the schema: as a JSON Schema in the request if the model accepts it
 * (in a run with tools: if it accepts both), otherwise as the parameters of a tool `return_result`, otherwise as an
 * instruction. The JSON streams as text while it arrives. If a response is not valid, the model receives the validation
 * message and is asked to repair it, at most `maxRepairs` times (default: 2). After that, and for a refused or
 * truncated response, the run fails with an `OutputError` that contains the raw text.
 */
export const typedOutput: Orchestrator = {
  name: 'typedOutput',
  turn(state, context) {
    const schema = context.output;
    if (!schema) return toolLoop.turn(state, context);
    return transports[selectTransport(context)]({ orchestrator: 'typedOutput', state, context, schema });
  },
};

const transports: Readonly<Record<'native' | 'tool' | 'instruction', (typed: TypedTurn) => Observable<RunEvent>>> = {
  native: (typed) => outputText(typed, withSchema(typed)),
  tool: outputTool,
  instruction: (typed) => outputText(typed, withInstruction(typed)),
};

/** An unknown capability is assumed to be present: if it is missing, the provider reports an error. */
function selectTransport({ model, tools }: TurnContext): keyof typeof transports {
  const { tools: callsTools, typedOutput: acceptsSchema, typedOutputWithTools: acceptsBoth } = model.capabilities ?? {};
  if (acceptsSchema !== false && (tools.length === 0 || acceptsBoth !== false)) return 'native';
  return callsTools === false ? 'instruction' : 'tool';
}

function outputText(typed: TypedTurn, context: TurnContext): Observable<RunEvent> {
  return toolLoop
    .turn(typed.state, context)
    .pipe(replaceTurnEvent((turn, messages) => acceptOrRepair(typed, turn, messages)));
}

function withSchema({ context, schema }: TypedTurn): TurnContext {
  const { output: _, ...rest } = context;
  return { ...rest, model: askForOutput(context.model, schema) };
}

/** Not a part of `toolLoop`: only who uses `typed` has the code for it in a bundle. */
const askForOutput = (model: Model, schema: Schema): Model =>
  deriveModel(model, (request) => {
    const jsonSchema = toJsonSchema(schema, 'The output');
    const chunks = model.stream({ ...request, output: outputSchema(jsonSchema) });
    return isWrapped(jsonSchema) ? chunks.pipe(unwrapOutput()) : chunks;
  });

function withInstruction({ context, schema }: TypedTurn): TurnContext {
  const { output: _, ...rest } = context;
  const jsonSchema = JSON.stringify(toJsonSchema(schema, 'The output'));
  const instruction = `Answer with JSON only, without any other text, that follows this JSON Schema:\n${jsonSchema}`;
  const { system } = context.options;
  const instructions = system === undefined ? instruction : `${system}\n\n${instruction}`;
  return { ...rest, options: { ...context.options, system: instructions } };
}
