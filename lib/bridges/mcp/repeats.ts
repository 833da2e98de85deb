import { isJsonObject } from '../../core/json.js';
import type { JsonValue } from '../../core/json.js';

/**
 * Tells which texts of an answer only repeat its structured content.
 *
 * Such a text is its JSON, in any layout and order of keys. Up to revision 2025-11-25 structured content is an object: the official SDKs put what is
 * none into `{ result }`, and their text is that of the value itself; the one for Python writes a list as one text for each item.
 *
 * @param data The structured content.
 * @param texts All texts of the answer.
 */
export function repeats(data: JsonValue, texts: readonly string[]): (text: string) => boolean {
  const value = unwrapped(data);
  const items = Array.isArray(value) ? (value as readonly unknown[]).flat(Infinity) : [];
  if (texts.length === items.length && texts.every((text, at) => says(text, items[at]))) return () => true;
  return (text) => says(text, data) || says(text, value);
}

function unwrapped(data: JsonValue): JsonValue {
  if (!isJsonObject(data)) return data;
  const [[key, value] = [], ...more] = Object.entries(data);
  return key === 'result' && value !== undefined && more.length === 0 ? value : data;
}

const says = (text: string, value: unknown): boolean => text === value || same(jsonOf(text), value);

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function same(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) return one.length === other.length && one.every((item, at) => same(item, other[at]));
  if (!isJsonObject(one) || !isJsonObject(other)) return one === other;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => Object.hasOwn(other, key) && same(one[key], other[key]));
}
