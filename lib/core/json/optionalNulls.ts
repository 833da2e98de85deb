import { asArray, isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from './json.js';
import { resolveReference } from './reference.js';

/** Visits of schemas. In one of a stranger, many fields may lead to as many choices: then, nulls stay. */
const MAX_WORK = 500_000;

/** Strict modes send optional properties as nullable, and several models write null without one. */
export function omitOptionalNulls(value: JsonValue, schema: JsonSchema): JsonValue {
  let work = 0;
  /** Each place is visited once, with all schemas that apply to it. */
  const omitNulls = (inner: JsonValue, schemas: ReadonlySet<JsonObject>): JsonValue => {
    work += schemas.size;
    if (typeof inner !== 'object' || inner === null || schemas.size === 0) return inner;
    if (Array.isArray(inner)) {
      const itemSchemas = Array.from(schemas, (each) => each['items']);
      const items = reach(schema, itemSchemas, COMBINATIONS);
      return (inner as readonly JsonValue[]).map((element) => omitNulls(element, items));
    }
    const fields = Object.entries(inner).flatMap(([key, field]) => {
      if ((work += schemas.size) > MAX_WORK) return [[key, field] as const];
      const properties = Array.from(schemas, (each) => propertyOf(each, key));
      const kept = omitNulls(field, reach(schema, properties, COMBINATIONS));
      const isAbsent = field === null && [...schemas].some((each) => isOptional(each, key) && !allowsNull(each, key));
      return isAbsent ? [] : [[key, kept] as const];
    });
    return Object.fromEntries(fields);
  };
  const allowsNull = (object: JsonObject, key: string) =>
    [...reach(schema, [{ anyOf: [propertyOf(object, key) ?? {}] }], CHOICES)].some(isNullable);
  return omitNulls(value, reach(schema, [schema], COMBINATIONS));
}

const CHOICES = ['anyOf', 'oneOf'] as const;
const COMBINATIONS = ['anyOf', 'oneOf', 'allOf'] as const;

/** The schemas with those to which their references and choices lead, each once: a schema may refer to itself. */
function reach(
  root: JsonSchema,
  schemas: readonly (JsonValue | undefined)[],
  keywords: readonly string[],
): ReadonlySet<JsonObject> {
  const reached = new Set(schemas.filter(isJsonObject));
  // Also those that are added meanwhile.
  for (const { $ref, ...others } of reached) {
    const found =
      typeof $ref === 'string'
        ? [resolveReference($ref, root) ?? {}]
        : keywords.flatMap((keyword) => asArray(others[keyword]));
    for (const each of found) reached.add(isJsonObject(each) ? each : {});
  }
  return reached;
}

function propertyOf({ properties }: JsonObject, key: string): JsonValue | undefined {
  return isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

const isOptional = (schema: JsonObject, key: string): boolean =>
  propertyOf(schema, key) !== undefined && !asArray(schema['required']).includes(key);

/** Whether it allows null by itself: not a reference, nor a choice. */
function isNullable(schema: JsonObject): boolean {
  if (schema['$ref'] !== undefined || CHOICES.some((keyword) => asArray(schema[keyword]).length > 0)) return false;
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(null);
  if ('const' in schema) return schema['const'] === null;
  const { type } = schema;
  return type === undefined || asArray(type).includes('null');
}
