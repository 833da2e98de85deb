import { describe, expect, it } from '@jest/globals';
import * as z from 'zod';
import { jsonSchemaOf } from '../../../lib/core/schema.js';
import { strictSchema } from '../../../lib/providers/shared/strictSchema.js';

describe('strictSchema', () => {
  it('closes objects, requires optional properties as nullable, and tells what strict mode refuses in the description', () => {
    const schema = jsonSchemaOf(
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

  it('leaves a schema that is strict as it is', () => {
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
  ])('does not call %s strict, and does not change it', (_, schema) => {
    expect(strictSchema(schema)).toEqual({ schema, strict: false });
  });

  it('turns oneOf into anyOf, and adjusts references', () => {
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
