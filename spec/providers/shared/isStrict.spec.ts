import { describe, expect, it } from '@jest/globals';
import * as z from 'zod';
import { isStrict } from '../../../lib/providers/shared/strictSchema.js';

const object = (properties: object, rest: object = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...rest,
});
const schemaOf = (schema: z.ZodType) => {
  return Object.fromEntries(Object.entries(z.toJSONSchema(schema)).filter(([keyword]) => keyword !== '$schema'));
};

describe('isStrict', () => {
  it.each<[string, unknown]>([
    ['an empty object', object({})],
    [
      'scalars',
      object({
        a: { type: 'string' },
        b: { type: 'integer', minimum: 1 },
        c: { type: ['number', 'null'] },
        d: { type: 'boolean' },
      }),
    ],
    [
      'lists of objects',
      object({ a: { type: 'array', items: object({ b: { type: 'string', enum: ['x', 'y'] } }), minItems: 1 } }),
    ],
    ['a choice below the root', object({ a: { anyOf: [{ type: 'string' }, object({}), { type: 'null' }] } })],
    [
      'a recursive definition',
      object(
        { a: { $ref: '#/$defs/node' } },
        { $defs: { node: object({ next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } }) } },
      ),
    ],
    [
      'what zod makes of common schemas',
      schemaOf(
        z.object({
          a: z.string().nullable(),
          b: z.number().int(),
          c: z.enum(['x']),
          d: z.literal('k'),
          e: z.array(z.uuid()),
          f: z.email(),
          g: z.iso.date(),
        }),
      ),
    ],
    ['a property called like a keyword', object({ oneOf: { type: 'string' }, default: { type: 'string' } })],
  ])('says yes to %s', (_, schema) => {
    expect(isStrict(schema)).toBe(true);
  });

  it.each<[string, unknown]>([
    ['what is no schema', null],
    ['a root that is no object', { type: 'string' }],
    ['a choice at the root', object({}, { anyOf: [] })],
    ['an open object', { type: 'object', properties: {}, required: [] }],
    ['an open object below', object({ a: { type: 'object', properties: {}, required: [] } })],
    ['an optional property', object({ a: { type: 'string' } }, { required: [] })],
    ['a required property that is not there', object({}, { required: ['a'] })],
    ['any value', object({ a: {} })],
    ['true as a schema', object({ a: true })],
    ['a list of anything', object({ a: { type: 'array' } })],
    ['oneOf', object({ a: { oneOf: [{ type: 'string' }] } })],
    ['allOf', object({ a: { type: 'string', allOf: [] } })],
    ['a default', object({ a: { type: 'string', default: 'x' } })],
    ['keywords beside a reference', object({ a: { $ref: '#', description: 'x' } })],
    ['a reference elsewhere', object({ a: { $ref: 'https://a.test/s.json' } })],
    ['an unknown format', object({ a: { type: 'string', format: 'uri' } })],
    [
      'look-around, as older zod writes for an email',
      object({ a: { type: 'string', format: 'email', pattern: '^(?!\\.)a' } }),
    ],
    ['an optional property of zod', schemaOf(z.object({ a: z.string().optional() }))],
    ['a record of zod', schemaOf(z.object({ a: z.record(z.string(), z.string()) }))],
    ['a bad definition', object({}, { $defs: { a: { type: 'object' } } })],
    [
      'more than a thousand values',
      object({ a: { type: 'integer', enum: Array.from({ length: 1001 }, (_, at) => at) } }),
    ],
    ['eleven levels', Array.from({ length: 11 }).reduce<object>((inner) => object({ a: inner }), { type: 'string' })],
  ])('says no to %s', (_, schema) => {
    expect(isStrict(schema)).toBe(false);
  });
});
