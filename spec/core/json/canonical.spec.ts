import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson } from '../../../lib/core/json/canonical.js';
import { isSameJson } from '../../../lib/core/json/equal.js';
import type { JsonValue } from '../../../lib/core/json/json.js';

describe('canonicalJson', () => {
  it('canonicalJson orders the keys of all objects, and keeps the order of arrays', () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }, 1], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1},1]}');
    expect(canonicalJson([{ 10: 1, 9: 2, __proto__x: 3 }])).toBe(canonicalJson([{ __proto__x: 3, 9: 2, 10: 1 }]));
  });

  it('canonicalJson returns equal texts for equal values only', () =>
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const [left, right] = [JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b))] as [JsonValue, JsonValue];
        expect(canonicalJson(left) === canonicalJson(right)).toBe(isSameJson(left, right));
        expect(canonicalJson(left)).toBe(canonicalJson(JSON.parse(canonicalJson(left)) as JsonValue));
      }),
    ));
});
