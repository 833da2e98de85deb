import { isJsonObject, asArray } from '../../core/json/json.js';
import type { JsonSchema, JsonValue } from '../../core/json/json.js';
import { describeConstraints, mapSubschemas } from '../shared/mapSchema.js';

/** Keywords that the API refuses, in a schema of any type. */
const refusedKeywords: ReadonlySet<string> = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'maxItems', 'uniqueItems', 'minContains', 'maxContains'],
  ...['minProperties', 'maxProperties', 'patternProperties', 'propertyNames'],
]);

/** The string formats that the API knows. */
const knownFormats: ReadonlySet<unknown> = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
]);

/**
 * Converts a JSON Schema to what `output_config.format` accepts (platform.claude.com, "Structured outputs", on the
 * limits of JSON Schema; Anthropic's own clients do the same): objects are closed, and constraints that the API refuses
 * with status 400 move to the description, where the model reads them. The answer is still validated against the
 * original schema.
 *
 * @param schema The schema. One that needs no conversion is returned as an equal copy.
 */
export function outputSchema(schema: JsonSchema): JsonSchema {
  const accepted: Record<string, JsonValue> = {};
  const refused: Record<string, JsonValue> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (isRefused(keyword, value)) refused[keyword] = value;
    else accepted[keyword] = mapSubschemas(keyword, value, outputSchema);
  }
  const constraints = describeConstraints(refused);
  if (constraints !== '')
    accepted['description'] = [...asArray(schema['description']), `{${constraints}}`].join('\n\n');
  const isObject = asArray(schema['type']).includes('object') || isJsonObject(schema['properties']);
  return isObject ? { ...accepted, additionalProperties: false } : accepted;
}

function isRefused(keyword: string, value: JsonValue): boolean {
  switch (keyword) {
    case 'format':
      return !knownFormats.has(value);
    case 'minItems':
      return value !== 0 && value !== 1;
    default:
      return refusedKeywords.has(keyword);
  }
}
