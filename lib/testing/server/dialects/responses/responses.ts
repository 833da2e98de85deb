import type { Chunk, FinishChunk, ToolCallFragment } from '../../../../core/chunk.js';
import { errorText } from '../../../../core/errors.js';
import { finiteNumber, isJsonObject, isRecord, nonEmptyString } from '../../../../core/json/json.js';
import type { JsonObject } from '../../../../core/json/json.js';
import type { FilePart } from '../../../../core/message.js';
import { splitInput, splitJson } from '../completeCalls.js';
import { unsupportedChunk } from '../dialect.js';
import type { Dialect, DialectFrame, DialectWriter } from '../dialect.js';
import { callFieldsOf, wholeCallContent } from './clientCalls.js';
import { responsesHistory } from './history.js';
import { annotation, openCall, openMessage, openReasoning, statusOf, wireUsage } from './items.js';
import type { OpenItem } from './items.js';
import { refusalOf, withStore } from './request.js';
import { createServerItemsWriter } from './serverItems.js';

/**
 * OpenAI's Responses API as server-sent events, as its reference documents them ("Streaming events"): items are added,
 * grow by deltas and are done; each one is repeated in full at its end, and the complete response comes last. Thinking
 * becomes a summary of reasoning, a source an annotation, an image the result of an `image_generation_call`. The
 * metadata `serverTools` (as `openaiResponses` emits it) becomes the items and events of tools that OpenAI runs, and an
 * item under `unknown` is sent unchanged. A call whose provider data has the `type` of another item
 * (`{ 'openai-responses': { type: 'shell_call' } }`) becomes that item. A server stores responses for
 * `previous_response_id`, and a background response so that a client can request its rest:
 * `GET /responses/{id}?stream=true&starting_after=N`.
 *
 * Ids and times are constant: the same script results in the same bytes.
 */
export const responses: Dialect = {
  framing: 'sse',
  contentType: 'text/event-stream; charset=utf-8',
  bases: { 'openai-responses': '/v1' },
  serves: (path) => path.endsWith('/responses'),
  refusal: refusalOf,
  messages: (body) => (Array.isArray(body['input']) ? body['input'].filter(isJsonObject) : []),
  history: responsesHistory,
  perServer: () => withStore(responses),
  writer: ({ turn, body }) => writer(turn, body),
  keptId: ({ turn, body }) => (body['background'] === true ? `resp_${turn}` : undefined),
  restOf({ method, path }) {
    const [, id, query] = /\/responses\/([^/?]+)\?(.*)$/.exec(path) ?? [];
    const parameters = new URLSearchParams(query);
    if (method !== 'GET' || id === undefined || parameters.get('stream') !== 'true') return undefined;
    const after = Number(parameters.get('starting_after') ?? -1);
    return { id, includes: ({ data }) => sequenceNumberOf(data) > after };
  },
  errorBody: ({ message, type, param, code }) => ({
    error: { message, type, param: param ?? null, code: code ?? null },
  }),
};

function sequenceNumberOf(data: string): number {
  const event: unknown = JSON.parse(data);
  return (isJsonObject(event) ? finiteNumber(event['sequence_number']) : undefined) ?? Infinity;
}

