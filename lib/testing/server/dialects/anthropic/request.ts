import { finiteNumber, isJsonObject, isRecord, nonEmptyString, objectOrEmpty } from '../../../../core/json/json.js';
import type { JsonObject } from '../../../../core/json/json.js';
import type { Refusal } from '../dialect.js';
import { historyObjection } from '../historyRules.js';
import { refusedByAnthropic } from '../outputSchema.js';
import { refusedByAnthropicSettings } from '../settings.js';
import { cacheObjection } from './cacheControl.js';
import { blocksOf, historyRules, idsOf } from './historyRules.js';

/** Status 400: the reference, "Handle tool calls", "Extended thinking", and what `historyRules` lists. */
export function refusalOf(body: unknown, headers?: Readonly<Record<string, string>>, path = ''): Refusal | undefined {
  const message = isVertex(path)
    ? vertexObjection(body)
    : headers && headers['anthropic-version'] === undefined
      ? 'anthropic-version: header is required'
      : objection(body);
  return message === undefined ? undefined : { status: 400, type: 'invalid_request_error', message };
}

/** Whether a path is that of Claude on Vertex AI: it has the model, and the body has the version. */
export const isVertex = (path: string): boolean => path.endsWith(':streamRawPredict');

function vertexObjection(body: unknown): string | undefined {
  const { anthropic_version: version, model, ...others } = objectOrEmpty(body);
  if (model !== undefined) return 'model: Extra inputs are not permitted';
  if (version !== 'vertex-2023-10-16') return 'anthropic_version: Field required';
  return objection({ ...others, model: 'of the path' });
}

function objection(body: unknown): string | undefined {
  if (!isRecord(body)) return 'The request body is not valid JSON.';
  if (nonEmptyString(body['model']) === undefined) return 'model: Field required';
  const limit = finiteNumber(body['max_tokens']);
  if (limit === undefined) return 'max_tokens: Field required';
  if (limit < 1) return 'max_tokens: Input should be greater than or equal to 1';
  if (body['stream'] !== true) return "This loopback server only streams: send 'stream': true.";
  if (body['seed'] !== undefined) return 'seed: Extra inputs are not permitted';
  const { messages } = body;
  if (!Array.isArray(messages) || !messages.every(isJsonObject)) return 'messages: Field required';
  if (messages.length === 0) return 'messages: at least one message is required';
  return (
    thinkingObjection(body, limit) ??
    toolsObjection(body) ??
    refusedByAnthropicSettings(body) ??
    cacheObjection(body) ??
    refusedByAnthropic(objectOrEmpty(body['output_config'])['format']) ??
    historyObjection(historyRules, messages)
  );
}

function thinkingObjection({ thinking, messages }: Record<string, unknown>, limit: number): string | undefined {
  if (!isRecord(thinking) || thinking['type'] !== 'enabled') return undefined;
  const budget = finiteNumber(thinking['budget_tokens']);
  if (budget === undefined || budget < 1024)
    return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024';
  if (budget >= limit) return '`max_tokens` must be greater than `thinking.budget_tokens`.';
  return Array.isArray(messages) ? missingThinkingObjection(messages.filter(isJsonObject)) : undefined;
}

/** After tool results, thinking may continue only if the model's turn since the last question began with thinking. */
function missingThinkingObjection(messages: readonly JsonObject[]): string | undefined {
  const answers = (message: JsonObject | undefined) =>
    idsOf(blocksOf(message), 'tool_result', 'tool_use_id').length > 0;
  if (!answers(messages.at(-1))) return undefined;
  const question = messages.findLastIndex((message) => message['role'] === 'user' && !answers(message));
  const firsts = messages.flatMap((message, at) =>
    at > question && message['role'] === 'assistant' ? [blocksOf(message)[0]?.['type']] : [],
  );
  if (firsts.some((type) => type === 'thinking' || type === 'redacted_thinking')) return undefined;
  const found = nonEmptyString(firsts.at(-1)) ?? 'nothing';
  return (
    `Expected \`thinking\` or \`redacted_thinking\`, but found \`${found}\`. ` +
    'When `thinking` is enabled, a final `assistant` message must start with a thinking block.'
  );
}

/** SDK 1.12, `BetaToolUnion`. Toolsets have no name. */
const toolTypes: readonly (readonly [RegExp, string | undefined])[] = [
  [/^bash_\d{8}$/, 'bash'],
  [/^text_editor_20250124$/, 'str_replace_editor'],
  [/^text_editor_\d{8}$/, 'str_replace_based_edit_tool'],
  [/^memory_\d{8}$/, 'memory'],
  [/^computer_\d{8}$/, 'computer'],
  [/^web_search_\d{8}$/, 'web_search'],
  [/^web_fetch_\d{8}$/, 'web_fetch'],
  [/^code_execution_\d{8}$/, 'code_execution'],
  [/^advisor_\d{8}$/, 'advisor'],
  [/^tool_search_tool_regex(_\d{8})?$/, 'tool_search_tool_regex'],
  [/^tool_search_tool_bm25(_\d{8})?$/, 'tool_search_tool_bm25'],
  [/^(computer|browser)_toolset_\d{8}$|^mcp_toolset$/, undefined],
];

function toolsObjection({ tools, tool_choice }: Record<string, unknown>): string | undefined {
  if (tools === undefined)
    return tool_choice === undefined ? undefined : 'tool_choice may only be specified while providing tools.';
  if (!Array.isArray(tools) || !tools.every(isRecord)) return 'tools: Input should be a valid list';
  const objection = tools.map((tool, at) => toolObjection(tool, at)).find((found) => found !== undefined);
  if (objection !== undefined) return objection;
  if (tools.length > 0 && tools.every((tool) => tool['defer_loading'] === true))
    return 'All tools have defer_loading set. At least one tool must be non-deferred.';
  const names = tools.map(({ name }) => name).filter((name) => name !== undefined);
  return new Set(names).size < names.length ? 'tools: Tool names must be unique.' : undefined;
}

function toolObjection(tool: Record<string, unknown>, at: number): string | undefined {
  const type = nonEmptyString(tool['type']) ?? 'custom';
  const option = ['strict', 'defer_loading'].find((field) => !['undefined', 'boolean'].includes(typeof tool[field]));
  if (option !== undefined) return `tools.${at}.${option}: Input should be a valid boolean`;
  const { input_schema: schema, name } = tool;
  if (type === 'custom')
    return isRecord(schema) && schema['type'] === 'object'
      ? undefined
      : `tools.${at}.custom.input_schema.type: Field required`;
  const known = toolTypes.find(([pattern]) => pattern.test(type));
  if (!known) return `tools.${at}: Input tag '${type}' found using 'type' does not match any of the expected tags`;
  const extra = ['input_schema', 'description'].find((field) => tool[field] !== undefined);
  if (extra !== undefined) return `tools.${at}.${type}.${extra}: Extra inputs are not permitted`;
  const [, expected] = known;
  if (name === expected) return undefined;
  return expected === undefined
    ? `tools.${at}.${type}.name: Extra inputs are not permitted`
    : `tools.${at}.${type}.name: Input should be '${expected}'`;
}
