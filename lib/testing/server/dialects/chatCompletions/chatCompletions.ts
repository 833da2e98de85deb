import type { FileChunk, FinishChunk, SourceChunk, ToolCallFragment } from '../../../../core/chunk.js';
import { errorText } from '../../../../core/errors.js';
import { objectOrEmpty, isJsonObject, isRecord, nonEmptyString, omitUndefined } from '../../../../core/json/json.js';
import type { JsonObject } from '../../../../core/json/json.js';
import type { Usage } from '../../../../core/usage.js';
import { splitInput, splitJson } from '../completeCalls.js';
import { providerCodeOf, refusal, totalOf, unsupportedChunk } from '../dialect.js';
import { historyObjection, type HistoryRules } from '../historyRules.js';
import { refusedByOpenai } from '../outputSchema.js';
import { objectsIn } from '../history.js';
import { implicitPrompt } from '../implicitPrompt.js';
import type { Dialect, DialectFrame, DialectWriter, Refusal } from '../dialect.js';
import { createWriter } from '../writer.js';
import { refusedByOpenaiSettings } from '../settings.js';
import { chatHistory } from './history.js';
import { historyRules, textResultRules } from './historyRules.js';

/** "The chat completion chunk object"; `reasoning_content` as DeepSeek and vLLM send it. Ids and times are constant. */
export const chatCompletions: Dialect = {
  framing: 'sse',
  contentType: 'text/event-stream; charset=utf-8',
  bases: { 'openai-chat': '/v1', together: '/v1' },
  serves: (path) => path.endsWith('/chat/completions'),
  refusal: (body) => refusalOf(body, { ...historyRules, ...textResultRules }),
  promptOf: (body) => implicitPrompt(body, ['tools', 'messages']),
  messages: (body) => objectsIn(body['messages']),
  history: chatHistory,
  writer: ({ turn, body }) => writer(turn, body),
  errorBody: ({ message, type, code }) => ({ error: { message, type, param: null, code: code ?? null } }),
};

export function refusalOf(body: unknown, rules: HistoryRules = historyRules): Refusal | undefined {
  const refuse = (message: string, code?: string) => refusal('invalid_request_error', message, code);
  if (!isRecord(body))
    return refuse('We could not parse the JSON body of your request. The API expects a JSON object.');
  if (nonEmptyString(body['model']) === undefined) return refuse('you must provide a model parameter');
  const { messages } = body as { readonly messages?: unknown };
  if (messages === undefined) return refuse("Missing required parameter: 'messages'.", 'missing_required_parameter');
  if (!Array.isArray(messages) || !messages.every(isRecord))
    return refuse("Invalid type for 'messages': expected an array of objects.", 'invalid_type');
  if (messages.length === 0)
    return refuse("Invalid 'messages': empty array. Expected an array with minimum length 1.", 'empty_array');
  if (body['stream'] !== true)
    return refuse("This loopback server only streams: send 'stream': true.", 'unsupported_value');
  const settings = refusedByOpenaiSettings(body, 'function');
  if (settings) return refuse(settings.message, settings.code);
  const format = objectOrEmpty(body['response_format']);
  const invalid =
    refusedByOpenai(format['json_schema'], 'response_format') ?? historyObjection(rules, objectsIn(messages));
  return invalid === undefined ? undefined : refuse(invalid);
}

