import { describe, expect, it } from '@jest/globals';
import { omitOptionalNulls } from '../../../lib/core/json/optionalNulls.js';

const text = { type: 'string' };

describe('omitOptionalNulls', () => {
  it('omitOptionalNulls omits only the nulls of optional properties, including those in arrays, choices and references', () => {
    const schema = {
      type: 'object',
      properties: {
        a: text,
        b: text,
        maybe: { anyOf: [text, { type: 'null' }] },
        list: { type: 'array', items: { $ref: '#/$defs/node' } },
        choice: { oneOf: [{ type: 'object', properties: { x: text } }, { type: 'number' }] },
        anything: {},
      },
      required: ['a'],
      $defs: { node: { type: 'object', properties: { n: text, next: { $ref: '#/$defs/node' } } } },
    };
    const value = {
      a: null,
      b: null,
      maybe: null,
      anything: null,
      unknown: null,
      list: [{ n: null, next: { n: 'x', next: null } }],
      choice: { x: null },
    };
    expect(omitOptionalNulls(value, schema)).toEqual({
      a: null,
      maybe: null,
      anything: null,
      unknown: null,
      list: [{ next: { n: 'x' } }],
      choice: {},
    });
  });

  it.each(['#/$defs/a node', '#/$defs/a%20node', '#/$defs/a~1node', '#/anyOf/0'])(
    'omitOptionalNulls follows the reference %s',
    (reference) => {
      const node = { type: 'object', properties: { n: { type: 'string' } } };
      const properties = { at: { $ref: reference } };
      const schema = { type: 'object', properties, anyOf: [node], $defs: { 'a node': node, 'a/node': node } };
      expect(omitOptionalNulls({ at: { n: null } }, schema)).toEqual({ at: {} });
    },
  );

  it('omitOptionalNulls takes no anchor for the root', () => {
    const properties = { item: { $ref: '#item' }, note: { type: 'string' } };
    const schema = { type: 'object', properties, $defs: { item: { $anchor: 'item', type: 'object' } } };
    expect(omitOptionalNulls({ item: { note: null } }, schema)).toEqual({ item: { note: null } });
  });

  it('omitOptionalNulls ends for a schema that only refers to itself', () => {
    expect(omitOptionalNulls({ a: null }, { $ref: '#' })).toEqual({ a: null });
    expect(omitOptionalNulls({ a: null }, { anyOf: [{ $ref: '#' }] })).toEqual({ a: null });
  });

  it('omitOptionalNulls treats __proto__ as an ordinary key', () => {
    const value = JSON.parse('{"__proto__":null,"b":1}') as never;
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}') as never;
    expect(JSON.stringify(omitOptionalNulls(value, schema))).toBe('{"b":1}');
  });
});
