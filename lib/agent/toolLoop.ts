import type { Observable } from 'rxjs';
import type { FinishChunk, ToolCallFragment } from '../core/chunk.js';
import { StreamInterruptedError } from '../core/errors.js';
import type { RunEvent, RunState } from '../core/event.js';
import { omitUndefined } from '../core/json/json.js';
import { deferCall } from '../core/deferCall.js';
import { systemMessage, type Message } from '../core/message.js';
import type { Model, ModelRequest, RequestSettings, ToolChoice, ToolChoiceOption } from '../core/model.js';
import { toJsonSchema } from '../core/schema.js';
import { toolDefinition } from '../core/tool.js';
import { usedToolCallIds } from '../core/usedIds.js';
import { accumulateToolCalls } from '../operators/accumulateToolCalls.js';
import { consolidate } from '../operators/consolidate.js';
import { endTurn } from '../operators/endTurn.js';
import { executeTools } from '../operators/executeTools.js';
import type { Orchestrator, TurnContext, TurnOptions } from './orchestrator.js';
import { replay } from './replay.js';

/**
 * The default orchestrator. A turn sends the request and runs the tools that the model calls; another turn follows as
 * long as there are results to send back. This is one turn: the loop over turns is `runTurns`.
 *
 * ```ts
 * runTurns(
 *   (state, { last }) => toolLoop.turn(state, { model, tools, last, options: { system: 'Be brief.' } }),
 *   startState([userMessage('Hi')]),
 * );
 * ```
 */
export const toolLoop: Orchestrator = {
  name: 'toolLoop',
  turn: (state, context) => modelTurn(state, context, context.options.fragments ?? false) as Observable<RunEvent>,
};

export function modelTurn(
  state: RunState,
  context: TurnContext,
  fragments: boolean,
): Observable<RunEvent | ToolCallFragment> {
  return deferCall(startTurn, state, context, fragments);
}

function startTurn(state: RunState, context: TurnContext, fragments: boolean): Observable<RunEvent | ToolCallFragment> {
  const { model, tools, options, last, resumed, runId } = context;
  const { toolConcurrency: concurrency, eagerTools, toolDeadline: deadline, approve, onToolError, patience } = options;
  const { messages } = state;
  const idempotencyPrefix = runId === undefined ? undefined : `${runId}.${state.turn}.`;
  const eager = eagerTools && !resumed;
  const own = { messages, concurrency, deadline, approve, onToolError, patience, idempotencyPrefix, eager };
  const response = resumed ? replay(resumed.open) : requestResponse(state, context, fragments);
  return response.pipe(
    executeTools(tools, { ...context, ...own }),
    endTurn(state, { last, unfinished: () => unfinishedError(model) }),
  );
}

function requestResponse(
  state: RunState,
  context: TurnContext,
  fragments: boolean,
): Observable<RunEvent | ToolCallFragment | FinishChunk> {
  const { model, options } = context;
  const usedIds = () => usedToolCallIds(state.messages);
  return model
    .stream(turnRequest(state, context))
    .pipe(accumulateToolCalls({ fragments, usedIds, ...omitUndefined({ newId: options.newId }) }), consolidate());
}

/** `requestOf` and `typedOutput` then change how the schema of the output is sent. */
export function turnRequest(
  state: RunState,
  { tools, output, options, messages = state.messages, context }: Omit<TurnContext, 'model'>,
): ModelRequest {
  const { system, toolChoice } = options;
  const choice = tools.length > 0 ? toolChoiceAt(state, toolChoice, context) : undefined;
  return {
    ...pickRequestSettings(options),
    messages: system === undefined ? messages : [systemMessageFor(options, system), ...messages],
    ...(tools.length > 0 ? { tools: tools.map(toolDefinition) } : {}),
    ...(choice === undefined ? {} : { toolChoice: choice }),
    ...(output ? { output: toJsonSchema(output, 'The output') } : {}),
  };
}

const systemMessages = /* @__PURE__ */ new WeakMap<TurnOptions, Message>();

/** The same message in each turn of a run: a model encodes each message once. */
function systemMessageFor(options: TurnOptions, text: string): Message {
  const known = systemMessages.get(options);
  if (known) return known;
  const message = systemMessage(text);
  systemMessages.set(options, message);
  return message;
}

const unfinishedError = ({ provider, name }: Model) =>
  new StreamInterruptedError(
    provider,
    `The stream of ${provider}:${name} completed without a \`finish\` chunk. A model emits exactly one, as its last ` +
      "chunk; in a test, add { type: 'finish', reason: 'stop' }.",
  );

/** A plain choice applies only to the first turn: if it forced a call in each one, the run would not end. */
export function toolChoiceAt(
  state: RunState,
  option: ToolChoiceOption | undefined,
  context: unknown,
): ToolChoice | undefined {
  if (dependsOnState(option)) return option(state, context as never);
  return state.turn === 0 ? option : undefined;
}

/** `typeof` does not narrow: for TypeScript, `{ name }` may be a function, since functions have a name. */
const dependsOnState = (
  choice: ToolChoiceOption | undefined,
): choice is Extract<ToolChoiceOption, (...args: never) => unknown> => typeof choice === 'function';

const settings = [
  'temperature',
  'topP',
  'maxOutputTokens',
  'stopSequences',
  'seed',
  'thinking',
  'parallelToolCalls',
  'providerOptions',
] as const satisfies readonly (keyof RequestSettings)[];

function pickRequestSettings(options: TurnOptions): RequestSettings {
  const requestSettings: Record<string, unknown> = {};
  for (const key of settings) if (options[key] !== undefined) requestSettings[key] = options[key];
  return requestSettings;
}
