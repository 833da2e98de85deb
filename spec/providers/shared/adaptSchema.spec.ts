import { describe, expect, it } from '@jest/globals';
import type { JsonSchema } from '../../../lib/core/json/json.js';
import { googleSchema } from '../../../lib/providers/shared/googleSchema.js';

const text = { type: 'string' };
const rows: Readonly<Record<string, readonly [schema: JsonSchema, sent: JsonSchema]>> = {
  'a part that is named once': [
    { type: 'object', properties: { a: text, b: { $ref: '#/properties/a' } } },
    {
      type: 'object',
      properties: { a: { $ref: '#/$defs/properties_a' }, b: { $ref: '#/$defs/properties_a' } },
      $defs: { properties_a: text },
    },
  ],
  'a part that is named in several spellings': [
    { type: 'object', properties: { a: text, b: { $ref: '#/properties/a' }, c: { $ref: '#/properties/%61' } } },
    {
      type: 'object',
      properties: {
        a: { $ref: '#/$defs/properties_a' },
        b: { $ref: '#/$defs/properties_a' },
        c: { $ref: '#/$defs/properties_a' },
      },
      $defs: { properties_a: text },
    },
  ],
  'a part in a part that is named': [
    {
      type: 'object',
      properties: {
        a: { type: 'object', properties: { b: text } },
        c: { $ref: '#/properties/a' },
        d: { $ref: '#/properties/a/properties/b' },
      },
    },
    {
      type: 'object',
      properties: {
        a: { $ref: '#/$defs/properties_a' },
        c: { $ref: '#/$defs/properties_a' },
        d: { $ref: '#/$defs/properties_a_properties_b' },
      },
      $defs: {
        properties_a: { type: 'object', properties: { b: { $ref: '#/$defs/properties_a_properties_b' } } },
        properties_a_properties_b: text,
      },
    },
  ],
  'two parts whose names differ in punctuation only': [
    {
      type: 'object',
      properties: {
        'a-b': text,
        'a+b': { type: 'number' },
        c: { $ref: '#/properties/a-b' },
        d: { $ref: '#/properties/a+b' },
      },
    },
    {
      type: 'object',
      properties: {
        'a-b': { $ref: '#/$defs/properties_a_b' },
        'a+b': { $ref: '#/$defs/properties_a_b_1' },
        c: { $ref: '#/$defs/properties_a_b' },
        d: { $ref: '#/$defs/properties_a_b_1' },
      },
      $defs: { properties_a_b: text, properties_a_b_1: { type: 'number' } },
    },
  ],
};

describe('adaptSchema', () => {
  it.each(Object.entries(rows))('adaptSchema moves %s to `$defs`, once', (_, [schema, sent]) => {
    expect(googleSchema(schema, 'The schema')).toEqual(sent);
  });
});
