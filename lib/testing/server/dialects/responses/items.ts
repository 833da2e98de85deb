import type { FinishChunk, FinishReason } from '../../../../core/chunk.js';
import type { JsonObject, JsonValue } from '../../../../core/json/json.js';
import type { SourcePart } from '../../../../core/message.js';
import type { Usage } from '../../../../core/usage.js';
import type { DialectFrame } from '../dialect.js';

export type MakeFrame = (type: string, fields: JsonObject) => DialectFrame;

export interface OpenItem {
  readonly type: string;
  readonly beginFrames: readonly DialectFrame[];
  delta(text: string): DialectFrame;
  annotate(annotation: JsonObject): DialectFrame;
  endFrames(): readonly DialectFrame[];
  readonly complete: () => JsonObject;
}

interface ItemKind {
  readonly type: string;
  readonly id: string;
  readonly index: number;
  readonly eventPrefix: string;
  readonly location: JsonObject;
  readonly textField: 'text' | 'arguments' | 'input';
  /** Without a part, the text is a field of the item. */
  readonly part?: {
    readonly eventPrefix: string;
    readonly build: (text: string, annotations: readonly JsonObject[]) => JsonObject;
  };
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

export interface StreamedCall {
  readonly type: 'function_call' | 'custom_tool_call';
  readonly id: string;
  readonly index: number;
  readonly callId: string;
  readonly name: string;
  /** `namespace`, `async`, `caller`. */
  readonly fields: JsonObject;
}

export function openCall(event: MakeFrame, { type, id, index, callId, name, fields }: StreamedCall): OpenItem {
  let ended = false;
  const isFunction = type === 'function_call';
  const textField = isFunction ? 'arguments' : 'input';
  const call = openItem(event, {
    type,
    id: `${isFunction ? 'fc' : 'ctc'}_${id}`,
    index,
    eventPrefix: isFunction ? 'response.function_call_arguments' : 'response.custom_tool_call_input',
    location: {},
    textField,
    item: (text) => ({
      status: ended ? 'completed' : 'in_progress',
      [textField]: text,
      call_id: callId,
      name,
      ...fields,
    }),
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

export function annotation({ id, url, title, start = 0, end = 0 }: SourcePart): JsonObject {
  if (url === undefined) return { type: 'file_citation', file_id: id ?? '', filename: title ?? '', index: start };
  return { type: 'url_citation', url, title: title ?? '', start_index: start, end_index: end };
}

const incompleteReasons: Partial<Record<FinishReason, string>> = {
  length: 'max_output_tokens',
  contentFilter: 'content_filter',
  limit: 'max_messages',
  other: 'steered',
};

export function statusOf({ reason, rawReason }: FinishChunk): { readonly status: string; readonly rest: JsonObject } {
  if (reason === 'stop' || reason === 'toolCalls') return { status: 'completed', rest: {} };
  const word = rawReason ?? incompleteReasons[reason] ?? reason;
  return { status: 'incomplete', rest: { incomplete_details: { reason: word } } };
}

/** Absent counts become 0, because the API always sends all of them. */
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
