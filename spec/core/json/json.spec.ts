import { describe, expect, it } from '@jest/globals';
import { asArray, contentParts, omit, parseJsonOrText, tryParseJson } from '../../../lib/core/json/json.js';

describe('json', () => {
  it.each<[string, unknown]>([
    ['{"a":1}', { a: 1 }],
    ['null', null],
    ['{"a":', undefined],
    ['', undefined],
  ])('tryParseJson reads %j', (text, value) => {
    expect(tryParseJson(text)).toEqual(value);
  });

  it('tryParseJson returns undefined if the given parser throws', () => {
    const parse = (text: string): unknown => {
      if (text === 'bad') throw new Error('bad');
      return { parsed: text };
    };
    expect(tryParseJson('good', parse)).toEqual({ parsed: 'good' });
    expect(tryParseJson('bad', parse)).toBeUndefined();
  });

  it('parseJsonOrText returns a text that is not JSON unchanged, and null for null', () => {
    expect(['{"a":1}', 'null', 'Hello', ''].map(parseJsonOrText)).toEqual([{ a: 1 }, null, 'Hello', '']);
  });

  it('asArray wraps a single value, and returns an empty array for null and undefined', () => {
    expect([[1], null, undefined, 1, ''].map(asArray)).toEqual([[1], [], [], [1], ['']]);
  });

  it('contentParts returns the objects of an array, and none for a text', () => {
    expect(['text', [1, { a: 1 }, 'b'], undefined].map(contentParts)).toEqual([[], [{ a: 1 }], []]);
  });

  it('omit copies an object without the named fields', () => {
    const object = { a: 1, b: 2, c: 3 };
    expect(omit(object, 'a', 'c')).toEqual({ b: 2 });
    expect(object).toEqual({ a: 1, b: 2, c: 3 });
  });
});
