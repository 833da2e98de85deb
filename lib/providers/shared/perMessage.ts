import type { JsonObject } from '../../core/json.js';
import type { Message } from '../../core/message.js';
import { neverChanges } from '../../protocol/jsonText.js';

/**
 * An encoding that is done once for each message, for as long as the message lives: messages are immutable, and each turn of a run sends all of those before
 * it again. Messages with files are not kept, since their bytes would be held twice.
 *
 * @param encode The encoding. It may depend on nothing but the message.
 */
export function perMessage(encode: (message: Message) => readonly JsonObject[]): (message: Message) => readonly JsonObject[] {
  const kept = new WeakMap<Message, readonly JsonObject[]>();
  return (message) => {
    const known = kept.get(message);
    if (known) return known;
    const encoded = encode(message);
    if (message.parts.some(({ type }) => type === 'file')) return encoded;
    encoded.forEach(neverChanges);
    kept.set(message, encoded);
    return encoded;
  };
}
