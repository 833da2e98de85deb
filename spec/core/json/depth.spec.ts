import { describe, expect, it } from '@jest/globals';
import { isDeeperThan, limitDepth, MAX_JSON_DEPTH } from '../../../lib/core/json/depth.js';
import { isTooDeepJson, tryParseJson } from '../../../lib/core/json/json.js';
import type { JsonObject } from '../../../lib/core/json/json.js';

const nested = (levels: number) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);

describe('depth', () => {
  it('isDeeperThan counts the levels of objects and arrays', () => {
    expect(isDeeperThan(1, 0)).toBe(false);
    expect(isDeeperThan([], 0)).toBe(true);
    expect(isDeeperThan({ a: [1, { b: 2 }], c: null }, 3)).toBe(false);
    expect(isDeeperThan({ a: [1, { b: 2 }], c: null }, 2)).toBe(true);
  });

  it('limitDepth copies a value without the objects and arrays beyond the limit', () => {
    const value = { a: [1, { b: { c: 2 } }], d: { e: 'f' }, g: null };
    const before = structuredClone(value);
    expect(limitDepth(value, 3)).toEqual({ a: [1, { b: null }], d: { e: 'f' }, g: null });
    expect(limitDepth(value, 1)).toEqual({ a: null, d: null, g: null });
    expect(limitDepth('text', 1)).toBe('text');
    expect(value).toEqual(before);
    const own = JSON.parse('{"__proto__":{"a":{}}}') as JsonObject;
    expect(JSON.stringify(limitDepth(own, 2))).toBe('{"__proto__":{"a":null}}');
    expect(isDeeperThan(limitDepth(JSON.parse(nested(100_000)) as JsonObject, 9), 8)).toBe(true);
    expect(isDeeperThan(limitDepth(JSON.parse(nested(100_000)) as JsonObject, 9), 9)).toBe(false);
  });

  it('tryParseJson returns undefined for more levels than the limit', () => {
    expect(tryParseJson(nested(MAX_JSON_DEPTH))).toBeDefined();
    expect(isTooDeepJson(nested(MAX_JSON_DEPTH))).toBe(false);
    for (const levels of [MAX_JSON_DEPTH + 1, 5_000, 200_000]) {
      expect(tryParseJson(nested(levels))).toBeUndefined();
      expect(isTooDeepJson(nested(levels))).toBe(true);
    }
    expect(isTooDeepJson('{'.repeat(2_000))).toBe(true);
    expect(isTooDeepJson(`["${'['.repeat(2_000)}\\"["]`)).toBe(false);
  });
});
