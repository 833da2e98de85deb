import { describe, it } from '@jest/globals';
import type { JsonSchema } from '../../../lib/core/json/json.js';
import { objectRoot } from '../../../lib/core/objectRoot.js';
import { googleSchema } from '../../../lib/providers/shared/googleSchema.js';
import { strictSchema } from '../../../lib/providers/shared/strictSchema.js';
import { expectLinear } from '../../support/cost.js';

// The schema of a tool may be that of an MCP server, of any size, and with any references.

const many = <T>(count: number, create: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => create(index));
const named = (count: number, create: (index: number) => JsonSchema, prefix = 'p') =>
  Object.fromEntries(many(count, (index) => [`${prefix}${index}`, create(index)]));
const text: JsonSchema = { type: 'string' };
const objectOf = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({ type: 'object', properties });
const NAME = 'a'.repeat(16);
/** The name with some of its characters encoded. */
const spelling = (index: number) => many(NAME.length, (bit) => ((index >> bit) & 1 ? '%61' : 'a')).join('');
const nested = (depth: number, schema: JsonSchema): JsonSchema =>
  depth === 0 ? schema : objectOf({ a: nested(depth - 1, schema) });
const chain = (count: number, place: string) =>
  named(count, (index) => (index < count - 1 ? objectOf({ x: { $ref: `#/${place}/d${index + 1}` } }) : text), 'd');
const member = (index: number): JsonSchema => ({ ...objectOf({ [`k${index}`]: text }), required: [`k${index}`] });
const DEPTH = 100;

const families: Readonly<Record<string, (count: number) => JsonSchema>> = {
  'its properties': (count) => objectOf(named(count, () => text)),
  'its required properties': (count) => ({
    ...objectOf(named(count, () => text)),
    required: many(count, (index) => `p${index}`),
  }),
  'its values': (count) => objectOf({ a: { type: ['string', 'number'], enum: many(count, (index) => index % 9) } }),
  'its choices': (count) => objectOf({ a: { anyOf: many(count, (index) => ({ const: `v${index}` })) } }),
  'its choices of objects': (count) => objectOf({ a: { anyOf: many(count, member) } }),
  'its choices at the root': (count) => ({ anyOf: many(count, member) }),
  'its parts at the root': (count) => ({ allOf: many(count, member) }),
  'its items': (count) => objectOf({ a: { type: 'array', prefixItems: many(count, () => text) } }),
  'its keywords': (count) => objectOf({ a: { ...named(count, () => text, 'x-'), type: 'string' } }),
  'its definitions': (count) => ({
    ...objectOf(named(count, (index) => ({ $ref: `#/$defs/d${index}` }))),
    $defs: named(count, () => text, 'd'),
  }),
  'definitions that name the next one': (count) => ({
    ...objectOf({ a: { $ref: '#/$defs/d0' } }),
    $defs: chain(count, '$defs'),
  }),
  'old definitions that name the next one': (count) => ({
    ...objectOf({ a: { $ref: '#/definitions/d0' } }),
    definitions: chain(count, 'definitions'),
  }),
  'references to a part with as many parts': (count) =>
    objectOf({ a: objectOf(named(count, () => text)), ...named(count, () => ({ $ref: '#/properties/a' })) }),
  'spellings of a reference to a part with as many parts': (count) =>
    objectOf({
      [NAME]: objectOf(named(count, () => text)),
      ...named(count, (index) => ({ $ref: `#/properties/${spelling(index)}` })),
    }),
  'parts at a depth to whose levels references lead': (count) =>
    objectOf({
      a: nested(DEPTH, objectOf(named(count, () => text))),
      ...named(DEPTH, (index) => ({ $ref: `#/properties/a${'/properties/a'.repeat(index)}` })),
    }),
};
const readers = {
  objectRoot,
  strictSchema,
  googleSchema: (schema: JsonSchema) => googleSchema(objectRoot(schema), 'The schema'),
};

describe('the cost of the schema of a tool', () => {
  const rows = Object.keys(families).flatMap((family) =>
    (Object.keys(readers) as (keyof typeof readers)[]).map((reader) => [reader, family] as const),
  );
  it.each(rows)('%s is linear in the number of %s', (reader, family) => {
    const create = families[family] ?? (() => text);
    const read = readers[reader];
    const sizes = [2000, 4000, 8000];
    read(create(100));
    expectLinear((count: number) => read(create(count)), sizes);
  });
});
