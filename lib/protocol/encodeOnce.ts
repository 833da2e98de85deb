import type { JsonObject, JsonValue } from '../core/json/json.js';
import type { Message } from '../core/message.js';

/** The JSON text of each object that is marked as immutable; empty until it was first encoded. */
const cachedTexts = new WeakMap<object, string>();

/** Marks an object that never changes: `encodeOnce` encodes it once in its lifetime. */
export function markImmutable(object: JsonObject): void {
  cachedTexts.set(object, '');
}

/**
 * Encodes a request's body as JSON, exactly as `JSON.stringify` does. The text of a marked object in one of its arrays
 * (the messages) is cached: every turn of a run sends the complete history again, so that encoding it each time would
 * cost the square of the run's length.
 *
 * @param body The body.
 */
export function encodeOnce(body: JsonObject): string {
  const fields: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    const text = Array.isArray(value)
      ? `[${(value as readonly JsonValue[]).map(elementText).join(',')}]`
      : stringify(value);
    if (text !== undefined) fields.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${fields.join(',')}}`;
}

function elementText(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return stringify(value) ?? 'null';
  const cached = cachedTexts.get(value);
  if (cached) return cached;
  const text = stringify(value) ?? 'null';
  if (cached === '') cachedTexts.set(value, text);
  return text;
}

/** `undefined` has no text: in plain JavaScript, a request's own fields may contain it. */
const stringify = (value: JsonValue) => JSON.stringify(value) as string | undefined;

/**
 * Memoizes an encoding for the lifetime of each message: messages are immutable, and every turn of a run sends all
 * earlier ones again. Messages with files are not cached, since their bytes would be held twice.
 *
 * @param encode The encoding. It must depend on nothing but the message.
 */
export function memoizePerMessage(
  encode: (message: Message) => readonly JsonObject[],
): (message: Message) => readonly JsonObject[] {
  const cache = new WeakMap<Message, readonly JsonObject[]>();
  return (message) => {
    const cached = cache.get(message);
    if (cached) return cached;
    const encoded = encode(message);
    if (message.parts.some(({ type }) => type === 'file')) return encoded;
    encoded.forEach(markImmutable);
    cache.set(message, encoded);
    return encoded;
  };
}
