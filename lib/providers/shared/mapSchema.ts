import { isJsonObject } from '../../core/json/json.js';
import type { JsonObject, JsonSchema, JsonValue } from '../../core/json/json.js';

/** Keywords that hold schemas by name, and those that hold one or a list. */
const maps: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
const inner: ReadonlySet<string> = new Set(['items', 'prefixItems', 'anyOf', 'oneOf', 'allOf', 'not']);

/** The value of a keyword, with each schema right within it changed. */
export function mapSubschemas(
  keyword: string,
  value: JsonValue,
  change: (schema: JsonSchema) => JsonSchema,
): JsonValue {
  const changed = (one: JsonValue): JsonValue => (isJsonObject(one) ? change(one) : one);
  if (maps.has(keyword) && isJsonObject(value)) return mapValues(value, changed);
  if (!inner.has(keyword)) return value;
  return Array.isArray(value) ? (value as readonly JsonValue[]).map(changed) : changed(value);
}

/** An object with each value changed. */
export const mapValues = (object: JsonObject, change: (value: JsonValue, key: string) => JsonValue): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));

/** Constraints in words, for a description. */
export const describeConstraints = (constraints: JsonObject): string =>
  Object.entries(constraints)
    .map(([keyword, value]) => `${keyword}: ${JSON.stringify(value)}`)
    .join(', ');
