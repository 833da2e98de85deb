import { isJsonObject, asArray, finiteNumber, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';

/** What a text of an item is. */
export type TextKind = 'text' | 'refusal' | 'summary' | 'reasoning' | 'arguments';

/** The texts of an item by kind and index: an item has several contents, and a reasoning several summaries. */
export type Said = Map<TextKind, Map<number, string>>;

/** All that was said of a kind, in order of the indices. */
export function saidIn(said: Said, kind: TextKind): string {
  return [...(said.get(kind) ?? [])]
    .sort(([a], [b]) => a - b)
    .map(([, text]) => text)
    .join('');
}

/** Where the documented events put their text, and which item they are about (reference, "Streaming events"); two older names of vLLM and LM Studio. */
const streams: ReadonlyMap<string, readonly [kind: TextKind, item: string]> = new Map([
  ['output_text', ['text', 'message']],
  ['refusal', ['refusal', 'message']],
  ['reasoning_text', ['reasoning', 'reasoning']],
  ['reasoning', ['reasoning', 'reasoning']],
  ['reasoning_summary_text', ['summary', 'reasoning']],
  ['reasoning_summary', ['summary', 'reasoning']],
  ['function_call_arguments', ['arguments', 'function_call']],
] as const);

/** A piece of a text, or a whole one. */
export interface TextEvent {
  readonly kind: TextKind;
  /** The type of the item that it belongs to. */
  readonly item: string;
  readonly index: number;
  readonly text: string;
  readonly whole: boolean;
}

/** The text that an event brings, if it is one that does. */
export function textEvent(type: string, event: JsonObject): TextEvent | undefined {
  const [, name = '', step] = /^response\.(\w+)\.(delta|done)$/.exec(type) ?? [];
  if (/^(content|reasoning|reasoning_summary)_part$/.test(name) && step === 'done') return partEvent(event);
  const stream = streams.get(name);
  if (!stream) return undefined;
  const [kind, item] = stream;
  const text =
    step === 'delta' ? wordsOf(event['delta']) : wordsOf(event['text'] ?? event['refusal'] ?? event['arguments']);
  return { kind, item, index: indexOf(event), text, whole: step === 'done' };
}

function partEvent(event: JsonObject): TextEvent | undefined {
  const found = partText(objectOrEmpty(event['part']));
  if (!found) return undefined;
  const [kind, text] = found;
  return {
    kind,
    item: kind === 'text' || kind === 'refusal' ? 'message' : 'reasoning',
    index: indexOf(event),
    text,
    whole: true,
  };
}

const indexOf = (event: JsonObject): number =>
  finiteNumber(event['content_index']) ?? finiteNumber(event['summary_index']) ?? 0;

const partKinds: ReadonlyMap<unknown, TextKind> = new Map([
  ['output_text', 'text'],
  ['text', 'text'],
  ['refusal', 'refusal'],
  ['reasoning_text', 'reasoning'],
  ['summary_text', 'summary'],
] as const);

/** The text of a part of an item. */
function partText(part: JsonObject): readonly [TextKind, string] | undefined {
  const kind = partKinds.get(part['type']);
  return kind && [kind, wordsOf(part[kind === 'refusal' ? 'refusal' : 'text'])];
}

/** Arguments are a string by the reference; some servers send the object. */
function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!isJsonObject(value)) return '';
  return nonEmptyString(value['text']) ?? (Object.keys(value).length > 0 ? JSON.stringify(value) : '');
}

/** All texts of a whole item, by kind; those of other kinds keep the place of an index. */
export function textsOf(item: JsonObject): ReadonlyMap<TextKind, readonly string[]> {
  const texts = new Map<TextKind, string[]>();
  const put = (part: unknown, index: number) => {
    const found = isJsonObject(part)
      ? partText(part)
      : ([item['type'] === 'reasoning' ? 'reasoning' : 'text', wordsOf(part)] as const);
    if (!found || found[1] === '') return;
    const list = texts.get(found[0]) ?? [];
    while (list.length < index) list.push('');
    list[index] = found[1];
    texts.set(found[0], list);
  };
  if (item['type'] === 'function_call') texts.set('arguments', [wordsOf(item['arguments'])]);
  if (item['type'] === 'reasoning') asArray(item['summary']).forEach(put);
  if (item['type'] === 'reasoning' || item['type'] === 'message') asArray(item['content']).forEach(put);
  return texts;
}
