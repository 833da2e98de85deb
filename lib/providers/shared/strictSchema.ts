import { asArray, isJsonObject, isRecord } from '../../core/json/json.js';
import type { JsonObject, JsonSchema, JsonValue } from '../../core/json/json.js';
import { describeConstraints, mapSubschemas, mapValues } from './mapSchema.js';

/**
 * Adjusts a schema to strict mode (OpenAI's guide to structured outputs): objects are closed, an optional property
 * becomes a required one that may be null (`omitOptionalNulls` removes the nulls from the output), `oneOf` becomes
 * `anyOf`, and constraints that strict mode rejects move into the description.
 *
 * @param schema The schema of the complete output.
 * @returns The schema to send, and whether it is strict. One that cannot be adjusted (open maps, `allOf`) is returned
 * unchanged, as not strict.
 */
export function strictSchema(schema: JsonSchema): { readonly schema: JsonSchema; readonly strict: boolean } {
  if (isStrict(schema)) return { schema, strict: true };
  const adjusted = adjust(schema);
  return isStrict(adjusted) ? { schema: adjusted, strict: true } : { schema, strict: false };
}

/**
 * Keywords that strict mode rejects. As part of the description they still guide the model, and the validation of the
 * output still checks them.
 */
const describedKeywords: ReadonlySet<string> = new Set([
  'minLength',
  'maxLength',
  'uniqueItems',
  'default',
  'examples',
  'contentEncoding',
  'contentMediaType',
]);

function adjust(schema: JsonSchema): JsonSchema {
  const adjusted: Record<string, JsonValue> = {};
  const constraints: Record<string, JsonValue> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (describedKeywords.has(keyword)) constraints[keyword] = value;
    else adjusted[keyword === 'oneOf' ? 'anyOf' : keyword] = mapSubschemas(keyword, value, adjust);
  }
  const description = describeConstraints(constraints);
  if (description !== '') adjusted['description'] = [...asArray(adjusted['description']), description].join(' ');
  return isJsonObject(adjusted['properties']) ? closeObject(adjusted, adjusted['properties']) : adjusted;
}

/** An object that explicitly accepts other keys stays open, and the schema is then not strict. */
function closeObject(schema: JsonObject, properties: JsonObject): JsonObject {
  const required = new Set(asArray(schema['required']));
  return {
    ...schema,
    properties: mapValues(properties, (property, name) =>
      required.has(name) ? property : { anyOf: [property, { type: 'null' }] },
    ),
    required: Object.keys(properties),
    additionalProperties: schema['additionalProperties'] ?? false,
  };
}

/**
 * The keywords of strict mode, by OpenAI's guide to structured outputs ("Supported schemas"). Any other is rejected
 * with 400.
 */
const supportedKeywords: ReadonlySet<string> = new Set([
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
  ...['title', 'description', 'pattern', 'format', 'minItems', 'maxItems'],
  ...['multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
]);

/** The string formats of strict mode. */
const supportedFormats: ReadonlySet<unknown> = new Set([
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

/** The limits of strict mode: levels of schemas, properties and enum values in all. */
const limits = { depth: 10, properties: 5000, values: 1000 } as const;

/** What was counted in a schema so far. */
interface Count {
  properties: number;
  values: number;
}

/**
 * Whether a JSON Schema satisfies strict mode as it is: its root is an object, every object is closed and requires all
 * its properties, and it contains only supported keywords, within the limits. False where that is uncertain: without
 * strict mode the model follows a schema as well as it can, but a rejected schema is an error.
 *
 * @param schema The schema of the complete output.
 */
export function isStrict(schema: unknown): boolean {
  if (!isRecord(schema) || schema['type'] !== 'object' || 'anyOf' in schema) return false;
  const count: Count = { properties: 0, values: 0 };
  return isStrictPart(schema, 1, count) && count.properties <= limits.properties && count.values <= limits.values;
}

/** Checks one schema and those inside it. `depth` is the number of schemas that contain this one, itself included. */
function isStrictPart(schema: unknown, depth: number, count: Count): boolean {
  if (!isRecord(schema) || depth > limits.depth) return false;
  if (!Object.keys(schema).every((keyword) => supportedKeywords.has(keyword))) return false;
  if (schema['$ref'] !== undefined) return isLocalReference(schema);
  if (!hasStrictShape(schema) || !isStrictString(schema)) return false;
  const { properties = {}, $defs = {}, definitions = {}, items, anyOf, enum: values } = schema;
  const named = [properties, $defs, definitions].filter(isRecord).flatMap(Object.values<unknown>);
  count.properties += Object.keys(properties as object).length;
  count.values += Array.isArray(values) ? values.length : 0;
  return [...named, ...asArray(items), ...asArray(anyOf)].every((part) => isStrictPart(part, depth + 1, count));
}

/** Strict mode rejects other keywords besides a reference. */
function isLocalReference(schema: Record<string, unknown>): boolean {
  const { $ref } = schema;
  return typeof $ref === 'string' && $ref.startsWith('#') && Object.keys(schema).length === 1;
}

/** Whether a schema has a type, or alternatives, and what strict mode requires of objects and arrays. */
function hasStrictShape(schema: Record<string, unknown>): boolean {
  const { type, anyOf, items, properties = {} } = schema;
  if (!isRecord(properties)) return false;
  if ((type ?? anyOf) === undefined || (anyOf !== undefined && !Array.isArray(anyOf))) return false;
  const types = asArray(type);
  if (types.includes('array') && items === undefined) return false;
  return types.includes('object') ? isClosedObject(schema, Object.keys(properties)) : !('properties' in schema);
}

/** Whether an object requires all its properties and accepts no others. */
function isClosedObject(
  { required, additionalProperties }: Record<string, unknown>,
  names: readonly string[],
): boolean {
  const requiredNames = new Set(asArray(required));
  if (additionalProperties !== false || requiredNames.size !== names.length) return false;
  return names.every((name) => requiredNames.has(name));
}

/**
 * Patterns with look-around are rejected ("regex lookaround is not supported"): zod before 4.6 writes them for emails.
 */
function isStrictString({ format, pattern = '' }: Record<string, unknown>): boolean {
  if (format !== undefined && !supportedFormats.has(format)) return false;
  return typeof pattern === 'string' && !/\(\?(=|!|<)/.test(pattern);
}
