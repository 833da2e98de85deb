import { isJsonObject, isRecord, asArray } from '../../core/json/json.js';
import type { JsonObject, JsonSchema, JsonValue } from '../../core/json/json.js';
import { describeConstraints, mapValues, mapSubschemas } from './mapSchema.js';

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
 * null (on the way back, `omitOptionalNulls` takes the null away), `oneOf` becomes `anyOf`, and constraints that it refuses are told in the description.
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
    else kept[keyword === 'oneOf' ? 'anyOf' : keyword] = mapSubschemas(keyword, value, adjust);
  }
  const words = describeConstraints(said);
  if (words !== '') kept['description'] = [...asArray(kept['description']), words].join(' ');
  return isJsonObject(kept['properties']) ? closed(kept, kept['properties']) : kept;
}

/** An object that takes other keys on purpose stays open, and the schema is then not strict. */
function closed(schema: JsonObject, properties: JsonObject): JsonObject {
  const required = new Set(asArray(schema['required']));
  return {
    ...schema,
    properties: mapValues(properties, (inner, name) =>
      required.has(name) ? inner : { anyOf: [inner, { type: 'null' }] },
    ),
    required: Object.keys(properties),
    additionalProperties: schema['additionalProperties'] ?? false,
  };
}

/** The keywords that strict mode takes, by OpenAI's guide to structured outputs ("Supported schemas"). Any other one is refused with 400. */
const supported: ReadonlySet<string> = new Set([
  ...[
    'type',
    'properties',
    'required',
    'additionalProperties',
    'items',
    'enum',
    'const',
    'anyOf',
    '$ref',
    '$defs',
    'definitions',
  ],
  ...['title', 'description', 'pattern', 'format', 'minItems', 'maxItems'],
  ...['multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
]);

/** The formats of strings that strict mode takes. */
const formats: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
]);

/** Limits of strict mode: schemas within schemas, properties and enum values in all. */
const limits = { depth: 10, properties: 5000, values: 1000 } as const;

/**
 * Whether a JSON Schema satisfies the demands of strict structured output as it stands: the root an object, every object closed and all its
 * properties required, no keyword but the supported ones, within the limits. It says no where it cannot be sure: a schema without `strict`
 * is followed as well as the model can, one that is refused is an error.
 *
 * @param schema The schema of the whole answer.
 */
export function isStrict(schema: unknown): boolean {
  if (!isRecord(schema) || schema['type'] !== 'object' || 'anyOf' in schema) return false;
  const count = { properties: 0, values: 0 };
  return isStrictPart(schema, 1, count) && count.properties <= limits.properties && count.values <= limits.values;
}

/** Counts as it goes; `depth` is how many schemas the part lies in, itself included. */
function isStrictPart(schema: unknown, depth: number, count: { properties: number; values: number }): boolean {
  if (!isRecord(schema) || depth > limits.depth || !Object.keys(schema).every((keyword) => supported.has(keyword)))
    return false;
  const { $ref, type, anyOf, items, enum: values, properties = {}, $defs = {}, definitions = {} } = schema;
  // A reference stands alone: strict mode refuses keywords beside it.
  if ($ref !== undefined) return typeof $ref === 'string' && $ref.startsWith('#') && Object.keys(schema).length === 1;
  if (!isRecord(properties) || (type ?? anyOf) === undefined || (anyOf !== undefined && !Array.isArray(anyOf)))
    return false;
  const types = asArray(type);
  const whole = types.includes('object') ? isClosed(schema, Object.keys(properties)) : !('properties' in schema);
  if (!whole || (types.includes('array') && items === undefined) || !isStrictString(schema)) return false;
  const named = [properties, $defs, definitions].flatMap((schemas) =>
    isRecord(schemas) ? Object.values(schemas) : [],
  );
  count.properties += Object.keys(properties).length;
  count.values += Array.isArray(values) ? values.length : 0;
  return [...named, ...asArray(items), ...asArray(anyOf)].every((part) => isStrictPart(part, depth + 1, count));
}

/** An object names all its properties, requires them all, and takes no others. */
function isClosed({ required, additionalProperties }: Record<string, unknown>, names: readonly string[]): boolean {
  const wanted = new Set(asArray(required));
  return additionalProperties === false && wanted.size === names.length && names.every((name) => wanted.has(name));
}

/** Patterns with look-around are refused ("regex lookaround is not supported"): zod before 4.6 writes them for emails. */
function isStrictString({ format, pattern = '' }: Record<string, unknown>): boolean {
  return (format === undefined || formats.has(format)) && typeof pattern === 'string' && !/\(\?(=|!|<)/.test(pattern);
}
