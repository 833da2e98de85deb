import { describe, expect, it } from '@jest/globals';
import * as z from 'zod';
import { toJsonSchema, validate } from '../../lib/core/schema.js';
import type { PlainSchema, Schema, StandardSchema } from '../../lib/core/schema.js';

describe('toJsonSchema', () => {
  const city = z.object({ city: z.string() });

  it('toJsonSchema converts a Standard Schema once', () => {
    const jsonSchema = toJsonSchema(city, 'The output');
    expect(jsonSchema).toMatchObject({ type: 'object', required: ['city'] });
    expect(jsonSchema).not.toHaveProperty('$schema');
    expect(toJsonSchema(city, 'The output')).toBe(jsonSchema);
  });

  it('toJsonSchema returns a plain JSON Schema without `validate`', () => {
    expect(toJsonSchema({ type: 'object', validate: (value) => value }, 'The output')).toEqual({ type: 'object' });
  });

  it.each<[string, unknown, string]>([
    ['null', null, 'The output: the value is not a schema.'],
    ['a string', 'object', 'The output: the value is not a schema.'],
    ['an object of schemas', { city: z.string() }, 'The output: the value is not a schema.'],
    [
      'a type that JSON cannot represent',
      z.object({ at: z.date() }),
      'The output: this schema cannot be converted to JSON Schema:',
    ],
    [
      'a Standard Schema without JSON Schema',
      { '~standard': { version: 1, vendor: 'acme', validate: () => ({ value: 1 }) } },
      'The output: this acme schema cannot be converted to JSON Schema.',
    ],
  ])('toJsonSchema rejects %s', (_, schema, message) => {
    expect(() => toJsonSchema(schema as Schema, 'The output')).toThrow(
      expect.objectContaining({
        code: 'configuration',
        subject: 'schema',
        message: expect.stringContaining(message) as unknown,
      }),
    );
  });
});

describe('validate', () => {
  const plain: PlainSchema = { type: 'object', required: ['a', 'b'] };
  const positive: PlainSchema<number> = {
    validate({ n }) {
      if (typeof n === 'number' && n > 0) return n;
      throw new Error('n must be positive');
    },
  };
  const standard = z.object({ at: z.array(z.number()) });

  it.each<[string, Schema, Parameters<typeof validate>[1], unknown]>([
    ['an array', plain, [], { invalid: 'expected an object, got an array' }],
    ['null', plain, null, { invalid: 'expected an object, got null' }],
    ['a string', plain, 'a', { invalid: 'expected an object, got string' }],
    ['missing keys', plain, { a: 1 }, { invalid: 'missing required "b"' }],
    ['all required keys', plain, { a: 1, b: null }, { value: { a: 1, b: null } }],
    ['a value that `validate` accepts', positive, { n: 2 }, { value: 2 }],
    ['a value that `validate` rejects', positive, { n: 0 }, { invalid: 'n must be positive' }],
    ['a value of a Standard Schema', standard, { at: [1] }, { value: { at: [1] } }],
  ])('validate checks %s', (_, schema, value, result) => {
    expect(validate(schema, value)).toEqual(result);
  });

  it('validate names the path of an issue of a Standard Schema', () => {
    expect(validate(standard, { at: [1, 'two'] })).toEqual({ invalid: expect.stringMatching(/^at\.1: /) as unknown });
  });

  it.each([
    [20, /^at\.0: [^;]*(; at\.\d+: [^;]*){19}$/],
    [30_000, /^at\.0: [^;]*(; at\.\d+: [^;]*){19}; and 29980 more$/],
  ])('validate names the first of %i problems: the model reads them in each turn', (count, expected) => {
    const wrong = Array.from({ length: count }, () => 'x');
    const schema = z.object({ at: z.array(z.number()) });
    expect(validate(schema, { at: wrong })).toEqual({ invalid: expect.stringMatching(expected) as unknown });
  });

  it('validate returns a Promise for a schema that validates asynchronously', async () => {
    const asynchronous: StandardSchema<unknown, number> = {
      '~standard': { version: 1, vendor: 'acme', validate: () => Promise.resolve({ value: 7 }) },
    };
    await expect(Promise.resolve(validate(asynchronous, {}))).resolves.toEqual({ value: 7 });
  });
});
