import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined } from '../../core/json/json.js';
import type { Fields, JsonObject, JsonValue } from '../../core/json/json.js';
import type { Request, Thinking, ToolChoice } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import type { WireRequest } from '../../protocol/wire.js';
import { unsupportedBudgetError } from '../shared/encode.js';
import { isStrict, strictSchema } from '../shared/strictSchema.js';
import { encodeInput, encodeInstructions } from './messages.js';
import { provider } from './models.js';
import { inContainer, lastContainer, takesAny } from './replay.js';
import { isUsable, secretsIn } from './serverTools.js';
import type { ResponsesTool } from './serverTools.js';
import { isContainerLost, isLost, sessionOf } from './session.js';

/** What is known of a model before a request. */
export interface Known {
  readonly store?: boolean | undefined;
  readonly reasons?: boolean | undefined;
  /** Whether to go on from responses that the API keeps. Default: true. */
  readonly session?: boolean | undefined;
  /** The tools that the API runs. Default: none. */
  readonly serverTools?: readonly ResponsesTool[] | undefined;
}

/** What an attempt has to do without, because the API said that it is gone. */
interface Gone {
  readonly session?: true;
  readonly container?: string;
}

/**
 * The request of the Responses API ("Create a model response" of its reference): streamed, with what is newer than the newest response that the API
 * keeps, and its id; or with the whole conversation as input items. If the API does not know the response any more, the whole conversation is sent
 * instead; if it is a container that has expired, the code interpreter gets a new one. Each once.
 *
 * The system prompt goes as `instructions`, not as an input item: it stands for this request alone, so that one that has changed replaces the old
 * one, and a request that continues a stored response does not repeat it in the context ("when using along with previous_response_id, the
 * instructions from a previous response will not be carried over").
 *
 * Encrypted reasoning is asked for whether or not responses are stored: a history that holds it outlives the 30 days of the store, and serves
 * organisations without one.
 *
 * @param model The model's name.
 * @param request What is asked for.
 * @param known Whether the response is to be stored (undefined leaves it to the API), whether the model reasons (undefined: not known), and more.
 * @throws ConfigurationError `options` for what the API has no field for.
 */
export function encodeResponses(model: string, request: Request, known: Known = {}): WireRequest {
  refuseUnknown(request);
  return encodeAttempt(model, request, known, {});
}

function encodeAttempt(model: string, request: Request, known: Known, gone: Gone): WireRequest {
  const { thinking, messages } = request;
  const own = request.providerOptions?.[provider] ?? {};
  const stored = (own['store'] ?? known.store) !== false;
  // A conversation that the user has the API keep in another way is the user's.
  const kept =
    stored && known.session !== false && !gone.session && !('previous_response_id' in own) && !('conversation' in own);
  const session = kept ? sessionOf(messages) : undefined;
  const serverTools = (known.serverTools ?? []).filter(isUsable);
  const last = serverTools.some(({ definition }) => takesAny(definition)) ? lastContainer(messages) : undefined;
  const container = last === gone.container ? undefined : last;
  const encrypted = known.reasons ?? (thinking !== undefined && thinking !== false);
  const include = [
    ...(encrypted ? ['reasoning.encrypted_content'] : []),
    ...serverTools.flatMap((tool) => tool.include ?? []),
  ];
  // What the lost response referred to by id is lost with it: the history has to stand for itself.
  const input = session?.input ?? encodeInput(messages, { stored: stored && !gone.session, gone: gone.container });
  const body = omitUndefined({
    model,
    previous_response_id: session?.previous,
    instructions: encodeInstructions(messages),
    input: session && input.length === 0 ? undefined : input,
    ...encodeTools(request, serverTools, container),
    text: request.output && { format: encodeSchema(request.output) },
    temperature: request.temperature,
    top_p: request.topP,
    max_output_tokens: request.maxOutputTokens,
    reasoning: thinking === undefined ? undefined : encodeThinking(thinking),
    include: include.length > 0 ? [...new Set(include)] : undefined,
    store: known.store,
    stream: true,
  });
  const without = (error: unknown): Gone | undefined => {
    if (session && isLost(error, session.previous)) return { ...gone, session: true };
    return container !== undefined && isContainerLost(error) ? { ...gone, container } : undefined;
  };
  return {
    path: '/responses',
    body,
    secrets: serverTools.flatMap(secretsIn),
    fallback(error) {
      const less = without(error);
      return less && encodeAttempt(model, request, known, less);
    },
  };
}

/** The API refuses unknown parameters, and a wish that is dropped in silence is not what was asked for. */
function refuseUnknown({ stopSequences: stop, seed }: Request): void {
  const [wish, value] = stop?.length ? ['stop', stop] : ['seed', seed];
  if (value === undefined) return;
  throw new ConfigurationError(
    'options',
    `The Responses API has no field for ${wish} (${JSON.stringify(value)}).`,
    `Leave it out, or use openai(), whose API has it.`,
  );
}

function encodeSchema(schema: JsonObject): JsonObject {
  return { type: 'json_schema', name: 'output', ...strictSchema(schema) };
}

/** Thinking is shown as a summary, and only to those who ask. `none` switches it off; models before gpt-5.1 refuse that. */
function encodeThinking(thinking: Thinking): JsonObject {
  if (thinking === false) return { effort: 'none' };
  const { effort, budget } = thinking === true ? {} : thinking;
  if (effort !== undefined || budget === undefined) return omitUndefined({ effort, summary: 'auto' });
  throw unsupportedBudgetError(provider, budget);
}

/**
 * The tools of a request, those that OpenAI runs behind ours, and how they are chosen. A tool choice without tools is refused.
 *
 * @param request What is asked for.
 * @param serverTools The tools that OpenAI runs.
 * @param container The container that the code interpreter is to go on in, where it has no other.
 */
export function encodeTools(
  { tools = [], toolChoice, parallelToolCalls }: Request,
  serverTools: readonly ResponsesTool[],
  container: string | undefined,
): Fields {
  const own = serverTools.map(({ definition }) => definition);
  if (tools.length + own.length === 0) return {};
  return {
    tools: [...tools.map(encodeTool), ...own.map((definition) => inContainer(definition, container))],
    tool_choice: toolChoice && encodeToolChoice(toolChoice, tools, own),
    parallel_tool_calls: parallelToolCalls,
  };
}

/** `strict` is always said: left out, the API makes a schema strict where it can, so that optional parameters become required. */
function encodeTool({ name, description, parameters }: ToolDefinition): JsonObject {
  const some = Object.keys(parameters['properties'] ?? {}).length > 0;
  return { type: 'function', name, description, parameters, strict: some && isStrict(parameters) };
}

/** A name is that of a function; otherwise the type of a tool that OpenAI runs (`web_search`), or the label of an MCP server. */
function encodeToolChoice(choice: ToolChoice, tools: readonly ToolDefinition[], own: readonly JsonObject[]): JsonValue {
  if (typeof choice === 'string') return choice;
  const { name } = choice;
  if (!tools.some((tool) => tool.name === name)) {
    if (own.some(({ type }) => type === name)) return { type: name };
    if (own.some(({ server_label: label }) => label === name)) return { type: 'mcp', server_label: name };
  }
  return { type: 'function', name };
}
