import { describe, expect, it } from '@jest/globals';
import * as z from 'zod';
import { isWrapped, wrapSchema } from '../../lib/core/outputWrapper.js';
import { toJsonSchema } from '../../lib/core/schema.js';

const jsonSchema = (schema: z.ZodType) => toJsonSchema(schema, 'The output');

describe('isWrapped', () => {
  it.each<[string, z.ZodType, boolean]>([
    ['an object', z.object({ a: z.string() }), false],
    ['a record', z.record(z.string(), z.number()), false],
    ['an array', z.array(z.string()), true],
    ['an enum', z.enum(['a', 'b']), true],
    ['a literal', z.literal('a'), true],
    ['a number', z.number(), true],
    ['a union', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), true],
    ['a discriminated union', z.discriminatedUnion('t', [z.object({ t: z.literal('a') })]), true],
    ['an object or null', z.object({ a: z.string() }).nullable(), true],
  ])('isWrapped: %s', (_, schema, expected) => {
    expect(isWrapped(jsonSchema(schema))).toBe(expected);
  });

  it('isWrapped: an object with anyOf at the root', () => {
    expect(isWrapped({ type: 'object', anyOf: [{ required: ['a'] }, { required: ['b'] }] })).toBe(true);
  });
});

describe('wrapSchema', () => {
  it('wrapSchema puts the schema into an object, and leaves definitions at the root', () => {
    const $defs = { city: { type: 'string' } };
    expect(wrapSchema({ type: 'array', items: { $ref: '#/$defs/city' }, $defs })).toEqual({
      type: 'object',
      properties: { value: { type: 'array', items: { $ref: '#/$defs/city' } } },
      required: ['value'],
      additionalProperties: false,
      $defs,
    });
  });

  it('wrapSchema moves references to the root, and leaves data unchanged', () => {
    const tree = { type: 'array', items: { anyOf: [{ $ref: '#' }, { $ref: '#/items' }, { const: { $ref: '#' } }] } };
    expect(wrapSchema(tree)).toMatchObject({
      properties: {
        value: {
          items: {
            anyOf: [{ $ref: '#/properties/value' }, { $ref: '#/properties/value/items' }, { const: { $ref: '#' } }],
          },
        },
      },
    });
    expect(tree.items.anyOf[0]).toEqual({ $ref: '#' });
  });
});
