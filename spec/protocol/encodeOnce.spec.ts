import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../lib/core/json/json.js';
import { encodeOnce, markImmutable } from '../../lib/protocol/encodeOnce.js';

describe('jsonText', () => {
  it('writes any body as JSON.stringify does, marked or not, once or again', () => {
    const body = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())));
    fc.assert(
      fc.property(body, fc.boolean(), (value, marked) => {
        const lists = Object.values(value).filter(Array.isArray) as JsonValue[][];
        for (const entry of lists.flat())
          if (marked && typeof entry === 'object' && entry !== null) markImmutable(entry as JsonObject);
        for (let time = 0; time < 2; time++) expect(encodeOnce(value as JsonObject)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('leaves out what is undefined, as JSON.stringify does', () => {
    const body = { a: undefined, list: [undefined, { b: undefined }] } as unknown as JsonObject;
    expect(encodeOnce(body)).toBe('{"list":[null,{}]}');
  });

  it('writes what never changes once, and what may change anew each time', () => {
    const [kept, free] = [{ n: 1 }, { n: 1 }];
    markImmutable(kept);
    const texts = [0, 1].map(() => {
      const text = encodeOnce({ messages: [kept, free] });
      [kept.n, free.n] = [2, 2]; // nobody may do this to the first: it shows that its text was kept
      return text;
    });
    expect(texts).toEqual(['{"messages":[{"n":1},{"n":1}]}', '{"messages":[{"n":1},{"n":2}]}']);
  });
});
