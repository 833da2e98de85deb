import type { FinishChunk } from '../../../../core/chunk.js';
import { isJsonObject, nonEmptyString } from '../../../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../../../core/json/json.js';
import type { SourcePart } from '../../../../core/message.js';
import type { Usage } from '../../../../core/usage.js';
import type { DialectFrame } from '../dialect.js';

/** Makes a frame of an event: its type, and its fields. */
export type Event = (type: string, fields: JsonObject) => DialectFrame;

/** An output item that is being written. */
export interface OpenItem {
  readonly type: string;
  /** The frames that announce it. */
  readonly begin: readonly DialectFrame[];
  /** The frame of a text delta. */
  delta(text: string): DialectFrame;
  /** The frame of an annotation of its text. */
  annotate(annotation: JsonObject): DialectFrame;
  /** The frames that end it. */
  end(): readonly DialectFrame[];
  /** The item as the complete response contains it. */
  readonly complete: () => JsonObject;
}

/** Describes an item whose text streams. */
interface ItemKind {
  readonly type: string;
  readonly id: string;
  readonly index: number;
  /** The prefix of its text events. */
  readonly stream: string;
  /** Fields that locate its text in its events. */
  readonly location: JsonObject;
  /** The field of the complete text. */
  readonly text: 'text' | 'arguments';
  /**
   * The prefix of the events of the part that contains the text, and the part. Without it, the text is a field of the
   * item.
   */
  readonly part?: {
    readonly event: string;
    readonly of: (text: string, annotations: readonly JsonObject[]) => JsonObject;
  };
  /** The fields of the item, with its text so far. */
  readonly item: (text: string, part: JsonObject | undefined) => Readonly<Record<string, JsonValue>>;
}

function open(event: Event, { type, id, index, stream, location, text: field, part, item }: ItemKind): OpenItem {
  const annotations: JsonObject[] = [];
  let text = '';
  const at = { item_id: id, output_index: index };
  const currentPart = () => part?.of(text, annotations);
  const complete = (): JsonObject => ({ id, type, ...item(text, currentPart()) });
  const parts = (step: string, now: JsonObject | undefined) =>
    part && now ? [event(`${part.event}.${step}`, { ...at, ...location, part: now })] : [];
  return {
    type,
    begin: [
      event('response.output_item.added', { output_index: index, item: { id, type, ...item('', undefined) } }),
      ...parts('added', currentPart()),
    ],
    delta(added) {
      text += added;
      return event(`${stream}.delta`, { ...at, ...location, delta: added });
    },
    annotate(annotation) {
      annotations.push(annotation);
      return event(`${stream}.annotation.added`, {
        ...at,
        ...location,
        annotation_index: annotations.length - 1,
        annotation,
      });
    },
    end: () => [
      event(`${stream}.done`, { ...at, ...location, [field]: text }),
      ...parts('done', currentPart()),
      event('response.output_item.done', { output_index: index, item: complete() }),
    ],
    complete,
  };
}

/** A message. */
export function openMessage(event: Event, id: string, index: number): OpenItem {
  return open(event, {
    type: 'message',
    id: `msg_${id}`,
    index,
    stream: 'response.output_text',
    location: { content_index: 0 },
    text: 'text',
    part: {
      event: 'response.content_part',
      of: (text, annotations) => ({ type: 'output_text', annotations: [...annotations], logprobs: [], text }),
    },
    item: (_, part) => ({ status: part ? 'completed' : 'in_progress', content: part ? [part] : [], role: 'assistant' }),
  });
}

/** Reasoning with a summary, and with encrypted content if the request asks for it. */
export function openReasoning(event: Event, id: string, index: number, encrypted: boolean): OpenItem {
  return open(event, {
    type: 'reasoning',
    id: `rs_${id}`,
    index,
    stream: 'response.reasoning_summary_text',
    location: { summary_index: 0 },
    text: 'text',
    part: { event: 'response.reasoning_summary_part', of: (text) => ({ type: 'summary_text', text }) },
    item: (_, part) => ({
      summary: part ? [part] : [],
      ...(encrypted && part ? { encrypted_content: `encrypted_${id}` } : {}),
    }),
  });
}

