import { asArray, isJsonObject, isRecord } from '../../core/json/json.js';
import type { JsonObject, JsonSchema, JsonValue } from '../../core/json/json.js';
import { words } from '../../core/words.js';
import { describeConstraints, mapSubschemas, mapValues } from './mapSchema.js';

/** OpenAI's guide to structured outputs. `omitOptionalNulls` removes nulls from the output. */
export function strictSchema(schema: JsonSchema): StrictSchema {
  const known = strictSchemas.get(schema);
  if (known) return known;
  const result = toStrict(schema);
  strictSchemas.set(schema, result);
  return result;
}

interface StrictSchema {
  readonly schema: JsonSchema;
  readonly strict: boolean;
}

const strictSchemas = new WeakMap<JsonSchema, StrictSchema>();

function toStrict(schema: JsonSchema): StrictSchema {
  if (isStrict(schema)) return { schema, strict: true };
  const strict = adjust(schema);
  return isStrict(strict) ? { schema: strict, strict: true } : { schema, strict: false };
}

/** As part of the description, they still guide the model. */
const describedKeywords: ReadonlySet<string> = /* @__PURE__ */ words(`
  minLength maxLength uniqueItems default examples contentEncoding contentMediaType
`);

function adjust(schema: JsonSchema): JsonSchema {
  const adjusted: Record<string, JsonValue> = {};
  const described: Record<string, JsonValue> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (describedKeywords.has(keyword)) described[keyword] = value;
    else adjusted[keyword === 'oneOf' ? 'anyOf' : keyword] = mapSubschemas(keyword, value, adjust);
  }
  const constraints = describeConstraints(described);
  const { description } = adjusted;
  if (constraints !== '')
    adjusted['description'] = typeof description === 'string' ? `${description} ${constraints}` : constraints;
  return isJsonObject(adjusted['properties']) ? closeObject(adjusted, adjusted['properties']) : adjusted;
}

/** Explicit other properties make the schema non-strict. */
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

/** OpenAI's guide to structured outputs, "Supported schemas". Any other keyword is status 400. */
const supportedKeywords: ReadonlySet<string> = /* @__PURE__ */ words(`
  type properties required additionalProperties items enum const anyOf $ref $defs definitions title description
  pattern format minItems maxItems multipleOf minimum maximum exclusiveMinimum exclusiveMaximum
`);

const supportedFormats: ReadonlySet<unknown> = /* @__PURE__ */ words(`
  date-time time date duration email hostname ipv4 ipv6 uuid
`);

const limits = { depth: 10, properties: 5000, values: 1000 } as const;

interface Totals {
  properties: number;
  values: number;
}

/** False if it is uncertain: a rejected schema is an error, and without strict mode the model tries to follow it. */
export function isStrict(schema: unknown): boolean {
  if (!isRecord(schema) || schema['type'] !== 'object' || 'anyOf' in schema) return false;
  const totals: Totals = { properties: 0, values: 0 };
  return isStrictPart(schema, 1, totals) && totals.properties <= limits.properties && totals.values <= limits.values;
}

function isStrictPart(schema: unknown, depth: number, totals: Totals): boolean {
  if (!isRecord(schema) || depth > limits.depth) return false;
  if (!Object.keys(schema).every((keyword) => supportedKeywords.has(keyword))) return false;
  if (schema['$ref'] !== undefined) return isLocalReference(schema);
  if (!hasStrictShape(schema) || !isStrictString(schema)) return false;
  const { properties = {}, $defs = {}, definitions = {}, items, anyOf, enum: values } = schema;
  const named = [properties, $defs, definitions].filter(isRecord).flatMap(Object.values<unknown>);
  totals.properties += Object.keys(properties as object).length;
  totals.values += Array.isArray(values) ? values.length : 0;
  return [...named, ...asArray(items), ...asArray(anyOf)].every((part) => isStrictPart(part, depth + 1, totals));
}

/** Strict mode rejects any other keyword in a schema that has a `$ref`. */
function isLocalReference(schema: Record<string, unknown>): boolean {
  const { $ref } = schema;
  return typeof $ref === 'string' && $ref.startsWith('#') && Object.keys(schema).length === 1;
}

function hasStrictShape(schema: Record<string, unknown>): boolean {
  const { type, anyOf, items, properties = {} } = schema;
  if (!isRecord(properties)) return false;
  if ((type ?? anyOf) === undefined || (anyOf !== undefined && !Array.isArray(anyOf))) return false;
  const types = asArray(type);
  if (types.includes('array') && items === undefined) return false;
  return types.includes('object') ? isClosedObject(schema, Object.keys(properties)) : !('properties' in schema);
}

function isClosedObject(
  { required, additionalProperties }: Record<string, unknown>,
  names: readonly string[],
): boolean {
  const requiredNames = new Set(asArray(required));
  if (additionalProperties !== false || requiredNames.size !== names.length) return false;
  return names.every((name) => requiredNames.has(name));
}

/** "regex lookaround is not supported": zod before 4.6 generates it for `email()`. */
function isStrictString({ format, pattern = '' }: Record<string, unknown>): boolean {
  if (format !== undefined && !supportedFormats.has(format)) return false;
  return typeof pattern === 'string' && !/\(\?(=|!|<)/.test(pattern);
}