function writer(turn: number, body: JsonObject): DialectWriter {
  const includeUsage = isJsonObject(body['stream_options']) && body['stream_options']['include_usage'] === true;
  const head = { id: `chatcmpl-${turn}`, object: 'chat.completion.chunk', created: 1_700_000_000 };
  const envelope = { ...head, model: body['model'] ?? '' };
  const toolCalls = toolCallWriter();
  const frame = (choices: readonly JsonObject[], usage: JsonObject | null = null): DialectFrame => ({
    data: JSON.stringify({ ...envelope, choices, ...(includeUsage ? { usage } : {}) }),
  });
  const delta = (part: JsonObject, reason: string | null = null) =>
    frame([{ index: 0, delta: part, logprobs: null, finish_reason: reason }]);

  return createWriter(api, {
    begin: ({ type }) => [delta({ role: 'assistant', content: type === 'text' || type === 'finish' ? '' : null })],
    chunks: {
      text: ({ text }) => [delta({ content: text })],
      thinking: ({ text }) => [delta({ reasoning_content: text })],
      toolCallFragment: (fragment) => toolCalls(fragment).map((part) => delta(part)),
      source: (chunk) => [delta({ annotations: [annotation(chunk)] })],
      file: (chunk) => [delta({ audio: { id: 'audio_1', data: audioOf(chunk) } })],
      finish: (chunk) => (chunk.reason === 'unspecified' ? [] : [delta({}, wireReason(chunk))]),
    },
    error: (error) => [{ data: JSON.stringify(chatCompletions.errorBody(failureOf(error))) }],
    end: ({ usage }) => [...(includeUsage && usage ? [frame([], wireUsage(usage))] : []), { data: '[DONE]' }],
  });
}

const api = 'Chat Completions API';

function annotation(chunk: SourceChunk): JsonObject {
  const { url, title = '', start, end } = chunk.source;
  if (url === undefined) throw unsupportedChunk(api, chunk);
  return { type: 'url_citation', url_citation: omitUndefined({ url, title, start_index: start, end_index: end }) };
}

function audioOf(chunk: FileChunk): string {
  const { data, mediaType } = chunk.file;
  if (data === undefined || !mediaType.startsWith('audio/')) throw unsupportedChunk(api, chunk);
  return data;
}

/** As OpenAI sends it: the name first, then the arguments in fragments. */
function toolCallWriter(): (fragment: ToolCallFragment) => JsonObject[] {
  const indices = new Map<string, number>();
  let current = -1;
  let highest = -1;
  const enter = (index: number) => {
    current = index;
    highest = Math.max(highest, index);
    return index;
  };
  const indexOf = ({ index, id, name }: ToolCallFragment): number => {
    if (typeof index === 'number') return enter(index);
    const key = index ?? nonEmptyString(id);
    if (key === undefined && nonEmptyString(name) === undefined && current >= 0) return current;
    const known = key === undefined ? undefined : indices.get(key);
    if (known !== undefined) return enter(known);
    if (key !== undefined) indices.set(key, highest + 1);
    return enter(highest + 1);
  };
  return (fragment) => {
    const { id, name, arguments: args } = fragment;
    const index = indexOf(fragment);
    const isCustom = isCustomCall(fragment);
    const entry = (head: JsonObject, fn: JsonObject): JsonObject => ({
      tool_calls: [{ index, ...head, [isCustom ? 'custom' : 'function']: fn }],
    });
    const type = isCustom ? 'custom' : 'function';
    const head = { ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { type }) };
    const named = name === undefined ? {} : { name };
    if (isCustom)
      return [entry(head, { ...named, input: '' }), ...splitInput(args).map((piece) => entry({}, { input: piece }))];
    if (typeof args !== 'object' || args === null) return [entry(head, { ...named, arguments: args ?? '' })];
    return [
      entry(head, { ...named, arguments: '' }),
      ...splitJson(args).map((piece) => entry({}, { arguments: piece })),
    ];
  };
}

/** `{ input }`, with the provider data `{ 'openai-chat': { type } }`. */
const isCustomCall = ({ providerData }: ToolCallFragment): boolean =>
  Object.values(providerData ?? {}).some((data) => isJsonObject(data) && data['type'] === 'custom');

const finishReasons: Readonly<Record<string, string>> = { toolCalls: 'tool_calls', contentFilter: 'content_filter' };

const wireReason = ({ reason, rawReason }: FinishChunk): string => rawReason ?? finishReasons[reason] ?? reason;

const wireUsage = (usage: Usage): JsonObject => {
  const { input, output, cachedInput, reasoning } = usage;
  return omitUndefined({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: totalOf(usage),
    prompt_tokens_details: cachedInput === undefined ? undefined : { cached_tokens: cachedInput },
    completion_tokens_details: reasoning === undefined ? undefined : { reasoning_tokens: reasoning },
  });
};

const failureOf = (error: unknown): Refusal => ({
  ...refusal('server_error', errorText(error), providerCodeOf(error)),
  status: 500,
});
