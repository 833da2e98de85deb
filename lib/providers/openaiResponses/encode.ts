import { ConfigurationError } from '../../core/errors.js';
import { nonEmptyArray, omitUndefined } from '../../core/json/json.js';
import type { Fields, JsonObject, JsonValue } from '../../core/json/json.js';
import type { Request, Thinking, ToolChoice } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import type { WireRequest } from '../../protocol/wire.js';
import { unsupportedBudgetError } from '../shared/encode.js';
import { isStrict, strictSchema } from '../shared/strictSchema.js';
import { encodeInput, encodeInstructions } from './messages.js';
import { provider } from './models.js';
import { lastContainer } from './replay.js';
import { hasAutoContainer, isUsable, secretsIn, withContainer } from './serverTools.js';
import type { ResponsesTool } from './serverTools.js';
import { findSession, isContainerLost, isResponseLost } from './session.js';

/** The options of the model that a request depends on. */
export interface EncodeOptions {
  /** Whether the API keeps the response. Default: the API's. */
  readonly store?: boolean | undefined;
  /** Whether the model reasons. Undefined: not known. */
  readonly reasoning?: boolean | undefined;
  /** Whether to continue responses that the API keeps. Default: true. */
  readonly session?: boolean | undefined;
  /** The tools that OpenAI runs. Default: none. */
  readonly serverTools?: readonly ResponsesTool[] | undefined;
}

/** What the API no longer has, as an earlier attempt has shown. */
interface Lost {
  readonly session?: true;
  readonly container?: string;
}

/**
 * Encodes a streaming request of the Responses API ("Create a model response" of its reference). It continues the newest
 * response that the API keeps, and holds only what is newer; without one it holds the complete conversation as input
 * items. If the API no longer has that response, its fallback is a request with the complete conversation; if a container
 * has expired, one with a new container for the code interpreter. Each happens once.
 *
 * The system prompt is sent as `instructions`, not as an input item: instructions are valid for one request, so that a
 * changed prompt replaces the old one, and a request that continues a stored response does not repeat it in the context
 * ("when using along with previous_response_id, the instructions from a previous response will not be carried over").
 *
 * Encrypted reasoning is requested whether or not responses are stored: a history that holds it outlives the 30 days of
 * the store, and works in organisations without one.
 *
 * @param model The model's name.
 * @param request The request.
 * @param options The options of the model.
 * @throws ConfigurationError `options` for a setting that the API does not support.
 */
export function encodeResponses(model: string, request: Request, options: EncodeOptions = {}): WireRequest {
  rejectUnsupported(request);
  return encodeAttempt(model, request, options, {});
}

function encodeAttempt(model: string, request: Request, options: EncodeOptions, lost: Lost): WireRequest {
  const { messages, thinking, output } = request;
  const providerOptions = request.providerOptions?.[provider] ?? {};
  const stored = (providerOptions['store'] ?? options.store) !== false;
  // The user may have the API keep the conversation in another way.
  const hasOwnSession = 'previous_response_id' in providerOptions || 'conversation' in providerOptions;
  const continues = stored && options.session !== false && !lost.session && !hasOwnSession;
  const session = continues ? findSession(messages) : undefined;
  const serverTools = (options.serverTools ?? []).filter(isUsable);
  const container = containerFor(serverTools, request, lost);
  // What the lost response referred to by id is lost with it: the history must not depend on it.
  const input =
    session?.input ?? encodeInput(messages, { stored: stored && !lost.session, lostContainer: lost.container });
  const body = omitUndefined({
    model,
    previous_response_id: session?.previousResponseId,
    instructions: encodeInstructions(messages),
    input: session && input.length === 0 ? undefined : input,
    ...encodeTools(request, serverTools, container),
    text: output && { format: encodeSchema(output) },
    temperature: request.temperature,
    top_p: request.topP,
    max_output_tokens: request.maxOutputTokens,
    reasoning: thinking === undefined ? undefined : encodeThinking(thinking),
    include: encodeInclude(options, thinking, serverTools),
    store: options.store,
    stream: true,
  });
  const lostNow = (error: unknown): Lost | undefined => {
    if (session && isResponseLost(error, session.previousResponseId)) return { ...lost, session: true };
    return container !== undefined && isContainerLost(error) ? { ...lost, container } : undefined;
  };
  return {
    path: '/responses',
    body,
    secrets: serverTools.flatMap(secretsIn),
    fallback(error) {
      const lostThen = lostNow(error);
      return lostThen && encodeAttempt(model, request, options, lostThen);
    },
  };
}

