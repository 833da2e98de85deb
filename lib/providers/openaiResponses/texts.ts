import { asArray, finiteNumber, isJsonObject, nonEmptyString, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';

/** The kinds of text that an item has. */
export type TextKind = 'text' | 'refusal' | 'summary' | 'reasoning' | 'arguments';

/** The texts of an item by kind and index: a message has several contents, and a reasoning several summaries. */
export type ItemTexts = Map<TextKind, Map<number, string>>;

/** Joins all texts of a kind, in order of their indices. */
export function joinTexts(texts: ItemTexts, kind: TextKind): string {
  return [...(texts.get(kind) ?? [])]
    .sort(([a], [b]) => a - b)
    .map(([, text]) => text)
    .join('');
}

/** Text that an event adds to an item. */
export interface TextEvent {
  readonly kind: TextKind;
  /** The type of the item that the text belongs to. */
  readonly itemType: string;
  readonly index: number;
  readonly text: string;
  /** Whether `text` is the complete text, instead of a delta. */
  readonly complete: boolean;
}

/**
 * The kind of text and the type of item of each documented event (reference, "Streaming events"), and of two older names
 * of vLLM and LM Studio (`reasoning`, `reasoning_summary`).
 */
const textEvents: ReadonlyMap<string, readonly [kind: TextKind, itemType: string]> = new Map([
  ['output_text', ['text', 'message']],
  ['refusal', ['refusal', 'message']],
  ['reasoning_text', ['reasoning', 'reasoning']],
  ['reasoning', ['reasoning', 'reasoning']],
  ['reasoning_summary_text', ['summary', 'reasoning']],
  ['reasoning_summary', ['summary', 'reasoning']],
  ['function_call_arguments', ['arguments', 'function_call']],
] as const);

/** Reads the text of an event; undefined if the event has none. */
export function textEvent(type: string, event: JsonObject): TextEvent | undefined {
  const [, name = '', step] = /^response\.(\w+)\.(delta|done)$/.exec(type) ?? [];
  if (step === 'done' && /^(content|reasoning|reasoning_summary)_part$/.test(name)) return partEvent(event);
  const textType = textEvents.get(name);
  if (!textType) return undefined;
  const [kind, itemType] = textType;
  const complete = step === 'done';
  const value = complete ? (event['text'] ?? event['refusal'] ?? event['arguments']) : event['delta'];
  return { kind, itemType, index: textIndex(event), text: stringOf(value), complete };
}

function partEvent(event: JsonObject): TextEvent | undefined {
  const partText = readPart(objectOrEmpty(event['part']));
  if (!partText) return undefined;
  const [kind, text] = partText;
  const itemType = kind === 'text' || kind === 'refusal' ? 'message' : 'reasoning';
  return { kind, itemType, index: textIndex(event), text, complete: true };
}

const textIndex = (event: JsonObject): number =>
  finiteNumber(event['content_index']) ?? finiteNumber(event['summary_index']) ?? 0;

/** The kind of text of each type of part. */
const partKinds: ReadonlyMap<unknown, TextKind> = new Map([
  ['output_text', 'text'],
  ['text', 'text'],
  ['refusal', 'refusal'],
  ['reasoning_text', 'reasoning'],
  ['summary_text', 'summary'],
] as const);

function readPart(part: JsonObject): readonly [TextKind, string] | undefined {
  const kind = partKinds.get(part['type']);
  return kind && [kind, stringOf(part[kind === 'refusal' ? 'refusal' : 'text'])];
}

/** By the reference texts and arguments are strings; some servers send `{ text }`, or the arguments as an object. */
function stringOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!isJsonObject(value)) return '';
  return nonEmptyString(value['text']) ?? (Object.keys(value).length > 0 ? JSON.stringify(value) : '');
}

/** Reads all texts of a snapshot of an item, by kind and index. An index of another kind holds an empty text. */
export function snapshotTexts(item: JsonObject): ReadonlyMap<TextKind, readonly string[]> {
  const { type, content, summary } = item;
  const texts = new Map<TextKind, string[]>();
  const add = (part: unknown, index: number) => {
    const [kind, text] = readContent(part, type === 'reasoning' ? 'reasoning' : 'text');
    if (text === '') return;
    const ofKind = texts.get(kind) ?? [];
    while (ofKind.length < index) ofKind.push('');
    ofKind[index] = text;
    texts.set(kind, ofKind);
  };
  switch (type) {
    case 'function_call':
      texts.set('arguments', [stringOf(item['arguments'])]);
      break;
    case 'reasoning':
      asArray(summary).forEach(add);
      asArray(content).forEach(add);
      break;
    case 'message':
      asArray(content).forEach(add);
      break;
    default: // other items have no texts
  }
  return texts;
}

/** Some servers send a string as a part. */
function readContent(part: unknown, plainKind: TextKind): readonly [TextKind, string] {
  if (!isJsonObject(part)) return [plainKind, stringOf(part)];
  return readPart(part) ?? [plainKind, ''];
}
