import type { FileChunk, ToolCallFragment } from '../../../../core/chunk.js';
import { errorText } from '../../../../core/errors.js';
import { finiteNumber, isJsonObject, nonEmptyString, type JsonObject } from '../../../../core/json/json.js';
import { splitInput, splitJson } from '../completeCalls.js';
import { providerCodeOf, unsupportedChunk, type Dialect, type DialectFrame, type DialectWriter } from '../dialect.js';
import { objectsIn } from '../history.js';
import { createWriter } from '../writer.js';
import { callFieldsOf, undividedCall } from './clientCalls.js';
import { responsesHistory } from './history.js';
import { annotation, openCall, openMessage, openReasoning, statusOf, wireUsage } from './items.js';
import type { MakeFrame, OpenItem } from './items.js';
import { refusalOf, withStore } from './request.js';
import { createServerItemsWriter } from './serverItems.js';

/** "Streaming events". A call is the item that its provider data names. Ids and times are constant. */
export const responses: Dialect = {
  framing: 'sse',
  contentType: 'text/event-stream; charset=utf-8',
  bases: { openai: '/v1' },
  serves: (path) => path.endsWith('/responses'),
  refusal: refusalOf,
  messages: (body) => objectsIn(body['input']),
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

const api = 'Responses API';

function writer(turn: number, body: JsonObject): DialectWriter {
  const encrypted = Array.isArray(body['include']) && body['include'].includes('reasoning.encrypted_content');
  let sequence = 0;
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
  const output = createOutput(event, turn);
  const calls = createCalls(event, output);
  const serverItems = createServerItemsWriter(event, (item) => output.items.push(item) - 1);
  const message = (id: string, index: number) => openMessage(event, id, index);
  const reasoning = (id: string, index: number) => openReasoning(event, id, index, encrypted);

  return createWriter(api, {
    begin: () =>
      ['created', 'in_progress'].map((step) => event(`response.${step}`, { response: response('in_progress') })),
    chunks: {
      text: ({ text }) => output.within('message', message, (item) => item.delta(text)),
      source: ({ source }) => output.within('message', message, (item) => item.annotate(annotation(source))),
      thinking: ({ text }) => output.within('reasoning', reasoning, (item) => item.delta(text)),
      toolCallFragment: calls.write,
      file: (chunk) => output.whole('ig', imageOf(chunk), 'response.image_generation_call.completed'),
      metadata(chunk) {
        const frames = serverItems.write(chunk);
        if (!frames) throw unsupportedChunk(api, chunk);
        return [...output.close(), ...frames];
      },
      finish({ reason }) {
        const ended = reason === 'length' ? [] : calls.end(); // a truncated call never ends
        return [...output.close(), ...ended];
      },
    },
    error(error) {
      const code = providerCodeOf(error) ?? 'server_error';
      return [event('error', { code, message: errorText(error), param: null })];
    },
    end(finish) {
      if (finish.reason === 'unspecified') return [{ data: '[DONE]' }];
      const { status, rest } = statusOf(finish);
      const usage = finish.usage ? wireUsage(finish.usage) : null;
      const complete = { output: output.items.map((item) => item()), usage };
      return [event(`response.${status}`, { response: response(status, { ...rest, ...complete }) })];
    },
  });
}

function createOutput(event: MakeFrame, turn: number) {
  const items: (() => JsonObject)[] = [];
  let current: OpenItem | undefined;

  const nextId = () => `${turn}_${items.length + 1}`;
  const close = (): readonly DialectFrame[] => {
    const ending = current?.endFrames() ?? [];
    current = undefined;
    return ending;
  };

  return {
    items,
    nextId,
    close,
    within(type: string, open: (id: string, index: number) => OpenItem, write: (item: OpenItem) => DialectFrame) {
      if (current?.type === type) return [write(current)];
      const before = close();
      current = open(nextId(), items.length);
      items.push(current.complete);
      return [...before, ...current.beginFrames, write(current)];
    },
    whole(prefix: string, { started, fields }: WholeItem, progress?: string): readonly DialectFrame[] {
      const [id, index] = [`${prefix}_${nextId()}`, items.length];
      const item = { id, ...fields };
      items.push(() => item);
      return [
        ...close(),
        event('response.output_item.added', { output_index: index, item: { id, ...started, status: 'in_progress' } }),
        ...(progress ? [event(progress, { output_index: index, item_id: id })] : []),
        event('response.output_item.done', { output_index: index, item }),
      ];
    },
  };
}

interface WholeItem {
  readonly started: JsonObject;
  readonly fields: JsonObject;
}

function imageOf(chunk: FileChunk): WholeItem {
  const { data, mediaType } = chunk.file;
  if (data === undefined || !mediaType.startsWith('image/'))
    throw unsupportedChunk(api, chunk, ' that is not an image with its bytes');
  const type = 'image_generation_call';
  const format = mediaType.slice('image/'.length);
  return { started: { type }, fields: { type, status: 'completed', output_format: format, result: data } };
}

function createCalls(event: MakeFrame, output: ReturnType<typeof createOutput>) {
  const calls = new Map<string | number, OpenItem>();
  let lastCall: string | number = '';

  return {
    write: (fragment: ToolCallFragment): readonly DialectFrame[] => {
      const { index, id = '', name, arguments: args, done } = fragment;
      const { type, fields } = callFieldsOf(fragment);
      const content = isJsonObject(args) ? undividedCall(type, args) : undefined;
      if (content) {
        const item = { type, call_id: id, status: 'completed', ...content, ...fields };
        return output.whole(type, { started: item, fields: item });
      }
      const key = index ?? nonEmptyString(id) ?? (name === undefined ? lastCall : `call ${output.items.length}`);
      lastCall = key;
      const before: DialectFrame[] = [];
      let item = calls.get(key);
      if (!item) {
        before.push(...output.close());
        item = openCall(event, {
          type: type === 'custom_tool_call' ? type : 'function_call',
          id: output.nextId(),
          index: output.items.length,
          callId: id,
          name: name ?? '',
          fields,
        });
        output.items.push(item.complete);
        calls.set(key, item);
        before.push(...item.beginFrames);
      }
      const fragments = item.type === 'custom_tool_call' ? splitInput(args) : splitArguments(args);
      const deltas = fragments.map((text) => item.delta(text));
      if (done) calls.delete(key);
      return [...before, ...deltas, ...(done ? item.endFrames() : [])];
    },
    end: () => [...calls.values()].flatMap((item) => item.endFrames()),
  };
}

function splitArguments(args: ToolCallFragment['arguments']): readonly string[] {
  if (typeof args === 'object' && args !== null) return splitJson(args);
  return args ? [args] : [];
}
