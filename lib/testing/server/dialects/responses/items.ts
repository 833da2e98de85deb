import type { FinishChunk } from '../../../../core/chunk.js';
import { isJsonObject, nonEmptyString } from '../../../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../../../core/json/json.js';
import type { SourcePart } from '../../../../core/message.js';
import type { Usage } from '../../../../core/usage.js';
import type { DialectFrame } from '../dialect.js';

/** Builds the frame of an event. */
export type MakeFrame = (type: string, fields: JsonObject) => DialectFrame;

/** An output item that is being written. */
export interface OpenItem {
  readonly type: string;
  /** The frames that announce the item. */
  readonly beginFrames: readonly DialectFrame[];
  /** The frame of a text delta. */
  delta(text: string): DialectFrame;
  /** The frame of an annotation of its text. */
  annotate(annotation: JsonObject): DialectFrame;
  /** Ends the item. Returns its last frames. */
  endFrames(): readonly DialectFrame[];
  /** The item as the complete response contains it. */
  readonly complete: () => JsonObject;
}

/** Describes an item whose text streams. */
interface ItemKind {
  readonly type: string;
  readonly id: string;
  readonly index: number;
  /** The prefix of its text events. */
  readonly eventPrefix: string;
  /** Fields that locate its text in its events. */
  readonly location: JsonObject;
  /** The field of the complete text. */
  readonly textField: 'text' | 'arguments';
  /**
   * The content part that holds the text: its event prefix and its value. Without a part, the text is a field of the
   * item.
   */
  readonly part?: {
    readonly eventPrefix: string;
    readonly build: (text: string, annotations: readonly JsonObject[]) => JsonObject;
  };
  /** The fields of the item, with its text so far. */
  readonly item: (text: string, part: JsonObject | undefined) => Readonly<Record<string, JsonValue>>;
}

function openItem(
  event: MakeFrame,
  { type, id, index, eventPrefix, location, textField, part, item }: ItemKind,
): OpenItem {
  const annotations: JsonObject[] = [];
  let text = '';
  const identity = { item_id: id, output_index: index };
  const currentPart = () => part?.build(text, annotations);
  const complete = (): JsonObject => ({ id, type, ...item(text, currentPart()) });
  const parts = (step: string, value: JsonObject | undefined) =>
    part && value ? [event(`${part.eventPrefix}.${step}`, { ...identity, ...location, part: value })] : [];
  return {
    type,
    beginFrames: [
      event('response.output_item.added', { output_index: index, item: { id, type, ...item('', undefined) } }),
      ...parts('added', currentPart()),
    ],
    delta(added) {
      text += added;
      return event(`${eventPrefix}.delta`, { ...identity, ...location, delta: added });
    },
    annotate(annotation) {
      annotations.push(annotation);
      return event(`${eventPrefix}.annotation.added`, {
        ...identity,
        ...location,
        annotation_index: annotations.length - 1,
        annotation,
      });
    },
    endFrames: () => [
      event(`${eventPrefix}.done`, { ...identity, ...location, [textField]: text }),
      ...parts('done', currentPart()),
      event('response.output_item.done', { output_index: index, item: complete() }),
    ],
    complete,
  };
}

/** Opens a message item. */
export function openMessage(event: MakeFrame, id: string, index: number): OpenItem {
  return openItem(event, {
    type: 'message',
    id: `msg_${id}`,
    index,
    eventPrefix: 'response.output_text',
    location: { content_index: 0 },
    textField: 'text',
    part: {
      eventPrefix: 'response.content_part',
      build: (text, annotations) => ({ type: 'output_text', annotations: [...annotations], logprobs: [], text }),
    },
    item: (_, part) => ({ status: part ? 'completed' : 'in_progress', content: part ? [part] : [], role: 'assistant' }),
  });
}

/** Opens a reasoning item with a summary, and with encrypted content if the request asks for it. */
export function openReasoning(event: MakeFrame, id: string, index: number, encrypted: boolean): OpenItem {
  return openItem(event, {
    type: 'reasoning',
    id: `rs_${id}`,
    index,
    eventPrefix: 'response.reasoning_summary_text',
    location: { summary_index: 0 },
    textField: 'text',
    part: { eventPrefix: 'response.reasoning_summary_part', build: (text) => ({ type: 'summary_text', text }) },
    item: (_, part) => ({
      summary: part ? [part] : [],
      ...(encrypted && part ? { encrypted_content: `encrypted_${id}` } : {}),
    }),
  });
}

/** Opens a function call item. */
export function openCall(event: MakeFrame, id: string, index: number, callId: string, name: string): OpenItem {
  let ended = false;
  const call = openItem(event, {
    type: 'function_call',
    id: `fc_${id}`,
    index,
    eventPrefix: 'response.function_call_arguments',
    location: {},
    textField: 'arguments',
    item: (text) => ({ status: ended ? 'completed' : 'in_progress', arguments: text, call_id: callId, name }),
  });
  return {
    ...call,
    complete: () => (ended ? call.complete() : { ...call.complete(), status: 'incomplete' }),
    endFrames() {
      ended = true;
      return call.endFrames();
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

/** Final statuses. Metadata whose only field is a non-final status reports a step. */
const finalStatuses: ReadonlySet<string> = new Set(['completed', 'failed', 'incomplete']);

/** The prefix of the delta events, by item type. */
const deltaEvents: ReadonlyMap<string, string> = new Map([
  ['code_interpreter_call', 'code_interpreter_call_code'],
  ['mcp_call', 'mcp_call_arguments'],
]);

/**
 * Creates a writer for the items of provider-run tools.
 *
 * @param event Builds the frame of an event.
 * @param add Adds an item to the complete response and returns its index there.
 */
export function createServerItemsWriter(event: MakeFrame, add: (item: () => JsonObject) => number): ServerItemsWriter {
  const openItems = new Map<string, { index: number; item: JsonObject }>();

  const begin = (id: string, type: string): readonly DialectFrame[] => {
    if (openItems.has(id)) return [];
    const entry: { index: number; item: JsonObject } = { index: 0, item: { id, type, status: 'in_progress' } };
    entry.index = add(() => entry.item);
    openItems.set(id, entry);
    return [event('response.output_item.added', { output_index: entry.index, item: entry.item })];
  };
  return {
    write(metadata) {
      const { id, type, ...rest } = metadata;
      const [name, key] = [nonEmptyString(type), nonEmptyString(id)];
      if (name === undefined || key === undefined) return undefined;
      const beginFrames = begin(key, name);
      const entry = openItems.get(key);
      if (!entry) return beginFrames;
      const identity = { item_id: key, output_index: entry.index };
      const { status, delta, partial_image_index: image } = rest;
      if (typeof delta === 'string')
        return [...beginFrames, event(`response.${deltaEvents.get(name) ?? name}.delta`, { ...identity, delta })];
      if (image !== undefined)
        return [...beginFrames, event(`response.${name}.partial_image`, { ...identity, ...rest })];
      const step = Object.keys(rest).length === 1 ? nonEmptyString(status) : undefined;
      if (step !== undefined && !finalStatuses.has(step))
        return [...beginFrames, event(`response.${name}.${step}`, identity)];
      entry.item = metadata;
      // OpenAI announces the end of a call by its type; messages have no such event.
      const ended = /_call$|^mcp_list_tools$/.test(name) ? [event(`response.${name}.completed`, identity)] : [];
      return [
        ...beginFrames,
        ...ended,
        event('response.output_item.done', { output_index: entry.index, item: metadata }),
      ];
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

/** The usage on the wire. Absent counts become 0, because the API always sends all of them. */
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
