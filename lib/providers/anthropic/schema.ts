import { isJsonObject } from '../../core/json.js';
import type { JsonObject, JsonSchema, JsonValue } from '../../core/json.js';

/** Keywords that the API refuses, in a schema of any type. */
const refused: ReadonlySet<string> = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'maxItems', 'uniqueItems', 'minContains', 'maxContains'],
  ...['minProperties', 'maxProperties', 'patternProperties', 'propertyNames'],
]);
/** Formats of strings that it knows. */
const formats: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);

/** Keywords that hold schemas by name, and those that hold one or a list. */
const maps: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
const inner: ReadonlySet<string> = new Set(['items', 'prefixItems', 'anyOf', 'oneOf', 'allOf', 'not']);

/**
 * A JSON Schema as `output_config.format` takes it (platform.claude.com, "Structured outputs", on the limits of JSON Schema; the vendor's own
 * clients do the same): objects are closed, and constraints that the API refuses with status 400 are said in the description instead, where the
 * model reads them. Whoever validates the answer validates them still.
 *
 * @param schema The schema. One without such constraints comes out as it is.
 */
export function outputSchema(schema: JsonSchema): JsonSchema {
  const kept: Record<string, JsonValue> = {};
  const told: Record<string, JsonValue> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (isRefused(keyword, value)) told[keyword] = value;
    else kept[keyword] = adapted(keyword, value);
  }
  if (Object.keys(told).length > 0) kept['description'] = described(schema['description'], told);
  const isObject = listed(schema['type']).includes('object') || isJsonObject(schema['properties']);
  return isObject ? { ...kept, additionalProperties: false } : kept;
}

function isRefused(keyword: string, value: JsonValue): boolean {
  if (keyword === 'format') return !formats.has(value);
  if (keyword === 'minItems') return value !== 0 && value !== 1;
  return refused.has(keyword);
}

function adapted(keyword: string, value: JsonValue): JsonValue {
  if (maps.has(keyword) && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, isJsonObject(schema) ? outputSchema(schema) : schema]));
  }
  if (!inner.has(keyword)) return value;
  if (isJsonObject(value)) return outputSchema(value);
  return Array.isArray(value) ? (value as readonly JsonValue[]).map((one) => (isJsonObject(one) ? outputSchema(one) : one)) : value;
}

const listed = (value: JsonValue | undefined): readonly unknown[] => (Array.isArray(value) ? value : [value]);

function described(description: JsonValue | undefined, told: JsonObject): string {
  const constraints = Object.entries(told).map(([keyword, value]) => `${keyword}: ${JSON.stringify(value)}`);
  return [...(typeof description === 'string' ? [description] : []), `{${constraints.join(', ')}}`].join('\n\n');
}
