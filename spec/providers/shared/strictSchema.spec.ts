import { describe, expect, it } from '@jest/globals';
import * as z from 'zod';
import { toJsonSchema } from '../../../lib/core/schema.js';
import { isStrict, strictSchema } from '../../../lib/providers/shared/strictSchema.js';

describe('strictSchema', () => {
  it('strictSchema closes objects, makes optional properties nullable, and describes unsupported keywords', () => {
    const schema = toJsonSchema(
      z.object({
        name: z.string().min(1).describe('Its name.'),
        people: z.number().optional(),
        tags: z.array(z.object({ t: z.string() })),
      }),
      'The output',
    );
    expect(strictSchema(schema)).toEqual({
      strict: true,
      schema: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'Its name. minLength: 1' },
          people: { anyOf: [{ type: 'number' }, { type: 'null' }] },
          tags: {
            type: 'array',
            items: {
              type: 'object',
              properties: { t: { type: 'string' } },
              required: ['t'],
              additionalProperties: false,
            },
          },
        },
        required: ['name', 'people', 'tags'],
        additionalProperties: false,
      },
    });
  });

  it('strictSchema returns a strict schema unchanged', () => {
    const strict = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    expect(strictSchema(strict)).toEqual({ schema: strict, strict: true });
    expect(strictSchema(strict).schema).toBe(strict);
  });

  it.each([
    ['an open map', { type: 'object', properties: {}, additionalProperties: { type: 'string' } }],
    ['a list at the root', { type: 'array', items: { type: 'string' } }],
    ['allOf', { type: 'object', properties: { a: { allOf: [{ type: 'string' }] } }, required: ['a'] }],
  ])('strictSchema returns %s unchanged, as not strict', (_, schema) => {
    expect(strictSchema(schema)).toEqual({ schema, strict: false });
  });

  it('strictSchema turns oneOf into anyOf, and adjusts definitions', () => {
    const schema = {
      type: 'object',
      properties: { shape: { oneOf: [{ $ref: '#/$defs/round' }, { type: 'null' }] } },
      required: ['shape'],
      $defs: { round: { type: 'object', properties: { r: { type: 'number' } } } },
    };
    expect(strictSchema(schema)).toMatchObject({
      strict: true,
      schema: {
        properties: { shape: { anyOf: [{ $ref: '#/$defs/round' }, { type: 'null' }] } },
        $defs: { round: { required: ['r'], additionalProperties: false } },
      },
    });
  });
});

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
      'arrays of objects',
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
      'the JSON Schema of common zod schemas',
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
    ['a property that is named like a keyword', object({ oneOf: { type: 'string' }, default: { type: 'string' } })],
  ])('isStrict is true for %s', (_, schema) => {
    expect(isStrict(schema)).toBe(true);
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['a root that is not an object', { type: 'string' }],
    ['a choice at the root', object({}, { anyOf: [] })],
    ['an open object', { type: 'object', properties: {}, required: [] }],
    ['an open object below', object({ a: { type: 'object', properties: {}, required: [] } })],
    ['an optional property', object({ a: { type: 'string' } }, { required: [] })],
    ['a required property that is not defined', object({}, { required: ['a'] })],
    ['any value', object({ a: {} })],
    ['true as a schema', object({ a: true })],
    ['an array without items', object({ a: { type: 'array' } })],
    ['oneOf', object({ a: { oneOf: [{ type: 'string' }] } })],
    ['allOf', object({ a: { type: 'string', allOf: [] } })],
    ['a default', object({ a: { type: 'string', default: 'x' } })],
    ['keywords besides a reference', object({ a: { $ref: '#', description: 'x' } })],
    ['a reference elsewhere', object({ a: { $ref: 'https://a.test/s.json' } })],
    ['an unknown format', object({ a: { type: 'string', format: 'uri' } })],
    [
      'look-around, as older versions of zod write it for an email',
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
  ])('isStrict is false for %s', (_, schema) => {
    expect(isStrict(schema)).toBe(false);
  });
});
