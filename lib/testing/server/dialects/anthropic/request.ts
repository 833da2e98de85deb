import { finiteNumber, isJsonObject, isRecord, nonEmptyString, objectOrEmpty } from '../../../../core/json/json.js';
import type { JsonObject } from '../../../../core/json/json.js';
import type { Refusal } from '../dialect.js';
import { objectsIn } from '../history.js';
import { refusedByAnthropic } from '../outputSchema.js';
import { cacheObjection } from './cacheControl.js';
import { toolsObjection } from './tools.js';

/**
 * What the Messages API refuses with status 400 (its reference and the pages "Handle tool calls" and "Extended
 * thinking"), as far as a client can get it wrong: required fields, the order of calls and results, blank texts,
 * changed thinking, budget limits.
 */
export function refusalOf(body: unknown, headers?: Readonly<Record<string, string>>): Refusal | undefined {
  const message =
    headers && headers['anthropic-version'] === undefined ? 'anthropic-version: header is required' : objection(body);
  return message === undefined ? undefined : { status: 400, type: 'invalid_request_error', message };
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
    cacheObjection(body) ??
    refusedByAnthropic(objectOrEmpty(body['output_config'])['format']) ??
    messages.map((_, at) => messageObjection(messages, at)).find(Boolean)
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

function messageObjection(messages: readonly JsonObject[], at: number): string | undefined {
  const { role } = messages[at] ?? {};
  if (role !== 'user' && role !== 'assistant') return `messages.${at}.role: Input should be 'user' or 'assistant'`;
  const blocks = blocksOf(messages[at]);
  if (blocks.length === 0 && at < messages.length - 1)
    return `messages.${at}: all messages must have non-empty content`;
  if (blocks.some(({ type, text }) => type === 'text' && !(typeof text === 'string' && text.trim() !== '')))
    return `messages.${at}: text content blocks must contain non-whitespace text`;
  if (blocks.some(({ type, signature }) => type === 'thinking' && nonEmptyString(signature) === undefined))
    return `messages.${at}: Invalid \`signature\` in \`thinking\` block`;
  if (blocks.some(({ type, is_error, content }) => type === 'tool_result' && is_error === true && isBlank(content)))
    return `messages.${at}: tool_result: content cannot be empty if \`is_error\` is true`;
  const resultContent = blocks.flatMap(({ type, content }) => (type === 'tool_result' ? objectsIn(content) : []));
  const badType = resultContent.find(({ type }) => !resultTypes.has(type));
  if (badType) {
    const type = nonEmptyString(badType['type']) ?? 'no type';
    return `messages.${at}.content.tool_result.content: ${type} is not allowed`;
  }
  if (resultContent.some(({ type, source }) => type === 'image' && !isImageSource(source)))
    return `messages.${at}.content.tool_result.content.image.source: Input should be a valid image`;
  const calls = idsOf(blocks, 'tool_use', 'id');
  const badId = calls.find((id) => !/^[a-zA-Z0-9_-]+$/.test(id));
  if (badId !== undefined) return `messages.${at}.content.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
  const answered = idsOf(blocksOf(messages[at + 1]), 'tool_result', 'tool_use_id');
  const open = calls.filter((id) => !answered.includes(id));
  if (open.length > 0)
    return (
      `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks ` +
      `immediately after: ${open.join(', ')}`
    );
  const callsBefore = blocksOf(messages[at - 1]).filter(({ type }) => type === 'tool_use');
  const before = callsBefore.map(({ id }) => nonEmptyString(id) ?? '');
  const wrongToolset = blocks.some(
    ({ type, tool_use_id, toolset_name }) =>
      type === 'tool_result' &&
      callsBefore.some((call) => call['id'] === tool_use_id && call['toolset_name'] !== toolset_name),
  );
  if (wrongToolset) return `messages.${at}: tool_result: toolset_name does not match the tool_use`;
  const orphan = idsOf(blocks, 'tool_result', 'tool_use_id').find((id) => !before.includes(id));
  return orphan === undefined
    ? undefined
    : `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${orphan}`;
}

/** The blocks in the content of a result (`ToolResultBlockParam` of the SDK 1.12). */
const resultTypes: ReadonlySet<unknown> = new Set([
  'text',
  'image',
  'search_result',
  'document',
  'tool_reference',
  'browser_state',
]);

const isImageSource = (source: unknown): boolean =>
  isRecord(source) &&
  (source['type'] !== 'base64' || /^image\/(jpeg|png|gif|webp)$/.test(nonEmptyString(source['media_type']) ?? ''));

/** Whether the content of a result is absent, an empty text or an empty array. */
const isBlank = (content: unknown) =>
  typeof content === 'string' ? content.trim() === '' : !Array.isArray(content) || content.length === 0;

function blocksOf(message: JsonObject | undefined): readonly JsonObject[] {
  const content = message?.['content'];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

const idsOf = (blocks: readonly JsonObject[], type: string, field: string): readonly string[] =>
  blocks.filter((block) => block['type'] === type).map((block) => nonEmptyString(block[field]) ?? '');
