import { describe, expect, it } from '@jest/globals';
import { isSameJson } from '../../../lib/core/json/equal.js';

describe('isSameJson', () => {
  it('isSameJson compares values deeply, with keys in any order', () => {
    expect(isSameJson({ a: [1, { b: null }], c: 'x' }, { c: 'x', a: [1, { b: null }] })).toBe(true);
    const pairs: [unknown, unknown][] = [
      [{}, []],
      [[1], [1, 2]],
      [{ a: 1 }, { b: 1 }],
      [{ a: undefined }, { b: undefined }],
      [null, {}],
      ['1', 1],
      [new Date(0), {}],
    ];
    for (const [a, b] of pairs) expect([a, b, isSameJson(a, b)]).toEqual([a, b, false]);
  });
});
