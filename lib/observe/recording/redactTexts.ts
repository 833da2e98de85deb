import type { StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import { asArray, isRecord, objectOrEmpty } from '../../core/json/json.js';
import { findKeyShapes, mayHaveKey, openKeyShape } from '../../protocol/keyShapes.js';
import { findSecrets, mergeRanges, replaceRanges, replacement, type Range } from '../../protocol/secrets.js';
import type { RecordingEntry } from './entries.js';

/** Known secrets, what has the shape of a key, and both where JSON has escaped them. */
export function secretsIn(text: string, secrets: readonly string[]): readonly Range[] {
  const hasEscape = text.includes('\\') && escapedCharacter.test(text);
  if (secrets.length === 0 && !hasEscape && !mayHaveKey(text)) return [];
  const ranges = [...findSecrets(text, secrets, 'recording'), ...findKeyShapes(text)];
  return mergeRanges([...ranges, ...escapedSecrets(text, secrets)]);
}

const escapedCharacter = /\\u00[2-7][\da-f]/i;

const escapes = /\\(?:u00[2-7][\da-f]|[/bfnrt])/i;
const allEscapes = /* @__PURE__ */ new RegExp(escapes, 'gi');

function unescape(text: string): string | undefined {
  if (!text.includes('\\') || !escapes.test(text)) return undefined;
  return text.replace(allEscapes, unescapedCharacter);
}

function escapedPositions(text: string, positions: readonly number[]): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  let excess = 0;
  let next = 0;
  const findBefore = (end: number) => {
    for (let position = positions[next]; position !== undefined && position <= end; position = positions[++next])
      found.set(position, position + excess);
  };
  for (const { 0: escape, index } of text.matchAll(allEscapes)) {
    findBefore(index - excess);
    excess += escape.length - 1;
  }
  findBefore(Infinity);
  return found;
}

function unescapedCharacter(escape: string): string {
  if (escape.length > 2) return String.fromCharCode(parseInt(escape.slice(2), 16));
  return escape === '\\/' ? '/' : ' ';
}

function escapedSecrets(text: string, secrets: readonly string[]): readonly Range[] {
  const plain = unescape(text);
  if (plain === undefined) return [];
  const found = [...findSecrets(plain, secrets, 'recording'), ...findKeyShapes(plain)];
  const positions = escapedPositions(
    text,
    found.flat().sort((a, b) => a - b),
  );
  return found.map(([from, to]) => [positions.get(from) ?? from, positions.get(to) ?? to]);
}

/** The numbers of the entry itself are not secret, and the queue has redacted the texts of deltas, as one text. */
export function redactEntry(entry: RecordingEntry, secrets: readonly string[]): RecordingEntry {
  const fields = Object.entries(entry).map(([field, value]: [string, unknown]) => [
    field,
    typeof value === 'number' || field === 'after' || field === 'texts' ? value : redactValue(value, secrets),
  ]);
  return Object.fromEntries(fields) as RecordingEntry;
}

/** A number with as many digits may be a known secret, such as a PIN. */
const MIN_NUMBER_LENGTH = 4;

function redactValue(value: unknown, secrets: readonly string[], hasCounts = false): unknown {
  if (typeof value === 'string') {
    const ranges = secretsIn(value, secrets);
    return ranges.length > 0 ? replaceRanges(value, ranges) : value;
  }
  if (typeof value === 'number' && !hasCounts) {
    const text = String(value);
    return text.length >= MIN_NUMBER_LENGTH && findSecrets(text, secrets, 'recording').length > 0 ? replacement : value;
  }
  if (Array.isArray(value)) return redactParts(value, secrets).map((item) => redactValue(item, secrets));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => [
      redactValue(field, secrets),
      redactValue(inner, secrets, hasCounts || (field === 'usage' && isRecord(inner))),
    ]),
  );
}

/** A secret may begin in one text part and end in another. */
export function hasSplitText(entry: RecordingEntry): boolean {
  switch (entry.type) {
    case 'start':
      return [...asArray(entry.input), ...asArray(entry.history)].some(isSplit);
    case 'request':
    case 'prompt':
      return asArray(entry.messages).some(isSplit);
    case 'event':
    case 'both':
      return isSplitEvent(entry.value);
    default:
      return false;
  }
}

function isSplitEvent(event: StreamEvent): boolean {
  const known = asKnownEvent(event);
  switch (known.type) {
    case 'message':
      return isSplit(known.message);
    case 'result':
      return asArray(objectOrEmpty(known.result)['messages']).some(isSplit);
    case 'nested':
      return isSplitEvent(objectOrEmpty(known.event) as object as StreamEvent);
    default:
      return false;
  }
}

const isSplit = (message: unknown): boolean => asArray(objectOrEmpty(message)['parts']).filter(isTextPart).length > 1;

function redactParts(parts: readonly unknown[], secrets: readonly string[]): readonly unknown[] {
  const texts = parts.map((part) => (isTextPart(part) ? part.text : ''));
  if (texts.filter((text) => text !== '').length < 2) return parts;
  const clean = redactTexts(texts, secretsIn(texts.join(''), secrets));
  return parts.map((part, index) => (isTextPart(part) ? { ...part, text: clean[index] } : part));
}

const isTextPart = (part: unknown): part is { readonly type: 'text'; readonly text: string } =>
  isRecord(part) && part['type'] === 'text' && typeof part['text'] === 'string';

export type Redacted = readonly [from: number, to: number, text?: string];

/** A secret may span several texts: the replacement is where the secret begins. */
export function redactTexts(texts: readonly string[], found: readonly Redacted[]): readonly string[] {
  let offset = 0;
  let next = 0;
  return texts.map((text) => {
    const [start, end] = [offset, offset + text.length];
    offset = end;
    let clean = '';
    let at = start;
    for (let current = found[next]; current && current[0] < end; current = found[next]) {
      const [from, to, shown = replacement] = current;
      if (from >= at) clean += text.slice(at - start, from - start) + shown;
      at = Math.max(at, Math.min(to, end));
      if (to > end) break; // the rest of it is in the next text
      next++;
    }
    return clean + text.slice(at - start);
  });
}

/** Characters at the end of a text that are kept back because a secret may begin there. */
export const MAX_TAIL_LENGTH = 16_384;

const openEscape = /\\(?:u(?:0(?:0(?:[2-7])?)?)?)?$/i;

/** A known secret may be longer than a word (a password with blanks). */
export function openTail(text: string, secrets: readonly string[]): number {
  const first = Math.max(0, text.length - MAX_TAIL_LENGTH);
  const end = text.slice(first);
  const ending = openEscape.exec(end)?.index ?? end.length;
  const complete = end.slice(0, ending);
  const plain = unescape(complete);
  const tail = plain === undefined ? ending : tailOf(plain, secrets);
  const escaped = plain === undefined ? ending : (escapedPositions(complete, [tail]).get(tail) ?? ending);
  return first + Math.min(ending, tailOf(complete, secrets), escaped);
}

const tailOf = (text: string, secrets: readonly string[]): number =>
  secrets.reduce((tail, secret) => Math.min(tail, openSecret(text, secret)), openKeyShape(text));

function openSecret(text: string, secret: string): number {
  const start = secret.charAt(0);
  let at = text.indexOf(start, Math.max(0, text.length - secret.length + 1));
  while (at >= 0 && !secret.startsWith(text.slice(at))) at = text.indexOf(start, at + 1);
  return at < 0 ? text.length : at;
}
