import type { JsonObject, JsonValue } from '../core/json/json.js';
import type { Message } from '../core/message.js';

/** The text of each object that has been marked; empty until it is written. */
const texts = new WeakMap<object, string>();

/** Marks an object that never changes: `jsonText` writes it once for as long as it lives. */
export function markImmutable(object: JsonObject): void {
  texts.set(object, '');
}

/**
 * A request's body as JSON text, exactly as `JSON.stringify` writes it. What stands in its lists (the messages) and is known never to change is not
 * written again: a run sends its whole history with each turn, so that the turns of a run would together cost the square of its length.
 */
export function encodeOnce(body: JsonObject): string {
  const fields: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    const text = Array.isArray(value) ? `[${(value as readonly JsonValue[]).map(entryText).join(',')}]` : textOf(value);
    if (text !== undefined) fields.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${fields.join(',')}}`;
}

function entryText(value: JsonValue): string {
  const known = typeof value === 'object' && value !== null ? texts.get(value) : undefined;
  if (known) return known;
  const text = textOf(value) ?? 'null';
  if (known === '' && typeof value === 'object' && value !== null) texts.set(value, text);
  return text;
}

/** What is undefined has no text: users of plain JavaScript may put it among a request's own fields. */
const textOf = (value: JsonValue) => JSON.stringify(value) as string | undefined;

/**
 * An encoding that is done once for each message, for as long as the message lives: messages are immutable, and each turn of a run sends all of those before
 * it again. Messages with files are not kept, since their bytes would be held twice.
 *
 * @param encode The encoding. It may depend on nothing but the message.
 */
export function memoizePerMessage(
  encode: (message: Message) => readonly JsonObject[],
): (message: Message) => readonly JsonObject[] {
  const kept = new WeakMap<Message, readonly JsonObject[]>();
  return (message) => {
    const known = kept.get(message);
    if (known) return known;
    const encoded = encode(message);
    if (message.parts.some(({ type }) => type === 'file')) return encoded;
    encoded.forEach(markImmutable);
    kept.set(message, encoded);
    return encoded;
  };
}
