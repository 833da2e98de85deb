import { isJsonObject } from '../../core/json.js';
import type { JsonObject, JsonSchema, JsonValue } from '../../core/json.js';
import { inWords, mapValues, withInner } from './innerSchemas.js';
import { isStrict } from './isStrict.js';
import { listOf } from './values.js';

/** Keywords that strict mode refuses, but that can be said in the description: whoever validates the answer checks them still. */
const told: ReadonlySet<string> = new Set([
  'minLength',
  'maxLength',
  'uniqueItems',
  'default',
  'examples',
  'contentEncoding',
  'contentMediaType',
]);

/**
 * A schema with the adjustments that strict mode demands (OpenAI's guide to structured outputs): objects are closed, an optional property becomes a required one that may be
 * null (on the way back, `withoutOptionalNulls` takes the null away), `oneOf` becomes `anyOf`, and constraints that it refuses are told in the description.
 *
 * @param schema The schema of the whole answer.
 * @returns The schema to send, and whether it is strict. One that cannot be adjusted (open maps, `allOf`) comes out as it is, not strict.
 */
export function strictSchema(schema: JsonSchema): { readonly schema: JsonSchema; readonly strict: boolean } {
  if (isStrict(schema)) return { schema, strict: true };
  const adjusted = adjust(schema);
  return isStrict(adjusted) ? { schema: adjusted, strict: true } : { schema, strict: false };
}

function adjust(schema: JsonSchema): JsonSchema {
  const kept: Record<string, JsonValue> = {};
  const said: Record<string, JsonValue> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (told.has(keyword)) said[keyword] = value;
    else kept[keyword === 'oneOf' ? 'anyOf' : keyword] = withInner(keyword, value, adjust);
  }
  const words = inWords(said);
  if (words !== '') kept['description'] = [...listOf(kept['description']), words].join(' ');
  return isJsonObject(kept['properties']) ? closed(kept, kept['properties']) : kept;
}

/** An object that takes other keys on purpose stays open, and the schema is then not strict. */
function closed(schema: JsonObject, properties: JsonObject): JsonObject {
  const required = new Set(listOf(schema['required']));
  return {
    ...schema,
    properties: mapValues(properties, (inner, name) => (required.has(name) ? inner : { anyOf: [inner, { type: 'null' }] })),
    required: Object.keys(properties),
    additionalProperties: schema['additionalProperties'] ?? false,
  };
}
