import type { JsonObject, JsonValue } from '../../../core/json.js';
import type { DialectFrame } from './dialect.js';

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
  readonly part?: { readonly event: string; readonly of: (text: string, annotations: readonly JsonObject[]) => JsonObject };
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
      return event(`${stream}.annotation.added`, { ...at, ...place, annotation_index: annotations.length - 1, annotation });
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
    item: (_, part) => ({ summary: part ? [part] : [], ...(encrypted && part ? { encrypted_content: `encrypted_${id}` } : {}) }),
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
