import { describe, expect, it } from '@jest/globals';
import type { JsonValue } from '../../../lib/core/json/json.js';
import { JsonMerger, mergeJson } from '../../../lib/core/json/merge.js';

const parse = (text: string) => JSON.parse(text) as JsonValue;

describe('merge', () => {
  it('mergeJson merges objects by key, concatenates arrays, and replaces any other value', () => {
    expect(mergeJson({ a: [1], b: { c: 1 }, d: 'old' }, { a: [2], b: { e: 2 }, d: 'new' })).toEqual({
      a: [1, 2],
      b: { c: 1, e: 2 },
      d: 'new',
    });
    expect(mergeJson(undefined, [1])).toEqual([1]);
    expect(mergeJson([1], { a: 1 })).toEqual({ a: 1 });
    expect(mergeJson({ a: 1 }, null)).toBeNull();
  });

  it('JsonMerger changes none of the values that are added', () => {
    const values = ['{"a":[1],"b":{"c":[]}}', '{"a":[2],"b":{"c":[3]}}', '{"a":[4],"b":{"c":[5],"d":{}}}'].map(parse);
    const before = JSON.stringify(values);
    const merger = new JsonMerger();
    for (const value of values) merger.add(value);
    expect(merger.value).toEqual({ a: [1, 2, 4], b: { c: [3, 5], d: {} } });
    expect(JSON.stringify(values)).toBe(before);
  });

  it('JsonMerger keeps a field with the name __proto__ as a field', () => {
    const merged = new JsonMerger().add(parse('{"a":1}')).add(parse('{"__proto__":{"b":2},"toString":3}')).value;
    expect(JSON.stringify(merged)).toBe('{"a":1,"__proto__":{"b":2},"toString":3}');
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
  });
});
