import { omitUndefined } from '../../core/json/json.js';
import type { Fields, JsonObject, JsonValue } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { Request, Thinking, ToolChoice } from '../../core/model.js';
import type { WireRequest } from '../../protocol/wire.js';
import { functionTool, unsupportedBudgetError } from '../shared/encode.js';
import { strictSchema } from '../shared/strictSchema.js';
import type { Dialect } from './dialect.js';
import { encodeMessage } from './messages.js';

/**
 * The request of the Chat Completions API: streamed, with usage. What the request leaves open is left to the server's default.
 *
 * @param model The model's name.
 * @param request What is asked for.
 * @param dialect Where the server differs.
 * @param messageOf Encodes one message. Default: by the dialect, anew each time.
 * @throws ConfigurationError for a file or a wish that the API has no field for.
 */
export function encodeChatCompletions(
  model: string,
  request: Request,
  dialect: Dialect,
  messageOf = (message: Message): readonly JsonObject[] => encodeMessage(message, dialect),
): WireRequest {
  const { maxTokens = 'max_tokens', streamUsage = true, path = '/chat/completions' } = dialect;
  const body = omitUndefined({
    model,
    messages: encodeMessages(request.messages, messageOf),
    ...encodeTools(request),
    response_format: request.output && { type: 'json_schema', json_schema: encodeSchema(request.output) },
    temperature: request.temperature,
    top_p: request.topP,
    [maxTokens]: request.maxOutputTokens,
    stop: request.stopSequences?.length ? request.stopSequences : undefined,
    seed: request.seed,
    ...(request.thinking === undefined
      ? {}
      : (dialect.thinking ?? reasoningEffort(dialect.provider))(request.thinking)),
    stream: true,
    stream_options: streamUsage ? { include_usage: true } : undefined,
  });
  return { path, body: dialect.body?.(body, request) ?? body };
}

function encodeMessages(
  messages: readonly Message[],
  messageOf: (message: Message) => readonly JsonObject[],
): readonly JsonObject[] {
  const encoded: JsonObject[] = [];
  for (const message of messages) for (const one of messageOf(message)) encoded.push(one);
  return encoded;
}

/** The API refuses a tool choice, an empty list and `parallel_tool_calls` where there are no tools. */
function encodeTools({ tools = [], toolChoice, parallelToolCalls }: Request): Fields {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(functionTool),
    tool_choice: toolChoice && encodeToolChoice(toolChoice),
    parallel_tool_calls: parallelToolCalls,
  };
}

function encodeToolChoice(choice: ToolChoice): JsonValue {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } };
}

/** Strict mode makes the answer follow the schema to the letter, but refuses most of JSON Schema: asked for where it can be had. */
function encodeSchema(schema: JsonObject): JsonObject {
  const { strict, schema: adjusted } = strictSchema(schema);
  return omitUndefined({ name: 'output', strict: strict || undefined, schema: adjusted });
}

/**
 * `reasoning_effort`, as OpenAI documents it; `none` switches thinking off (models before gpt-5.1 refuse it). `true` is the model's default.
 * There is no field for a budget: given with an effort, the effort stands for both.
 */
export function reasoningEffort(provider: string): (thinking: Thinking) => JsonObject {
  return (thinking) => {
    if (typeof thinking === 'boolean') return thinking ? {} : { reasoning_effort: 'none' };
    if (thinking.effort !== undefined) return { reasoning_effort: thinking.effort };
    if (thinking.budget === undefined) return {};
    throw unsupportedBudgetError(provider, thinking.budget);
  };
}
