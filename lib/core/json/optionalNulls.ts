import { isJsonObject } from './json.js';
import type { JsonObject, JsonSchema, JsonValue } from './json.js';

/**
 * A value without the nulls of optional properties. Strict modes know no optional properties: they are asked for as required ones that may be null, and
 * several models write null for what is not there in any case.
 *
 * @param value What the model wrote.
 * @param schema The schema of it: only a property that it neither requires nor allows to be null is left out.
 */
export function omitOptionalNulls(value: JsonValue, schema: JsonSchema): JsonValue {
  /** `hops` counts references that lead no deeper into the value: a schema may refer to itself. */
  const clean = (inner: JsonValue, part: JsonValue | undefined, hops = 0): JsonValue => {
    if (!isJsonObject(part) || typeof inner !== 'object' || inner === null || hops > 16) return inner;
    if (typeof part['$ref'] === 'string') return clean(inner, referred(schema, part['$ref']), hops + 1);
    const choices = [part['anyOf'], part['oneOf'], part['allOf']].filter(Array.isArray).flat() as readonly JsonValue[];
    const chosen = choices.reduce<JsonValue>((held, choice) => clean(held, choice, hops + 1), inner);
    if (Array.isArray(chosen)) return (chosen as readonly JsonValue[]).map((element) => clean(element, part['items']));
    return isJsonObject(chosen) && isJsonObject(part['properties'])
      ? cleanObject(chosen, part, part['properties'])
      : chosen;
  };
  const cleanObject = (object: JsonObject, part: JsonObject, properties: JsonObject): JsonObject => {
    const required: readonly unknown[] = Array.isArray(part['required']) ? part['required'] : [];
    const isAbsent = (key: string, inner: JsonValue) =>
      inner === null &&
      !required.includes(key) &&
      Object.hasOwn(properties, key) &&
      !allowsNull(properties[key], schema);
    return Object.fromEntries(
      Object.entries(object)
        .filter(([key, inner]) => !isAbsent(key, inner))
        .map(([key, inner]) => [key, Object.hasOwn(properties, key) ? clean(inner, properties[key]) : inner]),
    );
  };
  return clean(value, schema);
}

function allowsNull(part: JsonValue | undefined, root: JsonSchema, depth = 0): boolean {
  if (!isJsonObject(part) || depth > 16) return true;
  if (typeof part['$ref'] === 'string') return allowsNull(referred(root, part['$ref']), root, depth + 1);
  const choices = [part['anyOf'], part['oneOf']].filter(Array.isArray).flat() as readonly JsonValue[];
  if (choices.length > 0) return choices.some((choice) => allowsNull(choice, root, depth + 1));
  if (Array.isArray(part['enum'])) return part['enum'].includes(null);
  if ('const' in part) return part['const'] === null;
  const { type } = part;
  return type === undefined || type === 'null' || (Array.isArray(type) && type.includes('null'));
}

/** What a reference within the schema points to. */
function referred(root: JsonSchema, reference: string): JsonValue | undefined {
  if (!reference.startsWith('#')) return undefined;
  const keys = reference
    .slice(1)
    .split('/')
    .filter((key) => key !== '')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  return keys.reduce<JsonValue | undefined>(
    (at, key) => (isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined),
    root,
  );
}