/** The API refuses unknown parameters, and a setting must not be dropped silently. */
function rejectUnsupported({ stopSequences, seed }: Request): void {
  const [setting, value] = stopSequences?.length ? ['stopSequences', stopSequences] : ['seed', seed];
  if (value === undefined) return;
  throw new ConfigurationError(
    'options',
    `The Responses API does not support ${setting} (${JSON.stringify(value)}).`,
    `Omit it, or use openai(), whose API supports it.`,
  );
}

/** The container that the conversation's code ran in last, if a tool may use it and the API still has it. */
function containerFor(tools: readonly ResponsesTool[], { messages }: Request, lost: Lost): string | undefined {
  if (!tools.some(({ definition }) => hasAutoContainer(definition))) return undefined;
  const container = lastContainer(messages);
  return container === lost.container ? undefined : container;
}

function encodeSchema(schema: JsonObject): JsonObject {
  return { type: 'json_schema', name: 'output', ...strictSchema(schema) };
}

/** Summaries of thinking are only sent on request. `none` switches thinking off; models before gpt-5.1 refuse it. */
function encodeThinking(thinking: Thinking): JsonObject {
  if (thinking === false) return { effort: 'none' };
  const { effort, budget } = thinking === true ? {} : thinking;
  if (effort === undefined && budget !== undefined) throw unsupportedBudgetError(provider, budget);
  return omitUndefined({ effort, summary: 'auto' });
}

function encodeInclude(
  { reasoning }: EncodeOptions,
  thinking: Thinking | undefined,
  serverTools: readonly ResponsesTool[],
): readonly string[] | undefined {
  const isReasoning = reasoning ?? (thinking !== undefined && thinking !== false);
  const include = [
    ...(isReasoning ? ['reasoning.encrypted_content'] : []),
    ...serverTools.flatMap((tool) => tool.include ?? []),
  ];
  return nonEmptyArray([...new Set(include)]);
}

/** Encodes tools, those that OpenAI runs last, and the tool choice. The API refuses a tool choice without tools. */
function encodeTools(
  { tools = [], toolChoice, parallelToolCalls }: Request,
  serverTools: readonly ResponsesTool[],
  container: string | undefined,
): Fields {
  const definitions = serverTools.map(({ definition }) => definition);
  if (tools.length + definitions.length === 0) return {};
  return {
    tools: [...tools.map(encodeTool), ...definitions.map((definition) => withContainer(definition, container))],
    tool_choice: toolChoice && encodeToolChoice(toolChoice, tools, definitions),
    parallel_tool_calls: parallelToolCalls,
  };
}

/**
 * `strict` is always sent: without it the API makes a schema strict where it can, so that optional parameters become
 * required.
 */
function encodeTool({ name, description, parameters }: ToolDefinition): JsonObject {
  const hasParameters = Object.keys(parameters['properties'] ?? {}).length > 0;
  return { type: 'function', name, description, parameters, strict: hasParameters && isStrict(parameters) };
}

/** A name is that of a function, the type of a tool that OpenAI runs (`web_search`), or the label of an MCP server. */
function encodeToolChoice(
  choice: ToolChoice,
  tools: readonly ToolDefinition[],
  definitions: readonly JsonObject[],
): JsonValue {
  if (typeof choice === 'string') return choice;
  const { name } = choice;
  if (tools.some((tool) => tool.name === name)) return { type: 'function', name };
  if (definitions.some(({ type }) => type === name)) return { type: name };
  if (definitions.some(({ server_label: label }) => label === name)) return { type: 'mcp', server_label: name };
  return { type: 'function', name };
}
