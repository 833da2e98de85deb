import { isJsonObject } from '../../core/json.js';
import type { JsonObject, JsonSchema, JsonValue } from '../../core/json.js';
import { isStrict } from './isStrict.js';

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

function adjust(schema: JsonObject): JsonObject {
  const entries = Object.entries(schema);
  const said = entries.filter(([keyword]) => told.has(keyword));
  const kept = entries
    .filter(([keyword]) => !told.has(keyword))
    .map(([keyword, value]): [string, JsonValue] => [keyword === 'oneOf' ? 'anyOf' : keyword, adjustedIn(keyword, value)]);
  const plain: JsonObject = Object.fromEntries(kept);
  const described = said.length === 0 ? plain : { ...plain, description: description(plain['description'], said) };
  return isJsonObject(described['properties']) ? closed(described, described['properties']) : described;
}

function adjustedIn(keyword: string, value: JsonValue): JsonValue {
  if (['properties', '$defs', 'definitions'].includes(keyword) && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, isJsonObject(inner) ? adjust(inner) : inner]));
  }
  if (keyword === 'items' && isJsonObject(value)) return adjust(value);
  if ((keyword !== 'anyOf' && keyword !== 'oneOf') || !Array.isArray(value)) return value;
  return (value as readonly JsonValue[]).map((choice) => (isJsonObject(choice) ? adjust(choice) : choice));
}

const description = (held: JsonValue | undefined, said: readonly [string, JsonValue][]): string =>
  [...(typeof held === 'string' ? [held] : []), said.map(([keyword, value]) => `${keyword}: ${JSON.stringify(value)}`).join(', ')].join(
    ' ',
  );

/** An object that takes other keys on purpose stays open, and the schema is then not strict. */
function closed(schema: JsonObject, properties: JsonObject): JsonObject {
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as readonly JsonValue[]) : []);
  const all = Object.entries(properties).map(([name, inner]): [string, JsonValue] => [
    name,
    required.has(name) || !isJsonObject(inner) ? inner : nullable(inner),
  ]);
  const open = schema['additionalProperties'] !== undefined && schema['additionalProperties'] !== false;
  return {
    ...schema,
    properties: Object.fromEntries(all),
    required: Object.keys(properties),
    ...(open ? {} : { additionalProperties: false }),
  };
}

const nullable = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] });
