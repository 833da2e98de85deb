import { isJsonObject, type JsonValue } from './json.js';

/** Equal values have equal texts. */
export const canonicalJson = (value: JsonValue): string => JSON.stringify(value, sortKeys);

const sortKeys = (_key: string, value: JsonValue): unknown =>
  isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
