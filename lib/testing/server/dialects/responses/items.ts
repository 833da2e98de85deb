import type { FinishChunk } from '../../../../core/chunk.js';
import { isJsonObject, nonEmptyString } from '../../../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../../../core/json/json.js';
import type { SourcePart } from '../../../../core/message.js';
import type { Usage } from '../../../../core/usage.js';
import type { DialectFrame } from '../dialect.js';

/** Makes a frame of an event: its type, and its fields. */
export type Event = (type: string, fields: JsonObject) => DialectFrame;

/** An item that is being written. */
export interface OpenItem {
  readonly type: string;
  /** The frames that announce it. */
  readonly begin: readonly DialectFrame[];
  /** The frame of a piece of its text. */
  delta(piece: string): DialectFrame;
  /** The frame of an annotation of its text. */
  annotate(annotation: JsonObject): DialectFrame;
  /** The frames that end it. */
  end(): readonly DialectFrame[];
  /** As it is in the whole response. */
  readonly whole: () => JsonObject;
}

/** What an item is beside its text. */
interface Kind {
  readonly type: string;
  readonly id: string;
  readonly index: number;
  /** The events of its text. */
  readonly stream: string;
  /** Where its text is in its events. */
  readonly place: JsonObject;
  /** What its text is called where it is whole. */
  readonly text: 'text' | 'arguments';
  /** The events of the part that holds the text, and that part; without it the text is a field of the item. */
  readonly part?: {
    readonly event: string;
    readonly of: (text: string, annotations: readonly JsonObject[]) => JsonObject;
  };
  /** The item with its text, or before there is any. */
  readonly item: (text: string, part: JsonObject | undefined) => Readonly<Record<string, JsonValue>>;
}

function open(event: Event, { type, id, index, stream, place, text: field, part, item }: Kind): OpenItem {
  const annotations: JsonObject[] = [];
  let text = '';
  const at = { item_id: id, output_index: index };
  const partNow = () => part?.of(text, annotations);
  const whole = (): JsonObject => ({ id, type, ...item(text, partNow()) });
  const parts = (step: string, now: JsonObject | undefined) =>
    part && now ? [event(`${part.event}.${step}`, { ...at, ...place, part: now })] : [];
  return {
    type,
    begin: [
      event('response.output_item.added', { output_index: index, item: { id, type, ...item('', undefined) } }),
      ...parts('added', partNow()),
    ],
    delta(piece) {
      text += piece;
      return event(`${stream}.delta`, { ...at, ...place, delta: piece });
    },
    annotate(annotation) {
      annotations.push(annotation);
      return event(`${stream}.annotation.added`, {
        ...at,
        ...place,
        annotation_index: annotations.length - 1,
        annotation,
      });
    },
    end: () => [
      event(`${stream}.done`, { ...at, ...place, [field]: text }),
      ...parts('done', partNow()),
      event('response.output_item.done', { output_index: index, item: whole() }),
    ],
    whole,
  };
}

/** A message. */
export function openMessage(event: Event, id: string, index: number): OpenItem {
  return open(event, {
    type: 'message',
    id: `msg_${id}`,
    index,
    stream: 'response.output_text',
    place: { content_index: 0 },
    text: 'text',
    part: {
      event: 'response.content_part',
      of: (text, annotations) => ({ type: 'output_text', annotations: [...annotations], logprobs: [], text }),
    },
    item: (_, part) => ({ status: part ? 'completed' : 'in_progress', content: part ? [part] : [], role: 'assistant' }),
  });
}

/** Reasoning, shown as a summary; encrypted as a whole where that was asked for. */
export function openReasoning(event: Event, id: string, index: number, encrypted: boolean): OpenItem {
  return open(event, {
    type: 'reasoning',
    id: `rs_${id}`,
    index,
    stream: 'response.reasoning_summary_text',
    place: { summary_index: 0 },
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
  let over = false;
  const call = open(event, {
    type: 'function_call',
    id: `fc_${id}`,
    index,
    stream: 'response.function_call_arguments',
    place: {},
    text: 'arguments',
    item: (text) => ({ status: over ? 'completed' : 'in_progress', arguments: text, call_id: callId, name }),
  });
  return {
    ...call,
    whole: () => (over ? call.whole() : { ...call.whole(), status: 'incomplete' }),
    end() {
      over = true;
      return call.end();
    },
  };
}

/** Writes what a script tells of the tools that OpenAI runs: metadata under `openai-responses`, as a model of ours tells it. */
export interface ServerItemsWriter {
  /** The frames of one fact; undefined where it is none of an item. */
  fact(metadata: JsonObject): readonly DialectFrame[] | undefined;
}

/** What the whole item says. A fact that is nothing but another status is a step. */
const ends: ReadonlySet<string> = new Set(['completed', 'failed', 'incomplete']);

/** The events of the pieces of a text, by the item. */
const pieces: ReadonlyMap<string, string> = new Map([
  ['code_interpreter_call', 'code_interpreter_call_code'],
  ['mcp_call', 'mcp_call_arguments'],
]);

/**
 * @param event Makes a frame.
 * @param add Takes an item as it will be in the whole response, and gives its place there.
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
    fact(metadata) {
      const { id, type, ...rest } = metadata;
      const [name, key] = [nonEmptyString(type), nonEmptyString(id)];
      if (name === undefined || key === undefined) return undefined;
      const before = begin(key, name);
      const entry = open.get(key);
      if (!entry) return before;
      const at = { item_id: key, output_index: entry.index };
      const { status, delta, partial_image_index: image } = rest;
      if (typeof delta === 'string')
        return [...before, event(`response.${pieces.get(name) ?? name}.delta`, { ...at, delta })];
      if (image !== undefined) return [...before, event(`response.${name}.partial_image`, { ...at, ...rest })];
      const step = Object.keys(rest).length === 1 ? nonEmptyString(status) : undefined;
      if (step !== undefined && !ends.has(step)) return [...before, event(`response.${name}.${step}`, at)];
      entry.item = metadata;
      const ended = /_call$|^mcp_list_tools$/.test(name) ? [event(`response.${name}.completed`, at)] : [];
      return [...before, ...ended, event('response.output_item.done', { output_index: entry.index, item: metadata })];
    },
  };
}

/** What a script tells of this provider. */
export function factIn(metadata: JsonObject): JsonObject | undefined {
  const own = metadata['openai-responses'];
  return isJsonObject(own) ? own : undefined;
}

/** The annotation of a text for a source. */
export function annotation({ id, url, title }: SourcePart): JsonObject {
  if (url === undefined) return { type: 'file_citation', file_id: id ?? '', filename: title ?? '', index: 0 };
  return { type: 'url_citation', url, title: title ?? '', start_index: 0, end_index: 0 };
}

/** How the response ended, and what its last event says of it. */
export function statusOf({ reason, rawReason }: FinishChunk): { readonly status: string; readonly rest: JsonObject } {
  if (reason === 'stop' || reason === 'toolCalls') return { status: 'completed', rest: {} };
  const known = reason === 'length' ? 'max_output_tokens' : reason === 'contentFilter' ? 'content_filter' : reason;
  return { status: 'incomplete', rest: { incomplete_details: { reason: rawReason ?? known } } };
}

/** The counts, all of which the API always tells. */
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
