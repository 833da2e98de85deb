import { ConfigurationError } from '../../core/errors.js';
import type { JsonObject, JsonValue } from '../../core/json.js';
import type { Request, Thinking, ToolChoice } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import type { WireRequest } from '../../protocol/wire.js';
import { isStrict } from '../chatCompletions/isStrict.js';
import { defined } from '../shared/values.js';
import type { Fields } from '../shared/values.js';
import { encodeInput, encodeInstructions } from './input.js';
import { provider } from './name.js';

/** What is known of a model before a request. */
export interface Known {
  readonly store?: boolean | undefined;
  readonly reasons?: boolean | undefined;
}

/**
 * The request of the Responses API ("Create a model response" of its reference): streamed, the whole conversation as input items.
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
 * @param known Whether the response is to be stored (undefined leaves it to the API), and whether the model reasons (undefined: not known).
 * @throws ConfigurationError `options` for what the API has no field for.
 */
export function encodeResponses(model: string, request: Request, { store, reasons }: Known = {}): WireRequest {
  refuseUnknown(request);
  const { thinking } = request;
  const stored = request.providerOptions?.[provider]?.['store'] ?? store;
  const encrypted = reasons ?? (thinking !== undefined && thinking !== false);
  const body = defined({
    model,
    instructions: encodeInstructions(request.messages),
    input: encodeInput(request.messages, stored !== false),
    ...encodeTools(request),
    text: request.output && { format: encodeSchema(request.output) },
    temperature: request.temperature,
    top_p: request.topP,
    max_output_tokens: request.maxOutputTokens,
    reasoning: thinking === undefined ? undefined : encodeThinking(thinking),
    include: encrypted ? ['reasoning.encrypted_content'] : undefined,
    store,
    stream: true,
  });
  return { path: '/responses', body };
}

/** The API refuses unknown parameters, and a wish that is dropped in silence is not what was asked for. */
function refuseUnknown({ stop, seed }: Request): void {
  const [wish, value] = stop?.length ? ['stop', stop] : ['seed', seed];
  if (value === undefined) return;
  throw new ConfigurationError(
    'options',
    `The Responses API has no field for ${wish} (${JSON.stringify(value)}).`,
    `Leave it out, or use openai(), whose API has it.`,
  );
}

/** A tool choice without tools is refused. */
function encodeTools({ tools = [], toolChoice, parallelToolCalls }: Request): Fields {
  if (tools.length === 0) return {};
  return { tools: tools.map(encodeTool), tool_choice: toolChoice && encodeToolChoice(toolChoice), parallel_tool_calls: parallelToolCalls };
}

/** `strict` is always said: left out, the API makes a schema strict where it can, so that optional parameters become required. */
function encodeTool({ name, description, parameters }: ToolDefinition): JsonObject {
  const some = Object.keys(parameters['properties'] ?? {}).length > 0;
  return { type: 'function', name, description, parameters, strict: some && isStrict(parameters) };
}

function encodeToolChoice(choice: ToolChoice): JsonValue {
  return typeof choice === 'string' ? choice : { type: 'function', name: choice.name };
}

function encodeSchema(schema: JsonObject): JsonObject {
  return { type: 'json_schema', name: 'output', strict: isStrict(schema), schema };
}

/** Thinking is shown as a summary, and only to those who ask. `none` switches it off; models before gpt-5.1 refuse that. */
function encodeThinking(thinking: Thinking): JsonObject {
  if (thinking === false) return { effort: 'none' };
  const { effort, budget } = thinking === true ? {} : thinking;
  if (effort !== undefined || budget === undefined) return { ...(effort === undefined ? {} : { effort }), summary: 'auto' };
  throw new ConfigurationError(
    'options',
    `${provider} takes no budget for thinking (${budget} tokens).`,
    "Pass an effort: thinking: { effort: 'low' }; or limit the answer, thinking included, with maxOutputTokens.",
  );
}
