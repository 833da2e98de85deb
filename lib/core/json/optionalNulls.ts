import { asArray, isJsonObject, objectOrEmpty, type JsonObject, type JsonSchema, type JsonValue } from './json.js';
import { resolveReference } from './reference.js';

type Schemas = readonly (JsonValue | undefined)[];

/** What all schemas that apply to a place say: of its fields, all and the optional ones, and of its items. */
interface Place {
  readonly fields: ReadonlyMap<string, Inner & { readonly optional: JsonValue[]; isAbsent?: boolean }>;
  readonly items: Inner;
}

interface Inner {
  readonly schemas: (JsonValue | undefined)[];
  place?: Place;
}

/** Visits of schemas. In one of a stranger, many fields may lead to the same choices: then, nulls stay. */
const MAX_WORK = 50_000;

/** Strict modes send optional properties as nullable, and several models write null without one. */
export function omitOptionalNulls(value: JsonValue, schema: JsonSchema): JsonValue {
  /** Each place is visited once, and its schemas once for all values that are there. */
  const omitNulls = (inner: JsonValue, known: Inner): JsonValue => {
    if (typeof inner !== 'object' || inner === null || work > MAX_WORK) return inner;
    if (!known.place) work += (known.place = placeOf(schema, known.schemas)).items.schemas.length;
    const { fields, items } = known.place;
    if (Array.isArray(inner)) return (inner as readonly JsonValue[]).map((element) => omitNulls(element, items));
    const kept = Object.entries(inner).flatMap(([key, field]) => {
      const ofField = fields.get(key);
      if (!ofField) return [[key, field] as const];
      const isAbsent = field === null && (ofField.isAbsent ??= !ofField.optional.every(allowsNull));
      return isAbsent ? [] : [[key, omitNulls(field, ofField)] as const];
    });
    return Object.fromEntries(kept);
  };
  let work = 0;
  const allowsNull = (property: JsonValue): boolean => {
    if (work > MAX_WORK) return true;
    const reached = [...reach(schema, [{ anyOf: [property] }], CHOICES)];
    work += reached.length;
    return reached.some(isNullable);
  };
  return omitNulls(value, { schemas: [schema] });
}

function placeOf(root: JsonSchema, schemas: Schemas): Place {
  const reached = [...reach(root, schemas, COMBINATIONS)];
  const fields = new Map<string, { readonly schemas: JsonValue[]; readonly optional: JsonValue[] }>();
  for (const { properties, required } of reached) {
    const needed = new Set(asArray(required));
    for (const [key, property] of Object.entries(objectOrEmpty(properties) as JsonObject)) {
      const field = fields.get(key) ?? { schemas: [], optional: [] };
      fields.set(key, field);
      field.schemas.push(property);
      if (!needed.has(key)) field.optional.push(property);
    }
  }
  return { fields, items: { schemas: reached.map(({ items }) => items) } };
}

const CHOICES = ['anyOf', 'oneOf'] as const;
const COMBINATIONS = ['anyOf', 'oneOf', 'allOf'] as const;

/** The schemas with those to which their references and choices lead, each once: a schema may refer to itself. */
function reach(root: JsonSchema, schemas: Schemas, keywords: readonly string[]): ReadonlySet<JsonObject> {
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

/** Whether it allows null by itself: not a reference, nor a choice. */
function isNullable(schema: JsonObject): boolean {
  if (schema['$ref'] !== undefined || CHOICES.some((keyword) => asArray(schema[keyword]).length > 0)) return false;
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(null);
  if ('const' in schema) return schema['const'] === null;
  const { type } = schema;
  return type === undefined || asArray(type).includes('null');
}
