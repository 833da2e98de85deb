import { isJsonObject, asArray } from '../../core/json/json.js';
import type { JsonSchema, JsonValue } from '../../core/json/json.js';
import { describeConstraints, mapSubschemas } from '../shared/mapSchema.js';

/** Keywords that the API rejects, in a schema of any type. */
const rejectedKeywords: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
  'patternProperties',
  'propertyNames',
]);

/** The string formats that the API supports. */
const supportedFormats: ReadonlySet<unknown> = new Set([
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

/**
 * Converts a JSON Schema to a schema that `output_config.format` accepts (platform.claude.com, "Structured outputs", on
 * the limits of JSON Schema; Anthropic's own SDKs do the same). Objects accept no other properties. Constraints that
 * the API rejects with status 400 move to the description, so that the model still reads them. The output is still
 * validated against the original schema.
 *
 * @param schema The original schema. It is not modified.
 * @returns The converted schema; an equal copy if the schema needs no conversion.
 */
export function outputSchema(schema: JsonSchema): JsonSchema {
  const accepted: Record<string, JsonValue> = {};
  const rejected: Record<string, JsonValue> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (isRejected(keyword, value)) rejected[keyword] = value;
    else accepted[keyword] = mapSubschemas(keyword, value, outputSchema);
  }
  const constraints = describeConstraints(rejected);
  if (constraints !== '')
    accepted['description'] = [...asArray(schema['description']), `{${constraints}}`].join('\n\n');
  const isObject = asArray(schema['type']).includes('object') || isJsonObject(schema['properties']);
  return isObject ? { ...accepted, additionalProperties: false } : accepted;
}

function isRejected(keyword: string, value: JsonValue): boolean {
  switch (keyword) {
    case 'format':
      return !supportedFormats.has(value);
    case 'minItems':
      return value !== 0 && value !== 1;
    default:
      return rejectedKeywords.has(keyword);
  }
}
