import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from './json.js';

/** A schema may refer to itself. */
const MAX_HOPS = 16;

/** Strict modes send optional properties as nullable, and several models write null without one. */
export function omitOptionalNulls(value: JsonValue, schema: JsonSchema): JsonValue {
  /** `hops` counts the references and choices followed at one place. */
  const omitNulls = (inner: JsonValue, part: JsonValue | undefined, hops = 0): JsonValue => {
    if (!isJsonObject(part) || typeof inner !== 'object' || inner === null || hops > MAX_HOPS) return inner;
    if (typeof part['$ref'] === 'string') return omitNulls(inner, resolveReference(schema, part['$ref']), hops + 1);
    const choices = [part['anyOf'], part['oneOf'], part['allOf']].filter(Array.isArray).flat() as readonly JsonValue[];
    const cleaned = choices.reduce<JsonValue>((result, choice) => omitNulls(result, choice, hops + 1), inner);
    if (Array.isArray(cleaned))
      return (cleaned as readonly JsonValue[]).map((element) => omitNulls(element, part['items']));
    return isJsonObject(cleaned) && isJsonObject(part['properties'])
      ? omitNullsOfObject(cleaned, part, part['properties'])
      : cleaned;
  };
  const omitNullsOfObject = (object: JsonObject, part: JsonObject, properties: JsonObject): JsonObject => {
    const required: readonly unknown[] = Array.isArray(part['required']) ? part['required'] : [];
    const isAbsent = (key: string, inner: JsonValue) =>
      inner === null &&
      !required.includes(key) &&
      Object.hasOwn(properties, key) &&
      !allowsNull(properties[key], schema);
    return Object.fromEntries(
      Object.entries(object)
        .filter(([key, inner]) => !isAbsent(key, inner))
        .map(([key, inner]) => [key, Object.hasOwn(properties, key) ? omitNulls(inner, properties[key]) : inner]),
    );
  };
  return omitNulls(value, schema);
}

function allowsNull(part: JsonValue | undefined, root: JsonSchema, hops = 0): boolean {
  if (!isJsonObject(part) || hops > MAX_HOPS) return true;
  if (typeof part['$ref'] === 'string') return allowsNull(resolveReference(root, part['$ref']), root, hops + 1);
  const choices = [part['anyOf'], part['oneOf']].filter(Array.isArray).flat() as readonly JsonValue[];
  if (choices.length > 0) return choices.some((choice) => allowsNull(choice, root, hops + 1));
  if (Array.isArray(part['enum'])) return part['enum'].includes(null);
  if ('const' in part) return part['const'] === null;
  const { type } = part;
  return type === undefined || type === 'null' || (Array.isArray(type) && type.includes('null'));
}

function resolveReference(root: JsonSchema, reference: string): JsonValue | undefined {
  if (!reference.startsWith('#')) return undefined;
  const keys = reference
    .slice(1)
    .split('/')
    .filter((key) => key !== '')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  return keys.reduce<JsonValue | undefined>(
    (node, key) => (isJsonObject(node) && Object.hasOwn(node, key) ? node[key] : undefined),
    root,
  );
}
