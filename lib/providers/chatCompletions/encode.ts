import { asArray, isJsonObject, isRecord, objectOrEmpty, omitUndefined } from '../../core/json/json.js';
import type { Fields, JsonObject, JsonValue } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { ModelRequest, Thinking, ToolChoice } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import { encodeConversation, memoizePerTool } from '../../protocol/encodeOnce.js';
import { mergeJson } from '../../protocol/request.js';
import type { WireRequest } from '../../protocol/wire.js';
import { unsupportedBudgetError } from '../shared/thinkingEffort.js';
import { strictSchema } from '../shared/strictSchema.js';
import type { Dialect } from './dialect.js';
import { encodeMessage } from './messages.js';

export function encodeChatCompletions(
  model: string,
  request: ModelRequest,
  dialect: Dialect,
  encoders = createEncoders(dialect),
): WireRequest {
  const { maxTokens = 'max_tokens', streamUsage = true, path = '/chat/completions' } = dialect;
  const body = omitUndefined({
    model,
    messages: alternate(encoders.messages(request.messages), dialect),
    ...encodeTools(request, encoders.tool),
    response_format: request.output && { type: 'json_schema', json_schema: encodeSchema(request.output) },
    temperature: request.temperature,
    top_p: request.topP,
    [maxTokens]: request.maxOutputTokens,
    stop: request.stopSequences?.length ? request.stopSequences : undefined,
    seed: request.seed,
    ...encodeThinking(request.thinking, dialect),
    stream: true,
    stream_options: streamUsage ? { include_usage: true } : undefined,
  });
  const sent: JsonObject = dialect.body?.(body, request) ?? body;
  if (!isJsonObject(sent['tool_choice'])) return { path, body: sent };
  return { path, body: sent, fallback: (error) => withoutNamedChoice(path, sent, error) };
}

/** A server that takes no object as `tool_choice` (llama.cpp) gets the named tool alone, as a required one. */
function withoutNamedChoice(path: string, body: JsonObject, error: unknown): WireRequest | undefined {
  const { tools, tool_choice: choice } = body;
  const name = objectOrEmpty(objectOrEmpty(choice)['function'])['name'];
  const { status, message } = isRecord(error) ? error : {};
  if (typeof name !== 'string' || ![400, 422, 500].includes(status as number)) return undefined;
  if (!/tool_choice|must be string/i.test(String(message))) return undefined;
  const named = asArray(tools).filter((tool) => objectOrEmpty(objectOrEmpty(tool)['function'])['name'] === name);
  return { path, body: { ...body, tools: named as readonly JsonObject[], tool_choice: 'required' } };
}

/** Templates do not count results and calls, so a user's message after results follows the one before them. */
function alternate(messages: readonly JsonObject[], { alternateRoles }: Dialect): readonly JsonObject[] {
  if (!alternateRoles) return messages;
  const alternating: JsonObject[] = [];
  for (const message of messages) {
    const last = alternating.at(-1);
    if (last && last['role'] === message['role'] && message['role'] !== 'tool' && !last['tool_calls'])
      alternating.splice(-1, 1, joinMessages(last, message));
    else if (last?.['role'] === 'tool' && message['role'] === 'user')
      alternating.push({ role: 'assistant', content: 'OK' }, message);
    else alternating.push(message);
  }
  return alternating;
}

function joinMessages(first: JsonObject, second: JsonObject): JsonObject {
  const contents = [first['content'], second['content']].filter((content) => content !== null && content !== '');
  const isText = contents.every((content) => typeof content === 'string');
  const parts = contents.flatMap((content) =>
    typeof content === 'string' ? { type: 'text', text: content } : asArray(content),
  );
  const content = isText ? contents.join('\n\n') : (parts as readonly JsonObject[]);
  return { ...first, ...second, content: contents.length === 0 ? null : content };
}

interface Encoders {
  readonly messages: (messages: readonly Message[]) => readonly JsonObject[];
  readonly tool: (tool: ToolDefinition) => JsonObject;
}

export function createEncoders(dialect: Dialect): Encoders {
  return {
    messages: encodeConversation((message) => encodeMessage(message, dialect)),
    tool: memoizePerTool((tool) => encodeTool(tool, dialect.provider)),
  };
}

/** Without tools, the API rejects an empty `tools` array, `tool_choice` and `parallel_tool_calls`. */
function encodeTools({ tools = [], toolChoice, parallelToolCalls }: ModelRequest, encode: Encoders['tool']): Fields {
  if (tools.length === 0) return {};
  const definitions = tools.map(encode);
  return {
    tools: definitions,
    tool_choice: toolChoice && encodeToolChoice(toolChoice, definitions),
    parallel_tool_calls: parallelToolCalls,
  };
}

/** Options are fields of `function`; `cache_control` (OpenRouter) and those of `type: 'custom'`, of the tool. */
function encodeTool({ name, description, parameters, providerOptions }: ToolDefinition, provider: string): JsonObject {
  const options = providerOptions?.[provider] ?? {};
  if (options['type'] === 'custom') return mergeJson({ type: 'custom', custom: { name, description } }, options);
  const { cache_control, ...fields } = options;
  const definition = mergeJson({ name, description, parameters }, fields);
  return omitUndefined({ type: 'function', function: definition, cache_control });
}

function encodeToolChoice(choice: ToolChoice, definitions: readonly JsonObject[]): JsonValue {
  if (typeof choice === 'string') return choice;
  const { name } = choice;
  const isCustom = definitions.some(({ custom }) => isJsonObject(custom) && custom['name'] === name);
  return isCustom ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } };
}

/** Strict mode makes the output match the schema exactly, but rejects most of JSON Schema. */
function encodeSchema(output: JsonObject): JsonObject {
  const { strict, schema } = strictSchema(output);
  return omitUndefined({ name: 'output', strict: strict || undefined, schema });
}

function encodeThinking(thinking: Thinking | undefined, dialect: Dialect): JsonObject {
  if (thinking === undefined) return {};
  const encode = dialect.thinking ?? reasoningEffort(dialect.provider);
  return encode(thinking);
}

/** As `reasoning_effort`. Models before gpt-5.1 reject `none`. There is no field for a budget. */
export function reasoningEffort(provider: string): (thinking: Thinking) => JsonObject {
  return (thinking) => {
    if (typeof thinking === 'boolean') return thinking ? {} : { reasoning_effort: 'none' };
    const { effort, budget } = thinking;
    if (effort !== undefined) return { reasoning_effort: effort };
    if (budget !== undefined) throw unsupportedBudgetError(provider, budget);
    return {};
  };
}
