import { describe, expect, it } from '@jest/globals';
import { outputSchema } from '../../../lib/providers/anthropic/encode.js';

describe('outputSchema', () => {
  it('outputSchema keeps a schema that the API accepts', () => {
    const schema = {
      type: 'object',
      properties: {
        mail: { type: 'string', format: 'email', description: 'Where.' },
        n: { type: ['integer', 'null'] },
      },
      required: ['mail'],
      additionalProperties: false,
    };
    expect(outputSchema(schema)).toEqual(schema);
  });

  it('outputSchema closes every object and moves refused constraints to the description', () => {
    const inner = { type: 'object', properties: { n: { type: 'number', minimum: 1, description: 'A number.' } } };
    expect(
      outputSchema({
        type: 'object',
        properties: {
          minimum: { type: 'string', format: 'phone' },
          list: { type: 'array', items: inner, minItems: 2 },
        },
        $defs: { inner },
        anyOf: [inner],
      }),
    ).toEqual({
      type: 'object',
      properties: {
        minimum: { type: 'string', description: '{format: "phone"}' },
        list: { type: 'array', items: closed(), description: '{minItems: 2}' },
      },
      $defs: { inner: closed() },
      anyOf: [closed()],
      additionalProperties: false,
    });
    function closed() {
      return {
        type: 'object',
        properties: { n: { type: 'number', description: 'A number.\n\n{minimum: 1}' } },
        additionalProperties: false,
      };
    }
  });
});
