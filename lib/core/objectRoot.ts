import { asArray, isJsonObject, omit } from './json/json.js';
import type { JsonObject, JsonSchema, JsonValue } from './json/json.js';

/** No API accepts these keywords at the root of a tool's parameters. */
const rootKeywords = ['$ref', 'allOf', 'anyOf', 'oneOf', 'enum', 'const', 'not', 'if', 'then', 'else'] as const;

/**
 * OpenAI: "must have type 'object' and not have 'oneOf'..."; Anthropic: no choice "at the top level". A choice
 * becomes one object with the properties of all its members.
 */
export function objectRoot(schema: JsonSchema): JsonSchema {
  const isObject = schema['type'] === 'object';
  if (isObject && !rootKeywords.some((keyword) => keyword in schema)) return schema;
  const { properties, required, members } = readMember(schema, schema, 0);
  const { description } = schema;
  const choice = members.length > 0 ? `One of: ${members.join('; ')}.` : '';
  const text = [...asArray(description), choice].filter((each) => each !== '').join(' ');
  return {
    ...omit(schema, ...rootKeywords),
    ...(text === '' ? {} : { description: text }),
    type: 'object',
    properties: Object.fromEntries([...properties].map(([name, choices]) => [name, joinSchemas(choices)])),
    ...(required.size > 0 ? { required: [...required] } : {}),
  };
}

interface Member {
  readonly properties: Map<string, JsonValue[]>;
  readonly required: Set<JsonValue>;
  readonly members: string[];
}

export const list = (value: JsonValue | undefined) => asArray(value) as readonly JsonValue[];

/** How many references lead from one member to the next. */
const MAX_DEPTH = 20;

function readMember(schema: JsonObject, root: JsonSchema, depth: number): Member {
  const own: Member = {
    properties: new Map(
      Object.entries(isJsonObject(schema['properties']) ? schema['properties'] : {}).map(([name, value]) => [
        name,
        [value],
      ]),
    ),
    required: new Set(list(schema['required'])),
    members: [],
  };
  if (depth > MAX_DEPTH) return own;
  const read = (value: JsonValue) => (isJsonObject(value) ? [readMember(value, root, depth + 1)] : []);
  const all = [resolveReference(schema['$ref'], root) ?? null, ...list(schema['allOf'])].flatMap(read);
  const choices = [...list(schema['anyOf']), ...list(schema['oneOf'])].flatMap(read);
  for (const { properties } of [...all, ...choices])
    for (const [name, schemas] of properties) {
      const known = own.properties.get(name) ?? [];
      own.properties.set(name, [...known, ...schemas]);
    }
  for (const { required } of all) for (const name of required) own.required.add(name);
  const [first, ...others] = choices;
  for (const name of first?.required ?? [])
    if (others.every(({ required }) => required.has(name))) own.required.add(name);
  own.members.push(...all.flatMap(({ members }) => members), ...choices.map(describeMember));
  return own;
}

function describeMember({ properties, required, members }: Member): string {
  if (members.length > 0) return members.join('; ');
  const names = [...properties].map(([name, [schema]]) => {
    const value = isJsonObject(schema) ? (schema['const'] ?? list(schema['enum'])[0]) : undefined;
    return `${name}${required.has(name) ? '' : '?'}${value === undefined ? '' : `: ${JSON.stringify(value)}`}`;
  });
  return `{${names.join(', ')}}`;
}

/** The constants of a property become an `enum`. */
function joinSchemas(schemas: readonly JsonValue[]): JsonValue {
  const unique = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  const [first = {}] = unique;
  if (unique.length === 1) return first;
  const constants = unique.map((schema) => (isJsonObject(schema) ? schema['const'] : undefined));
  const isText = constants.every((value) => typeof value === 'string');
  return isText ? { type: 'string', enum: constants } : { anyOf: unique };
}

export function resolveReference(reference: JsonValue | undefined, root: JsonSchema): JsonObject | undefined {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  let found: JsonValue | undefined = root;
  for (const segment of reference.slice(1).split('/').slice(1)) {
    const key = decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as JsonObject)[key];
  }
  return isJsonObject(found) ? found : undefined;
}