function writer(turn: number, body: JsonObject): DialectWriter {
  const encrypted = Array.isArray(body['include']) && body['include'].includes('reasoning.encrypted_content');
  const output: (() => JsonObject)[] = [];
  const calls = new Map<string | number, OpenItem>();
  let sequence = 0;
  let currentItem: OpenItem | undefined;
  let lastCall: string | number = '';
  let hasBegun = false;
  let finish: FinishChunk | undefined;

  const event = (type: string, fields: JsonObject): DialectFrame => ({
    event: type,
    data: JSON.stringify({ type, sequence_number: sequence++, ...fields }),
  });
  const response = (status: string, rest: JsonObject = {}): JsonObject => ({
    id: `resp_${turn}`,
    object: 'response',
    created_at: 1_700_000_000,
    status,
    error: null,
    incomplete_details: null,
    ...(body['background'] === true ? { background: true } : {}),
    model: body['model'] ?? '',
    store: body['store'] ?? true,
    output: [],
    usage: null,
    ...rest,
  });
  const begin = (): DialectFrame[] => {
    if (hasBegun) return [];
    hasBegun = true;
    return ['created', 'in_progress'].map((step) => event(`response.${step}`, { response: response('in_progress') }));
  };
  const close = (): readonly DialectFrame[] => {
    const ending = currentItem?.endFrames() ?? [];
    currentItem = undefined;
    return ending;
  };
  const serverItems = createServerItemsWriter(event, (item) => output.push(item) - 1);
  const nextId = () => `${turn}_${output.length + 1}`;
  const within = (type: string, open: () => OpenItem): readonly DialectFrame[] => {
    if (currentItem?.type === type) return [];
    const before = close();
    currentItem = open();
    output.push(currentItem.complete);
    return [...before, ...currentItem.beginFrames];
  };
  const message = () => within('message', () => openMessage(event, nextId(), output.length));
  const reasoning = () => within('reasoning', () => openReasoning(event, nextId(), output.length, encrypted));
  const wholeCall = (type: string, content: JsonObject, callId: string): readonly DialectFrame[] => {
    const [id, index] = [`${type}_${nextId()}`, output.length];
    const item = { id, type, call_id: callId, status: 'completed', ...content };
    output.push(() => item);
    return [
      ...close(),
      event('response.output_item.added', { output_index: index, item: { ...item, status: 'in_progress' } }),
      event('response.output_item.done', { output_index: index, item }),
    ];
  };
  const call = (fragment: ToolCallFragment): readonly DialectFrame[] => {
    const { index, id, name, arguments: args, done } = fragment;
    const { type, fields } = callFieldsOf(fragment);
    const content = isJsonObject(args) ? wholeCallContent(type, args) : undefined;
    if (content) return wholeCall(type, { ...content, ...fields }, id ?? '');
    const key = index ?? nonEmptyString(id) ?? (name === undefined ? lastCall : `call ${output.length}`);
    lastCall = key;
    const before: DialectFrame[] = [];
    let item = calls.get(key);
    if (!item) {
      before.push(...close());
      item = openCall(event, {
        type: type === 'custom_tool_call' ? type : 'function_call',
        id: nextId(),
        index: output.length,
        callId: id ?? '',
        name: name ?? '',
        fields,
      });
      output.push(item.complete);
      calls.set(key, item);
      before.push(...item.beginFrames);
    }
    const fragments = item.type === 'custom_tool_call' ? splitInput(args) : splitArguments(args);
    const deltas = fragments.map((fragment) => item.delta(fragment));
    if (done) calls.delete(key);
    return [...before, ...deltas, ...(done ? item.endFrames() : [])];
  };
  const image = (file: FilePart): readonly DialectFrame[] => {
    const [id, index] = [`ig_${nextId()}`, output.length];
    const item = {
      id,
      type: 'image_generation_call',
      status: 'completed',
      output_format: file.mediaType.slice('image/'.length),
      result: file.data ?? '',
    };
    output.push(() => item);
    return [
      ...close(),
      event('response.output_item.added', {
        output_index: index,
        item: { id, type: item.type, status: 'in_progress' },
      }),
      event('response.image_generation_call.completed', { output_index: index, item_id: id }),
      event('response.output_item.done', { output_index: index, item }),
    ];
  };
  const encode = (chunk: Exclude<Chunk, FinishChunk>): readonly DialectFrame[] => {
    if (chunk.type === 'toolCallFragment') return call(chunk);
    if (chunk.type === 'file' && chunk.file.data !== undefined && chunk.file.mediaType.startsWith('image/'))
      return image(chunk.file);
    if (chunk.type === 'text' || chunk.type === 'source') {
      const before = message();
      const frame =
        chunk.type === 'text' ? currentItem?.delta(chunk.text) : currentItem?.annotate(annotation(chunk.source));
      return [...before, ...(frame ? [frame] : [])];
    }
    const frames = serverItems.write(chunk);
    if (frames) return [...close(), ...frames];
    if (chunk.type === 'thinking') {
      const before = reasoning();
      return [...before, ...(currentItem ? [currentItem.delta(chunk.text)] : [])];
    }
    throw unsupportedChunk('Responses API', chunk, chunk.type === 'file' ? ' that is not an image with its bytes' : '');
  };

  return {
    next(chunk) {
      if (chunk.type !== 'finish') return [...begin(), ...encode(chunk)];
      finish = chunk;
      const truncated = chunk.reason === 'length'; // a truncated call never ends
      const open = truncated ? [] : [...calls.values()].flatMap((item) => item.endFrames());
      return [...begin(), ...close(), ...open];
    },
    error: (error) => {
      const code = isRecord(error) ? nonEmptyString(error['providerCode']) : undefined;
      return [event('error', { code: code ?? 'server_error', message: errorText(error), param: null })];
    },
    end() {
      if (!finish) return [];
      if (finish.reason === 'unspecified') return [{ data: '[DONE]' }];
      const { status, rest } = statusOf(finish);
      const complete = { output: output.map((item) => item()), usage: finish.usage ? wireUsage(finish.usage) : null };
      return [event(`response.${status}`, { response: response(status, { ...rest, ...complete }) })];
    },
  };
}

function splitArguments(args: ToolCallFragment['arguments']): readonly string[] {
  if (typeof args === 'object' && args !== null) return splitJson(args);
  return args ? [args] : [];
}
