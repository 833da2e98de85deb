import { asArray, isJsonObject, objectOrEmpty, omit } from './json/json.js';
import type { JsonObject, JsonSchema, JsonValue } from './json/json.js';
import { resolveReference } from './json/reference.js';

/** No API accepts these keywords at the root of a tool's parameters. */
const rootKeywords = ['$ref', 'allOf', 'anyOf', 'oneOf', 'enum', 'const', 'not', 'if', 'then', 'else'] as const;

/** No API accepts a choice at the root: it becomes one object with the properties of all its members. */
export function objectRoot(schema: JsonSchema): JsonSchema {
  const isObject = schema['type'] === 'object';
  if (isObject && !rootKeywords.some((keyword) => keyword in schema)) return schema;
  const left = Math.min(MAX_SIZE, MAX_GROWTH * JSON.stringify(schema).length);
  const { properties, required, members } = readMember(schema, { root: schema, left, open: [] });
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
  readonly members: readonly string[];
}

export const list = (value: JsonValue | undefined) => asArray(value) as readonly JsonValue[];

/** How many references lead from one member to the next. */
const MAX_DEPTH = 20;

/** What members may have, in characters of names: references repeat a schema of a stranger without end. */
const MAX_SIZE = 100_000;

/** The same for each character of the schema: a stranger may send hundreds of small ones. */
const MAX_GROWTH = 10;

/** What a member without names counts. */
const MEMBER_SIZE = 20;

/** A choice is described by a tag, not by a document. */
const MAX_TAG = 100;

interface Reading {
  readonly root: JsonSchema;
  left: number;
  readonly open: JsonObject[];
}

function readMember(schema: JsonObject, reading: Reading): Member {
  const { root, open } = reading;
  const { $ref, properties } = schema;
  const own: Member = { properties: new Map(), required: new Set(list(schema['required'])), members: [] };
  const fields = Object.entries(objectOrEmpty(properties));
  reading.left -= MEMBER_SIZE + JSON.stringify([fields.map(([name]) => name), schema['required'], $ref]).length;
  const isTooLarge = reading.left < 0 && open.length > 0;
  if (isTooLarge || open.length > MAX_DEPTH || open.includes(schema)) return { ...own, required: new Set() };
  for (const [name, value] of fields) own.properties.set(name, [value]);
  open.push(schema);
  const read = (value: JsonValue) => (isJsonObject(value) ? [readMember(value, reading)] : []);
  const all = [resolveReference($ref, root) ?? null, ...list(schema['allOf'])].flatMap(read);
  const choices = [...list(schema['anyOf']), ...list(schema['oneOf'])].flatMap(read);
  open.pop();
  for (const member of [...all, ...choices])
    for (const [name, schemas] of member.properties) {
      const known = own.properties.get(name) ?? [];
      own.properties.set(name, known);
      known.push(...schemas);
    }
  for (const { required } of all) for (const name of required) own.required.add(name);
  const [first, ...others] = choices;
  for (const name of first?.required ?? [])
    if (others.every(({ required }) => required.has(name))) own.required.add(name);
  return { ...own, members: [...all.flatMap(({ members }) => members), ...choices.map(describeMember)] };
}

function describeMember({ properties, required, members }: Member): string {
  if (members.length > 0) return members.join('; ');
  const names = [...properties].map(([name, [schema]]) => {
    const value = isJsonObject(schema) ? (schema['const'] ?? list(schema['enum'])[0]) : undefined;
    const isTag = typeof value !== 'object' && value !== undefined && String(value).length <= MAX_TAG;
    return `${name}${required.has(name) ? '' : '?'}${isTag ? `: ${JSON.stringify(value)}` : ''}`;
  });
  return `{${names.join(', ')}}`;
}

/** The constants of a property become an `enum`. */
function joinSchemas(schemas: readonly JsonValue[]): JsonValue {
  const unique = [...new Map([...new Set(schemas)].map((schema) => [JSON.stringify(schema), schema])).values()];
  const [first = {}] = unique;
  if (unique.length === 1) return first;
  const constants = unique.map((schema) => (isJsonObject(schema) ? schema['const'] : undefined));
  const isText = constants.every((value) => typeof value === 'string');
  return isText ? { type: 'string', enum: constants } : { anyOf: unique };
}