/** A function call. */
export function openCall(event: Event, id: string, index: number, callId: string, name: string): OpenItem {
  let ended = false;
  const call = open(event, {
    type: 'function_call',
    id: `fc_${id}`,
    index,
    stream: 'response.function_call_arguments',
    location: {},
    text: 'arguments',
    item: (text) => ({ status: ended ? 'completed' : 'in_progress', arguments: text, call_id: callId, name }),
  });
  return {
    ...call,
    complete: () => (ended ? call.complete() : { ...call.complete(), status: 'incomplete' }),
    end() {
      ended = true;
      return call.end();
    },
  };
}

/**
 * Writes the items of tools that OpenAI runs, from the script's metadata under `openai-responses` (as `openaiResponses`
 * emits it).
 */
export interface ServerItemsWriter {
  /** The frames of one metadata value; undefined if it does not describe an item. */
  write(metadata: JsonObject): readonly DialectFrame[] | undefined;
}

/** Final statuses. Metadata with no other field than another status is a step of the item. */
const finalStatuses: ReadonlySet<string> = new Set(['completed', 'failed', 'incomplete']);

/** The prefix of the delta events, by item type. */
const deltaEvents: ReadonlyMap<string, string> = new Map([
  ['code_interpreter_call', 'code_interpreter_call_code'],
  ['mcp_call', 'mcp_call_arguments'],
]);

/**
 * @param event Makes a frame.
 * @param add Adds an item to the complete response and returns its index there.
 */
export function serverItemsWriter(event: Event, add: (item: () => JsonObject) => number): ServerItemsWriter {
  const open = new Map<string, { readonly index: number; item: JsonObject }>();

  const begin = (id: string, type: string): readonly DialectFrame[] => {
    if (open.has(id)) return [];
    const entry = { index: 0, item: { id, type, status: 'in_progress' } as JsonObject };
    const index = add(() => entry.item);
    open.set(id, Object.assign(entry, { index }));
    return [event('response.output_item.added', { output_index: index, item: entry.item })];
  };
  return {
    write(metadata) {
      const { id, type, ...rest } = metadata;
      const [name, key] = [nonEmptyString(type), nonEmptyString(id)];
      if (name === undefined || key === undefined) return undefined;
      const before = begin(key, name);
      const entry = open.get(key);
      if (!entry) return before;
      const at = { item_id: key, output_index: entry.index };
      const { status, delta, partial_image_index: image } = rest;
      if (typeof delta === 'string')
        return [...before, event(`response.${deltaEvents.get(name) ?? name}.delta`, { ...at, delta })];
      if (image !== undefined) return [...before, event(`response.${name}.partial_image`, { ...at, ...rest })];
      const step = Object.keys(rest).length === 1 ? nonEmptyString(status) : undefined;
      if (step !== undefined && !finalStatuses.has(step)) return [...before, event(`response.${name}.${step}`, at)];
      entry.item = metadata;
      const ended = /_call$|^mcp_list_tools$/.test(name) ? [event(`response.${name}.completed`, at)] : [];
      return [...before, ...ended, event('response.output_item.done', { output_index: entry.index, item: metadata })];
    },
  };
}

/** The script's metadata for this provider. */
export function providerMetadata(metadata: JsonObject): JsonObject | undefined {
  const data = metadata['openai-responses'];
  return isJsonObject(data) ? data : undefined;
}

/** The annotation that a source becomes. */
export function annotation({ id, url, title }: SourcePart): JsonObject {
  if (url === undefined) return { type: 'file_citation', file_id: id ?? '', filename: title ?? '', index: 0 };
  return { type: 'url_citation', url, title: title ?? '', start_index: 0, end_index: 0 };
}

/** The status of the response, and the further fields of its last event. */
export function statusOf({ reason, rawReason }: FinishChunk): { readonly status: string; readonly rest: JsonObject } {
  if (reason === 'stop' || reason === 'toolCalls') return { status: 'completed', rest: {} };
  const known = reason === 'length' ? 'max_output_tokens' : reason === 'contentFilter' ? 'content_filter' : reason;
  return { status: 'incomplete', rest: { incomplete_details: { reason: rawReason ?? known } } };
}

/** The API always sends all counts. */
export function wireUsage({
  input = 0,
  output = 0,
  total = input + output,
  cachedInput = 0,
  reasoning = 0,
}: Usage): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cachedInput },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total,
  };
}
