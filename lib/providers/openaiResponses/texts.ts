import { asArray, finiteNumber, isJsonObject, nonEmptyString, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { StringBuilder } from '../../core/stringBuilder.js';

export type TextKind = 'text' | 'refusal' | 'summary' | 'reasoning' | 'arguments' | 'input';

export class ItemTexts {
  private readonly byKind = new Map<TextKind, TextsOfKind>();

  add(kind: TextKind, index: number, text: string): void {
    let texts = this.byKind.get(kind);
    if (!texts) this.byKind.set(kind, (texts = new TextsOfKind()));
    texts.add(index, text);
  }

  get(kind: TextKind, index: number): string {
    return this.byKind.get(kind)?.byIndex.get(index)?.toString() ?? '';
  }

  kinds(): readonly TextKind[] {
    return [...this.byKind.keys()];
  }

  length(kind: TextKind): number {
    return this.byKind.get(kind)?.length ?? 0;
  }

  join(kind: TextKind): string {
    return [...(this.byKind.get(kind)?.byIndex ?? [])]
      .sort(([a], [b]) => a - b)
      .map(([, builder]) => builder.toString())
      .join('');
  }

  /** They are joined only where the lengths are equal. */
  equals(kind: TextKind, text: string): boolean {
    return this.length(kind) === text.length && this.join(kind) === text;
  }
}

class TextsOfKind {
  readonly byIndex = new Map<number, StringBuilder>();
  length = 0;

  add(index: number, text: string): void {
    let builder = this.byIndex.get(index);
    if (!builder) this.byIndex.set(index, (builder = new StringBuilder()));
    builder.add(text);
    this.length += text.length;
  }
}

/** Some servers send such a placeholder before the arguments. */
export function isEmptyArguments(text: string): boolean {
  const trimmed = text.trim();
  return trimmed === 'null' || (trimmed.startsWith('{') && trimmed.slice(1).trimStart() === '}');
}

export interface TextEvent {
  readonly kind: TextKind;
  readonly itemType: string;
  readonly index: number;
  readonly text: string;
  readonly complete: boolean;
}

/** Reference, "Streaming events", and two older events of vLLM and LM Studio (`reasoning...`). */
const textEvents: ReadonlyMap<string, Pick<TextEvent, 'kind' | 'itemType'>> = new Map([
  ['output_text', { kind: 'text', itemType: 'message' }],
  ['refusal', { kind: 'refusal', itemType: 'message' }],
  ['reasoning_text', { kind: 'reasoning', itemType: 'reasoning' }],
  ['reasoning', { kind: 'reasoning', itemType: 'reasoning' }],
  ['reasoning_summary_text', { kind: 'summary', itemType: 'reasoning' }],
  ['reasoning_summary', { kind: 'summary', itemType: 'reasoning' }],
  ['function_call_arguments', { kind: 'arguments', itemType: 'function_call' }],
  ['custom_tool_call_input', { kind: 'input', itemType: 'custom_tool_call' }],
] as const);

const partEvents: ReadonlySet<string> = new Set(['content_part', 'reasoning_part', 'reasoning_summary_part']);

const eventPrefix = 'response.';

export function readTextEvent(type: string, event: JsonObject): TextEvent | undefined {
  const nameEnd = type.lastIndexOf('.');
  const complete = type.endsWith('.done');
  if (!type.startsWith(eventPrefix) || (!complete && !type.endsWith('.delta'))) return undefined;
  const name = type.slice(eventPrefix.length, nameEnd);
  if (complete && partEvents.has(name)) return readPartEvent(event);
  const textType = textEvents.get(name);
  if (!textType) return undefined;
  const { kind, itemType } = textType;
  const value = complete ? (event['text'] ?? event['refusal'] ?? event['arguments'] ?? event['input']) : event['delta'];
  return { kind, itemType, index: textIndex(event), text: toText(value), complete };
}

function readPartEvent(event: JsonObject): TextEvent | undefined {
  const partText = readPart(objectOrEmpty(event['part']));
  if (!partText) return undefined;
  const [kind, text] = partText;
  const itemType = kind === 'text' || kind === 'refusal' ? 'message' : 'reasoning';
  return { kind, itemType, index: textIndex(event), text, complete: true };
}

const textIndex = (event: JsonObject): number =>
  finiteNumber(event['content_index']) ?? finiteNumber(event['summary_index']) ?? 0;

const partKinds: ReadonlyMap<unknown, TextKind> = new Map([
  ['output_text', 'text'],
  ['text', 'text'],
  ['refusal', 'refusal'],
  ['reasoning_text', 'reasoning'],
  ['summary_text', 'summary'],
] as const);

function readPart(part: JsonObject): readonly [TextKind, string] | undefined {
  const kind = partKinds.get(part['type']);
  return kind && [kind, toText(part[kind === 'refusal' ? 'refusal' : 'text'])];
}

/** Strings (reference), but some servers send `{ text }`, or the arguments as an object. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!isJsonObject(value)) return '';
  return nonEmptyString(value['text']) ?? (Object.keys(value).length > 0 ? JSON.stringify(value) : '');
}

/** If the content at an index is of another kind, the text there is empty. */
export function snapshotTexts(item: JsonObject): ReadonlyMap<TextKind, readonly string[]> {
  const { type, content, summary } = item;
  const texts = new Map<TextKind, string[]>();
  const add = (part: unknown, index: number) => {
    const [kind, text] = readContent(part, type === 'reasoning' ? 'reasoning' : 'text');
    if (text === '') return;
    const kindTexts = texts.get(kind) ?? [];
    while (kindTexts.length < index) kindTexts.push('');
    kindTexts[index] = text;
    texts.set(kind, kindTexts);
  };
  switch (type) {
    case 'function_call':
      texts.set('arguments', [toText(item['arguments'])]);
      break;
    case 'custom_tool_call':
      texts.set('input', [toText(item['input'])]);
      break;
    case 'reasoning':
      asArray(summary).forEach(add);
      asArray(content).forEach(add);
      break;
    case 'message':
      asArray(content).forEach(add);
      break;
    default:
  }
  return texts;
}

export function readUnknownParts({ type, content }: JsonObject): readonly JsonObject[] {
  if (type !== 'message' && type !== 'reasoning') return [];
  return asArray(content)
    .filter(isJsonObject)
    .filter((part) => part['type'] !== undefined && !partKinds.has(part['type']));
}

/** Some servers send a string instead of a part. */
function readContent(part: unknown, defaultKind: TextKind): readonly [TextKind, string] {
  if (!isJsonObject(part)) return [defaultKind, toText(part)];
  return readPart(part) ?? [defaultKind, ''];
}
