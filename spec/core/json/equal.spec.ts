import { describe, expect, it } from '@jest/globals';
import { isSameJson } from '../../../lib/core/json/equal.js';

describe('isSameJson', () => {
  it.each<[string, string]>([
    ['{"a":1,"b":[true,null]}', '{"b":[true,null],"a":1}'],
    ['[]', '[]'],
    ['-0', '0'],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}'],
  ])('isSameJson is true for %s and %s', (one, other) => {
    expect(isSameJson(JSON.parse(one), JSON.parse(other))).toBe(true);
  });

  it.each<[string, string]>([
    ['{"a":1}', '{"a":1,"b":2}'],
    ['{"a":null}', '{"b":null}'],
    ['[1,2]', '[2,1]'],
    ['[]', '{}'],
    ['{}', 'null'],
    ['1', '"1"'],
    ['{"a":{"b":[1]}}', '{"a":{"b":[2]}}'],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}'],
  ])('isSameJson is false for %s and %s', (one, other) => {
    expect(isSameJson(JSON.parse(one), JSON.parse(other))).toBe(false);
    expect(isSameJson(JSON.parse(other), JSON.parse(one))).toBe(false);
  });

  it('isSameJson compares values that are nested deeper than the stack allows', () => {
    const nested = () => {
      let value: unknown = 1;
      for (let depth = 0; depth < 100_000; depth++) value = [value];
      return value;
    };
    expect(isSameJson(nested(), nested())).toBe(true);
  });
});
