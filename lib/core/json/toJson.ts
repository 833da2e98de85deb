import { errorText } from '../errors.js';
import { base64 } from '../message.js';
import type { JsonValue } from './json.js';

/**
 * A value as plain JSON: what was not there is null, bytes are base64, dates are ISO texts, errors are what they say; later changes to the value do not reach the copy.
 *
 * @throws TypeError for what JSON cannot hold: circular structures, bigints, maps and sets (of which `JSON.stringify` leaves `{}`).
 */
export function toJson(value: unknown): JsonValue {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  const text = JSON.stringify(value, withBytes) as string | undefined; // undefined for undefined, functions and symbols
  return text === undefined ? null : (JSON.parse(text) as JsonValue);
}

/** Node's Buffer turns itself into a list of numbers before a replacer sees it: the bytes are still in the holder. */
function withBytes(this: unknown, key: string, value: unknown): unknown {
  const held = (this as Record<string, unknown>)[key];
  if (held instanceof Map || held instanceof Set) {
    throw new TypeError('JSON holds no Map or Set: give Object.fromEntries(map) or [...set].');
  }
  if (held instanceof Error) return errorText(held);
  if (held instanceof ArrayBuffer) return base64(new Uint8Array(held));
  return ArrayBuffer.isView(held) ? base64(new Uint8Array(held.buffer, held.byteOffset, held.byteLength)) : value;
}
