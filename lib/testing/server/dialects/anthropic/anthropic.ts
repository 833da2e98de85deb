import type { Chunk, FinishChunk, MetadataChunk, ToolCallFragment } from '../../../../core/chunk.js';
import { errorText } from '../../../../core/errors.js';
import { isJsonObject, nonEmptyString, objectOrEmpty, omitUndefined } from '../../../../core/json/json.js';
import type { JsonObject } from '../../../../core/json/json.js';
import type { Usage } from '../../../../core/usage.js';
import { splitJson } from '../completeCalls.js';
import { providerCodeOf, typedFrame as frame, unsupportedChunk } from '../dialect.js';
import type { Dialect, DialectFrame, DialectWriter } from '../dialect.js';
import { objectsIn } from '../history.js';
import { promptOf } from './cacheControl.js';
import { anthropicHistory } from './history.js';
import { isVertex, refusalOf } from './request.js';
import { createWriter } from '../writer.js';

/**
 * Anthropic's Messages API as server-sent events, as its page "Streaming messages" documents them. A source becomes a
 * citation of the text, and metadata the blocks that it reports (`serverTools`, `compaction`, `unknown`). Ids and
 * signatures are constant: the same script results in the same bytes.
 */
export const anthropic: Dialect = {
  framing: 'sse',
  contentType: 'text/event-stream; charset=utf-8',
  bases: { anthropic: '/v1' },
  serves: (path) => path.endsWith('/messages') || isVertex(path),
  keyIn: (headers) => headers['x-api-key'],
  refusal: refusalOf,
  messages: (body) => objectsIn(body['messages']),
  history: anthropicHistory,
  promptOf,
  writer: ({ turn, body }) => writer(turn, body),
  errorBody: ({ status, type, message }) => ({
    type: 'error',
    error: { type: errorTypes.get(status) ?? type, message },
  }),
};

/** Error types by status (its page "Errors"). */
const errorTypes: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [500, 'api_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

const delta = (index: number, fields: JsonObject) => frame('content_block_delta', { index, delta: fields });

function writer(turn: number, body: JsonObject): DialectWriter {
  const blocks = createBlocks(turn);
  return createWriter('Messages API', {
    begin() {
      const head = { id: `msg_${turn}`, type: 'message', role: 'assistant', model: body['model'] ?? '', content: [] };
      const usage = { input_tokens: 0, output_tokens: 0 };
      const message = { ...head, stop_reason: null, stop_sequence: null, usage };
      return [frame('message_start', { message }), frame('ping')];
    },
    chunks: {
      text: ({ text }) => blocks.within('text', { text: '' }, { type: 'text_delta', text }),
      thinking: ({ text }) =>
        blocks.within('thinking', { thinking: '', signature: '' }, { type: 'thinking_delta', thinking: text }),
      source: (chunk) => blocks.within('text', { text: '' }, citation(chunk)),
      toolCallFragment: blocks.toolUse,
      metadata: (chunk) => blocksIn(chunk).flatMap(blocks.whole),
      finish: blocks.close,
    },
    error(error) {
      const type = providerCodeOf(error) ?? 'api_error';
      return [frame('error', { error: { type, message: errorText(error) } })];
    },
    end(finish) {
      const reason = finish.reason === 'unspecified' ? null : wireReason(finish);
      const usage = wireUsage(finish.usage ?? {});
      const end = frame('message_delta', { delta: { stop_reason: reason, stop_sequence: null }, usage });
      return [end, frame('message_stop')];
    },
  });
}

function createBlocks(turn: number) {
  const calls = new Map<string | number, number>();
  let lastIndex = -1;
  let openType: string | undefined;

  const close = (): DialectFrame[] => {
    if (openType === undefined) return [];
    const signature = { type: 'signature_delta', signature: `sig_${turn}_${lastIndex}` };
    const signed = openType === 'thinking' ? [delta(lastIndex, signature)] : [];
    openType = undefined;
    return [...signed, frame('content_block_stop', { index: lastIndex })];
  };
  const open = (type: string, block: JsonObject): DialectFrame[] => {
    const before = close();
    lastIndex += 1;
    openType = type;
    return [...before, frame('content_block_start', { index: lastIndex, content_block: { type, ...block } })];
  };
  const inputDeltas = (index: number, json: readonly string[]) =>
    json.map((partial_json) => delta(index, { type: 'input_json_delta', partial_json }));

  return {
    close,
    within: (type: string, block: JsonObject, fields: JsonObject) => [
      ...(openType === type ? [] : open(type, block)),
      delta(lastIndex, fields),
    ],
    toolUse: ({ index, id, name, arguments: args, done, providerData }: ToolCallFragment): DialectFrame[] => {
      const key = index ?? nonEmptyString(id) ?? lastIndex;
      const known = name === undefined ? calls.get(key) : undefined;
      const data = objectOrEmpty(providerData?.['anthropic']);
      const started =
        known === undefined ? open('tool_use', { id: id ?? '', name: name ?? '', input: {}, ...data }) : [];
      const at = known ?? lastIndex;
      calls.set(key, at);
      const json = typeof args === 'object' && args !== null ? splitJson(args) : [args ?? ''];
      return [...started, ...inputDeltas(at, json), ...(done && at === lastIndex ? close() : [])];
    },
    whole: (block: JsonObject): DialectFrame[] => {
      const { type, input, ...fields } = block;
      const hasInput = isJsonObject(input);
      return [
        ...open(nonEmptyString(type) ?? '', { ...fields, ...(hasInput ? { input: {} } : {}) }),
        ...inputDeltas(lastIndex, hasInput ? splitJson(input) : []),
        ...close(),
      ];
    },
  };
}

/** As the provider of the Messages API reports them: `raw` of `serverTools`, and any other object with a type. */
function blocksIn(chunk: MetadataChunk): readonly JsonObject[] {
  const serverTools = objectsIn(chunk.metadata['serverTools']).map(({ raw }) => raw);
  const objects = [...serverTools, ...Object.values(chunk.metadata)].filter(isJsonObject);
  const blocks = objects.filter(({ type }) => typeof type === 'string');
  if (blocks.length === 0) throw unsupportedChunk('Messages API', chunk, ' without a block');
  return blocks;
}

function citation({ source: { url, title, text } }: Extract<Chunk, { type: 'source' }>): JsonObject {
  const page = {
    type: 'web_search_result_location',
    url: url ?? '',
    title: title ?? null,
    cited_text: text ?? '',
    encrypted_index: 'index',
  };
  return { type: 'citations_delta', citation: page };
}

const stopReasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  toolCalls: 'tool_use',
  contentFilter: 'refusal',
  paused: 'pause_turn',
};

const wireReason = ({ reason, rawReason }: FinishChunk): string => rawReason ?? stopReasons[reason] ?? reason;

/** The API does not include cached tokens in `input_tokens`. */
function wireUsage(usage: Usage): JsonObject {
  const { input, output = 0, cachedInput, cacheWriteInput = 0, longCacheWriteInput: long, reasoning } = usage;
  return omitUndefined({
    input_tokens: input === undefined ? undefined : input - (cachedInput ?? 0) - cacheWriteInput,
    cache_creation_input_tokens: usage.cacheWriteInput,
    cache_read_input_tokens: cachedInput,
    cache_creation:
      long === undefined
        ? undefined
        : { ephemeral_5m_input_tokens: cacheWriteInput - long, ephemeral_1h_input_tokens: long },
    output_tokens: output,
    output_tokens_details: reasoning === undefined ? undefined : { thinking_tokens: reasoning },
  });
}
