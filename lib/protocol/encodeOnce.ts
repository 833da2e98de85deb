import { growing, SharedList } from '../core/growing.js';
import { objectOrEmpty, type JsonObject, type JsonValue } from '../core/json/json.js';
import type { Message, Part } from '../core/message.js';
import type { ToolDefinition } from '../core/tool.js';

const cachedTexts = new WeakMap<object, string>();

export function markImmutable(object: JsonObject): void {
  cachedTexts.set(object, '');
}

/** Every turn sends all messages and tools again: the cost would be the square of the run's length. */
export function encodeOnce(body: JsonObject): string {
  // Appended, and not joined: V8 then copies the texts only once, when `fetch` reads the body.
  let fields = '';
  for (const name of Object.keys(body)) {
    const value = body[name] as JsonValue;
    const text = Array.isArray(value) ? arrayText(value) : stringify(value);
    if (text !== undefined) fields += `${fields === '' ? '' : ','}${encodeJson(name)}:${text}`;
  }
  return `{${fields}}`;
}

/** Of arrays whose elements never change. */
const arrayTexts = new WeakMap<readonly JsonValue[], string>();

const arrayText = (values: readonly JsonValue[]): string =>
  `[${arrayTexts.get(values) ?? values.map(elementText).join(',')}]`;

/** V8 copies a text that was appended element by element half as fast as one of these blocks. */
const BLOCK_LENGTH = 16;

function joinTexts(first: string, texts: readonly string[]): string {
  const second = texts.join(',');
  return first === '' || second === '' ? first + second : `${first},${second}`;
}

function elementText(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return stringify(value) ?? 'null';
  const cached = cachedTexts.get(value);
  if (cached) return cached;
  const text = stringify(value) ?? 'null';
  if (cached === '') cachedTexts.set(value, text);
  return text;
}

/** In plain JavaScript, a request's own fields may contain `undefined`, which has no text. */
const stringify = (value: JsonValue) => encodeJson(value) as string | undefined;

/** Half a pair becomes U+FFFD: Anthropic answers 400 to it (anthropics/claude-code#60394). */
export function encodeJson(value: JsonValue): string {
  const text = JSON.stringify(value);
  // Only half a pair is encoded as an escape. A backslash of the text itself is doubled.
  const mayBeCut = typeof text === 'string' && text.includes('\\ud');
  return mayBeCut ? text.replace(/(?<!\\)((?:\\\\)*)\\ud[\da-f]{3}/g, '$1\ufffd') : text;
}

/**
 * Memoizes an encoding for the lifetime of each message: messages are immutable, and every turn of a run sends all
 * earlier ones again. Messages with files are not cached, since their bytes would be held twice.
 *
 * @param encode The encoding. It must depend on nothing but the message.
 */
export function memoizePerMessage<T extends JsonObject>(
  encode: (message: Message) => readonly T[],
): (message: Message) => readonly T[] {
  const encodeMemoized = memoizePerAnswer((message) => encode(message));
  return (message) => encodeMemoized(message);
}

/** For APIs whose encoding of results depends on nothing but the message with their calls. */
export function memoizePerAnswer<T extends JsonObject>(
  encode: (message: Message, answered?: Message) => readonly T[],
): (message: Message, answered?: Message) => readonly T[] {
  const cache = new WeakMap<Message, { readonly answered: Message | undefined; readonly encoded: readonly T[] }>();
  return (message, answered) => {
    const cached = cache.get(message);
    if (cached && cached.answered === answered) return cached.encoded;
    const encoded = encode(message, answered);
    if (message.parts.some(holdsFile)) return encoded;
    encoded.forEach(markImmutable);
    cache.set(message, { answered, encoded });
    return encoded;
  };
}

/** Reads only new messages, and those with files. `encode` may depend on nothing but its arguments. */
export function encodeConversation<T extends JsonObject>(
  encode: (message: Message, answered: Message | undefined) => readonly T[],
): (messages: readonly Message[]) => readonly T[] {
  const encodeMemoized = memoizePerAnswer(encode);
  const start: EncodedConversation<T> = { encoded: new SharedList(), text: '', last: [] };
  const encodeGrowing = growing<Message, EncodedConversation<T>>(
    start,
    ({ encoded, text, last }, message, previous) => {
      const answered = previous?.role === 'model' ? previous : undefined;
      if (message.parts.some(holdsFile)) return { encoded: encoded.append([() => encode(message, answered)]), last };
      const added = encodeMemoized(message, answered);
      const all = encoded.append(added);
      if (text === undefined) return { encoded: all, last };
      const texts = last.concat(added.map(elementText));
      if (texts.length < BLOCK_LENGTH) return { encoded: all, text, last: texts };
      return { encoded: all, text: joinTexts(text, texts), last: [] };
    },
  );
  return (messages) => {
    const { encoded, text, last } = encodeGrowing(messages);
    const list = encoded.toArray();
    if (text === undefined) return list.flatMap((each) => (typeof each === 'function' ? each() : [each]));
    arrayTexts.set(list as readonly T[], joinTexts(text, last));
    return list as readonly T[];
  };
}

interface EncodedConversation<T> {
  /** A message with files is a function, since its bytes would be held twice. */
  readonly encoded: SharedList<T | (() => readonly T[])>;
  /** Absent if a message has files. */
  readonly text?: string | undefined;
  /** Texts that are not in `text` yet. */
  readonly last: readonly string[];
}

export function joinEncoded<T extends JsonObject>(first: readonly T[], second: readonly T[]): readonly T[] {
  if (first.length === 0) return second;
  if (second.length === 0) return first;
  const all = first.concat(second);
  const [text, added] = [arrayTexts.get(first), arrayTexts.get(second)];
  if (text !== undefined && added !== undefined) arrayTexts.set(all, joinTexts(text, [added]));
  return all;
}

export function holdsFile(part: Part): boolean {
  if (part.type !== 'toolResult') return part.type === 'file';
  return [part.result].flat().some((item) => objectOrEmpty(item)['type'] === 'file');
}

/** Every turn sends all definitions again. `encode` must depend on nothing but the definition. */
export function memoizePerTool(encode: (tool: ToolDefinition) => JsonObject): (tool: ToolDefinition) => JsonObject {
  const cache = new WeakMap<ToolDefinition, JsonObject>();
  return (tool) => {
    const cached = cache.get(tool);
    if (cached) return cached;
    const encoded = encode(tool);
    markImmutable(encoded);
    cache.set(tool, encoded);
    return encoded;
  };
}
