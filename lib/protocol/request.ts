import { errorText, historyError } from '../core/errors.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../core/json/json.js';

/** Either may have a query (`?api-version=`, `?alt=sse`). The base may end in slashes, or be relative. */
export function joinUrl(base: string, path: string): string {
  const [, baseUrl = '', baseQuery = ''] = urlAndQuery.exec(base.trim()) ?? [];
  const [, subPath = '', pathQuery = ''] = urlAndQuery.exec(path) ?? [];
  const query = [baseQuery, pathQuery].filter((part) => part !== '').join('&');
  const url = withoutTrailingSlashes(`${withoutTrailingSlashes(baseUrl)}/${subPath.replace(/^\/+/, '')}`);
  return query === '' ? url : `${url}?${query}`;
}

/** A loop: a regular expression tries each run of slashes from each of its slashes. */
function withoutTrailingSlashes(url: string): string {
  let end = url.length;
  while (url.charAt(end - 1) === '/') end--;
  return url.slice(0, end);
}

const urlAndQuery = /^([^?#]*)(?:\?([^#]*))?/;

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

/** Objects are merged deeply, arrays and `null` replace, and `undefined` removes a field. */
export function mergeJson(
  body: JsonObject,
  overrides: Readonly<Record<string, JsonValue | undefined>> = {},
): JsonObject {
  const merged = new Map(Object.entries(body));
  for (const [key, value] of Object.entries(overrides)) {
    const current = merged.get(key);
    if (value === undefined) merged.delete(key);
    else merged.set(key, isJsonObject(value) && isJsonObject(current) ? mergeJson(current, value) : value);
  }
  return Object.fromEntries(merged);
}

/** `JSON.stringify` throws a RangeError for some 5,000 levels, and for too long texts. */
export function encodingError(thrown: unknown, provider: string): unknown {
  if ((thrown as Partial<Error> | null)?.name !== 'RangeError') return thrown;
  return historyError(
    `The request to ${provider} cannot be encoded as JSON: ${errorText(thrown)}.`,
    'Shorten the history, and pass messages, schemas and options with fewer levels of objects and arrays.',
  );
}
