import { isJsonObject } from '../core/json/json.js';
import type { JsonObject, JsonValue } from '../core/json/json.js';

/**
 * A base URL and a path below it. Either may have a query (Azure's `?api-version=...`, Google's `?alt=sse`); the base may end in slashes
 * and may be relative (`/api/llm`, a proxy in front of a browser).
 *
 * @param base The base URL.
 * @param path Below it, beginning with a slash.
 */
export function joinUrl(base: string, path: string): string {
  const [, root = '', baseQuery = ''] = /^([^?#]*)(?:\?([^#]*))?/.exec(base.trim()) ?? [];
  const [, below = '', pathQuery = ''] = /^([^?#]*)(?:\?([^#]*))?/.exec(path) ?? [];
  const query = [baseQuery, pathQuery].filter((part) => part !== '').join('&');
  const whole = `${root.replace(/\/+$/, '')}/${below.replace(/^\/+/, '')}`.replace(/\/+$/, '');
  return query === '' ? whole : `${whole}?${query}`;
}

/** Headers merged without regard to case; the last one wins. Names come out in lower case. */
export function mergeHeaders(
  ...all: readonly (Readonly<Record<string, string>> | undefined)[]
): Readonly<Record<string, string>> {
  const merged: Record<string, string> = {};
  for (const headers of all) {
    for (const name in headers) {
      const value = headers[name];
      if (value !== undefined) merged[name.toLowerCase()] = value;
    }
  }
  return merged;
}

/**
 * A request's body with fields of the user's merged over it: objects deeply, everything else (lists and `null` too) replaced, and what is
 * `undefined` removed.
 *
 * @param body Ours.
 * @param over The user's: JSON, or with undefined to leave out a field of ours.
 */
export function mergeJson(body: JsonObject, over: Readonly<Record<string, JsonValue | undefined>> = {}): JsonObject {
  const merged = new Map(Object.entries(body));
  for (const [key, value] of Object.entries(over)) {
    const ours = merged.get(key);
    if (value === undefined) merged.delete(key);
    else merged.set(key, isJsonObject(value) && isJsonObject(ours) ? mergeJson(ours, value) : value);
  }
  return Object.fromEntries(merged);
}
