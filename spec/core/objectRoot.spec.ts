import { expect, it } from '@jest/globals';
import { objectRoot } from '../../lib/core/objectRoot.js';
import type { JsonObject, JsonSchema } from '../../lib/core/json/json.js';

const references = (count: number, to = '#'): readonly JsonObject[] =>
  Array.from({ length: count }, () => ({ $ref: to }));
const named = (count: number, name: (index: number) => string, value: (index: number) => JsonObject): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), value(index)]));
const definition = (index: number) => `d${index}`;
const next = (index: number) => `#/$defs/${definition(index + 1)}`;
const large = named(2000, definition, () => ({}));

/** What a client of AG-UI or an MCP server may send as the parameters of a tool, each below 1 MB. */
const hostile: Readonly<Record<string, JsonSchema>> = {
  'all of it, four times': { type: 'object', allOf: references(4) },
  'any of it, four times': { anyOf: references(4) },
  'one of it and all of it': { oneOf: references(2), allOf: references(2) },
  'a reference to a cycle': { $ref: '#/$defs/d', $defs: { d: { allOf: references(4, '#/$defs/d') } } },
  'definitions that each double the next': {
    $ref: '#/$defs/d0',
    $defs: named(18, definition, (index) => ({ anyOf: references(2, next(index)) })),
  },
  'choices that each contain the next twice': {
    $ref: '#/$defs/d0',
    $defs: named(10, definition, (index) => ({
      anyOf: [{ $ref: next(index) }, { anyOf: [{ $ref: next(index) }, { properties: { [`p${index}`]: {} } }] }],
    })),
  },
  'many references to a large part': {
    anyOf: references(2000, '#/$defs/d'),
    $defs: { d: { properties: large, required: Object.keys(large) } },
  },
  'many references to a long constant': {
    anyOf: references(2000, '#/$defs/d'),
    $defs: { d: { properties: { a: { const: 'x'.repeat(100_000) } } } },
  },
  'many references with long paths': { allOf: [...references(2), { $ref: `#/${'a/'.repeat(50_000)}` }] },
  'more members than arguments of a call': { anyOf: Array.from({ length: 150_000 }, () => ({})) },
  'a reference that is not encoded': {
    allOf: [{ $ref: '#/$defs/100%' }],
    $defs: { '100%': { properties: { a: {} } } },
  },
  'a reference that is encoded badly': { allOf: [{ $ref: '#/%E0%A4%A' }] },
};

/** The root, and how many members were read. */
function readCounted(schema: JsonSchema) {
  let reads = 0;
  const counted = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part;
    return new Proxy(part, {
      get(target, key, receiver) {
        if (key === 'properties') reads++;
        return counted(Reflect.get(target, key, receiver));
      },
    });
  };
  const root = objectRoot(counted(schema) as JsonSchema);
  return { root, reads };
}

it.each(Object.entries(hostile))('objectRoot reads a schema of a stranger with bounded work: %s', (_, schema) => {
  const { root, reads } = readCounted(schema);
  expect(root['type']).toBe('object');
  expect(JSON.stringify(root).length).toBeLessThan(2 * JSON.stringify(schema).length + 300_000);
  expect(reads).toBeLessThan(200_000);
});

const levels = (count: number, fan: number, keyword: string, leaf: JsonObject): JsonSchema => ({
  $ref: '#/$defs/d0',
  $defs: {
    ...named(count, definition, (index) => ({ [keyword]: references(fan, next(index)) })),
    [definition(count)]: leaf,
  },
});
const small = ['allOf', 'anyOf', 'oneOf'].flatMap((keyword) =>
  [[13, 2] as const, [6, 4] as const, [4, 10] as const].flatMap(([count, fan]) =>
    [{}, { properties: { p: {} } }, { required: ['p'] }].map((leaf) => [count, fan, keyword, leaf] as const),
  ),
);

// A client of AG-UI may send hundreds of them in a request.
it.each(small)('objectRoot reads a small schema with little work: %p levels of %p %s of %j', (...given) => {
  const schema = levels(...given);
  const size = JSON.stringify(schema).length;
  const { root, reads } = readCounted(schema);
  expect(reads).toBeLessThan(size);
  expect(JSON.stringify(root).length).toBeLessThan(10 * size);
});

it('objectRoot reads a part that many members share in each of them', () => {
  const base = {
    properties: named(
      20,
      (index) => `property${index}`,
      () => ({ type: 'string' }),
    ),
  };
  const kinds = Array.from({ length: 40 }, (_, index) => ({
    allOf: [{ $ref: '#/$defs/base' }],
    properties: { kind: { const: `kind${index}` }, [`own${index}`]: { type: 'string' } },
    required: ['kind', `own${index}`],
  }));
  const { properties, required, description } = objectRoot({ anyOf: kinds, $defs: { base } });
  expect(Object.keys(properties ?? {})).toHaveLength(20 + 1 + 40);
  expect(required).toEqual(['kind']);
  expect(JSON.stringify(description).match(/property19\?/g)).toHaveLength(40);
});

it('objectRoot finds a definition whose name is not encoded', () => {
  expect(objectRoot(hostile['a reference that is not encoded'] ?? {})['properties']).toEqual({ a: {} });
});

it('objectRoot reads a member that contains itself as if it were not there', () => {
  const schema = { anyOf: [{ $ref: '#' }, { properties: { a: { type: 'string' } }, required: ['a'] }] };
  expect(objectRoot(schema)).toMatchObject({ properties: { a: { type: 'string' } } });
});
