import { describe, expect, it } from '@jest/globals';
import { refusedByAnthropic, refusedByOpenai } from '../../../lib/testing/server/dialects/outputSchema.js';

const closed = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };
const format = (schema: unknown, strict = true) => ({ name: 'output', schema, strict });

describe('refusedByOpenai', () => {
  it.each([
    ['an array', { type: 'array', items: closed }, /must be a JSON Schema of 'type: "object"', got 'type: "array"'/],
    ['a union', { anyOf: [closed] }, /got 'type: "None"'/],
    ['an object with anyOf', { ...closed, anyOf: [closed] }, /must not have 'anyOf' at the top level/],
    ['an open object', { ...closed, additionalProperties: true }, /In context=\(\), 'additionalProperties'/],
    ['an optional property', { ...closed, required: [] }, /Missing 'a'/],
    [
      'an open object inside',
      { ...closed, properties: { a: { type: 'array', items: { type: 'object' } } } },
      /In context=\('properties', 'a', 'items'\), 'additionalProperties'/,
    ],
  ])('refusedByOpenai refuses %s in strict mode', (_, schema, message) => {
    expect(refusedByOpenai(format(schema), 'response_format')).toMatch(message);
  });

  it('refusedByOpenai accepts a strict schema, and open objects without strict mode, but no other root', () => {
    expect(refusedByOpenai(format(closed), 'response_format')).toBeUndefined();
    expect(refusedByOpenai(format({ type: 'object' }, false), 'response_format')).toBeUndefined();
    expect(refusedByOpenai(format({ type: 'array' }, false), 'response_format')).toMatch(/object/);
    expect(refusedByOpenai(undefined, 'response_format')).toBeUndefined();
  });
});

describe('refusedByAnthropic', () => {
  it('refusedByAnthropic refuses an object that accepts other properties, at any depth', () => {
    expect(refusedByAnthropic({ schema: closed })).toBeUndefined();
    expect(refusedByAnthropic({ schema: { ...closed, properties: { a: { type: 'object' } } } })).toMatch(
      /'additionalProperties' must be explicitly set to false/,
    );
  });
});
