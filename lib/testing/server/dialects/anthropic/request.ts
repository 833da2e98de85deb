import { finiteNumber, isJsonObject, isRecord, nonEmptyString, objectOrEmpty } from '../../../../core/json/json.js';
import type { JsonObject } from '../../../../core/json/json.js';
import type { Refusal } from '../dialect.js';
import { historyObjection } from '../historyRules.js';
import { refusedByAnthropic } from '../outputSchema.js';
import { refusedByAnthropicSettings } from '../settings.js';
import { cacheObjection } from './cacheControl.js';
import { blocksOf, historyRules, idsOf } from './historyRules.js';
import { toolsObjection } from './tools.js';

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
