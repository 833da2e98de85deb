import type { Observable } from 'rxjs';
import type { RunEvent } from '../core/event.js';
import { jsonSchemaOf } from '../core/schema.js';
import type { Orchestrator, TurnContext } from './orchestrator.js';
import { replaceTurnEvent, acceptOrRepair } from './outputRepair.js';
import type { TypedTurn } from './outputRepair.js';
import { outputTool } from './outputTool.js';
import { toolLoop } from './toolLoop.js';

/**
 * Turns until the model's answer fits a schema; with tools in between.
 *
 * How the model is told depends on its capabilities: a JSON Schema in the request where it takes one (with tools: where it takes both), otherwise a tool
 * `return_result`, otherwise by instruction. The JSON streams as text while it arrives. A reply that does not validate is sent back with what is wrong,
 * `maxRepairs` times (2); then, and for a refusal or a cut answer, it is an OutputError that holds the raw text.
 */
export const typedOutput: Orchestrator = {
  name: 'typedOutput',
  turn(state, context) {
    const schema = context.output;
    if (!schema) return toolLoop.turn(state, context);
    return transports[transportOf(context)]({ orchestrator: 'typedOutput', state, context, schema });
  },
};

const transports: Readonly<Record<'native' | 'tool' | 'instruction', (typed: TypedTurn) => Observable<RunEvent>>> = {
  native: (typed) => byText(typed, typed.context),
  tool: outputTool,
  instruction: (typed) => byText(typed, instructed(typed)),
};

/** What is not known is taken for granted: the provider then says so itself. */
function transportOf({ model, tools }: TurnContext): keyof typeof transports {
  const { tools: callsTools, typedOutput: native, typedOutputWithTools: both } = model.capabilities ?? {};
  if (native !== false && (tools.length === 0 || both !== false)) return 'native';
  return callsTools === false ? 'instruction' : 'tool';
}

function byText(typed: TypedTurn, context: TurnContext): Observable<RunEvent> {
  return replaceTurnEvent(toolLoop.turn(typed.state, context), (turn, messages) =>
    acceptOrRepair(typed, turn, messages),
  );
}

function instructed({ context, schema }: TypedTurn): TurnContext {
  const { output: _, ...rest } = context;
  const order = `Answer with JSON only, without any other text, that follows this JSON Schema:\n${JSON.stringify(jsonSchemaOf(schema, 'The output'))}`;
  const { system } = context.options;
  return { ...rest, options: { ...context.options, system: system === undefined ? order : `${system}\n\n${order}` } };
}
