import { isRecord } from '../../core/json.js';

/** The keywords that strict mode takes, by OpenAI's guide to structured outputs ("Supported schemas"). Any other one is refused with 400. */
const supported: ReadonlySet<string> = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf', '$ref', '$defs', 'definitions'],
  ...[
    'title',
    'description',
    'pattern',
    'format',
    'multipleOf',
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'minItems',
    'maxItems',
  ],
]);

/** The formats of strings that strict mode takes. */
const formats: ReadonlySet<unknown> = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']);

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
  if (!isRecord(schema) || depth > limits.depth || !Object.keys(schema).every((keyword) => supported.has(keyword))) return false;
  // A reference stands alone: strict mode refuses keywords beside it.
  if ('$ref' in schema) return typeof schema['$ref'] === 'string' && schema['$ref'].startsWith('#') && Object.keys(schema).length === 1;
  if (!('type' in schema || 'anyOf' in schema) || !isStrictString(schema)) return false;
  if (Array.isArray(schema['enum'])) count.values += schema['enum'].length;
  const below = [schema['$defs'], schema['definitions']].flatMap((defs) => (isRecord(defs) ? Object.values(defs) : []));
  const choices: unknown = 'anyOf' in schema ? schema['anyOf'] : [];
  const parts = [
    ...below,
    ...('items' in schema ? [schema['items']] : []),
    ...(Array.isArray(choices) ? (choices as unknown[]) : [undefined]),
  ];
  const items = !hasType(schema, 'array') || 'items' in schema;
  return items && isClosed(schema, depth, count) && parts.every((part: unknown) => isStrictPart(part, depth + 1, count));
}

function hasType({ type }: Record<string, unknown>, name: string): boolean {
  return Array.isArray(type) ? type.includes(name) : type === name;
}

/** An object names all its properties, requires them all, and takes no others. */
function isClosed(schema: Record<string, unknown>, depth: number, count: { properties: number; values: number }): boolean {
  if (!hasType(schema, 'object')) return !('properties' in schema);
  const { properties = {}, required = [], additionalProperties } = schema;
  if (additionalProperties !== false || !isRecord(properties) || !Array.isArray(required)) return false;
  const names = Object.keys(properties);
  const wanted = new Set<unknown>(required);
  count.properties += names.length;
  return wanted.size === names.length && names.every((name) => wanted.has(name) && isStrictPart(properties[name], depth + 1, count));
}

/** Patterns with look-around are refused ("regex lookaround is not supported"): zod before 4.6 writes them for emails. */
function isStrictString({ format, pattern }: Record<string, unknown>): boolean {
  const known = format === undefined || formats.has(format);
  return known && (pattern === undefined || (typeof pattern === 'string' && !/\(\?(=|!|<)/.test(pattern)));
}
