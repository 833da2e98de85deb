import { isJsonObject, asArray } from '../../core/json/json.js';
import type { JsonSchema, JsonValue } from '../../core/json/json.js';
import { describeConstraints, mapSubschemas } from '../shared/mapSchema.js';

/** Keywords that the API refuses, in a schema of any type. */
const refused: ReadonlySet<string> = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'maxItems', 'uniqueItems', 'minContains', 'maxContains'],
  ...['minProperties', 'maxProperties', 'patternProperties', 'propertyNames'],
]);

/** Formats of strings that it knows. */
const formats: ReadonlySet<unknown> = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
]);

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
    else kept[keyword] = mapSubschemas(keyword, value, outputSchema);
  }
  const words = describeConstraints(told);
  if (words !== '') kept['description'] = [...asArray(schema['description']), `{${words}}`].join('\n\n');
  const isObject = asArray(schema['type']).includes('object') || isJsonObject(schema['properties']);
  return isObject ? { ...kept, additionalProperties: false } : kept;
}

function isRefused(keyword: string, value: JsonValue): boolean {
  if (keyword === 'format') return !formats.has(value);
  if (keyword === 'minItems') return value !== 0 && value !== 1;
  return refused.has(keyword);
}
