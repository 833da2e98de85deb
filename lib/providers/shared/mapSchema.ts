import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '../../core/json/json.js';
import { words } from '../../core/words.js';

const namedSchemas: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);

const subschemas: ReadonlySet<string> = /* @__PURE__ */ words(`
  items prefixItems anyOf oneOf allOf not additionalProperties
`);

/** `map` gets the name of a property or definition, or the index of an item. */
export function mapSubschemas(
  keyword: string,
  value: JsonValue,
  map: (schema: JsonSchema, name?: string | number) => JsonSchema,
): JsonValue {
  const mapSchema = (schema: JsonValue, name?: string | number): JsonValue =>
    isJsonObject(schema) ? map(schema, name) : schema;
  if (namedSchemas.has(keyword) && isJsonObject(value)) return mapValues(value, mapSchema);
  if (!subschemas.has(keyword)) return value;
  return Array.isArray(value) ? (value as readonly JsonValue[]).map(mapSchema) : mapSchema(value);
}

export const mapValues = (object: JsonObject, map: (value: JsonValue, key: string) => JsonValue): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]));

export const describeConstraints = (constraints: JsonObject): string =>
  Object.entries(constraints)
    .map(([keyword, value]) => `${keyword}: ${JSON.stringify(value)}`)
    .join(', ');
