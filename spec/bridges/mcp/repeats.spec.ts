import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { repeats } from '../../../lib/bridges/mcp/result.js';
import type { JsonValue } from '../../../lib/index.js';

const repeated = (data: JsonValue, ...texts: readonly string[]) => texts.map(repeats(data, texts));

describe('a text repeats structured content', () => {
  it('that is its JSON, in any layout and order of keys', () => {
    expect(repeated({ a: [1, { b: null, c: '' }] }, '{\n  "a": [1, { "c": "", "b": null }]\n}')).toEqual([true]);
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(4), (data, indent) =>
        repeats(data as JsonValue, ['', ''])(JSON.stringify(data, null, indent)),
      ),
    );
  });
  it('that holds what it says as its one result', () => {
    expect(repeated({ result: 'hello' }, 'hello')).toEqual([true]);
    expect(repeated({ result: 5 }, '5')).toEqual([true]);
    expect(repeated({ result: [1, 2] }, '[1,2]')).toEqual([true]);
    expect(repeated({ result: 'hello', more: 1 }, 'hello')).toEqual([false]);
    expect(repeated({ text: 'hello' }, 'hello')).toEqual([false]);
  });
  it('that lists what it and its neighbours say, in their order', () => {
    expect(repeated({ result: ['a', { b: 1 }, [2, 3]] }, 'a', '{ "b": 1 }', '2', '3')).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(repeated({ result: ['a', 'b'] }, 'b', 'a')).toEqual([false, false]);
    expect(repeated({ result: ['a', 'b'] }, 'b')).toEqual([false]);
  });
  it('not with another value, a key less or a key more, nor in words', () => {
    for (const text of ['{"a":2}', '{}', '{"a":1,"b":2}', '{"b":1}', '[1]', 'null', 'a is 1', '{"a":1', ''])
      expect(repeated({ a: 1 }, text)).toEqual([false]);
    expect(repeated([1, 2], '[1]', '[1,2,3]', '{"0":1,"1":2}')).toEqual([false, false, false]);
    expect(repeated({ a: {} }, '{"__proto__":{}}')).toEqual([false]);
    expect(repeated(JSON.parse('{"__proto__":{}}') as JsonValue, '{"a":{}}')).toEqual([false]);
  });
});
