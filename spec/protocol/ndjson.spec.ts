import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { from, repeat, take, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { createNdjsonReader } from '../../lib/protocol/ndjson.js';
import { observe } from '../support/observe.js';
import { everyCut, framed, inPieces, utf8 } from './wires.js';

const toy = (maxEventLength?: number) =>
  framed((emit) => createNdjsonReader({ provider: 'toy', maxEventLength }, emit));
const frames = (pieces: readonly Uint8Array[], maxEventLength?: number) =>
  observe(from(pieces).pipe(toy(maxEventLength)));

describe('ndjson', () => {
  const body = utf8('\uFEFF{"a":"é😀"}\n\n  \r\n{"b":1}\r\n{"c":2}');
  const expected = [{ data: '{"a":"é😀"}' }, { data: '{"b":1}' }, { data: '{"c":2}', unterminated: true }];

  it('ndjson reads lines, skips blank ones and a byte order mark, and marks a last line without a line end', () => {
    expect(frames([body])).toMatchObject({ values: expected, completed: true });
  });

  it('ndjson emits the same frames for every cut in two, and byte by byte', () => {
    for (const pieces of [...everyCut(body), inPieces(body, 1)]) expect(frames(pieces).values).toEqual(expected);
  });

  it('ndjson emits any JSON, however it is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 6 }), fc.integer({ min: 1, max: 30 }), (documents, size) => {
        const bytes = utf8(documents.map((document) => `${JSON.stringify(document)}\n`).join(''));
        expect(frames(inPieces(bytes, size)).values).toEqual(
          documents.map((document) => ({ data: JSON.stringify(document) })),
        );
      }),
    );
  });

  it('ndjson shows a character that was cut by the end of the body', () => {
    expect(frames([utf8('{"a":"é').subarray(0, -1)]).values).toEqual([{ data: '{"a":"\uFFFD', unterminated: true }]);
  });

  it('ndjson rejects a line beyond the size limit, also one that never ends, after the lines before it', () => {
    for (const tail of [`${'x'.repeat(200)}\n{}\n`, 'x'.repeat(200)]) {
      for (const size of [7, 1000]) {
        const { values, error } = frames(inPieces(utf8(`{}\n${tail}`), size), 100);
        expect(values).toEqual([{ data: '{}' }]);
        expect(error).toMatchObject({ code: 'protocol', reason: 'event_too_large' });
      }
    }
  });

  it('ndjson has its own state for each body', () => {
    expect(observe(from([utf8('{"a"'), utf8(':1}')]).pipe(toy(), repeat(2), toArray())).values[0]).toHaveLength(2);
  });

  it('an operator on ndjson unsubscribes its source, and forwards an error after the complete frames', () => {
    new TestScheduler((a, b) => expect(a).toEqual(b)).run(({ cold, expectObservable, expectSubscriptions }) => {
      const [source, broken] = [cold('-a-a-a-|', { a: utf8('1\n') }), cold('-a-#', { a: utf8('1\n2') })];
      expectObservable(source.pipe(toy(), take(2))).toBe('-a-(a|)', { a: { data: '1' } });
      expectObservable(broken.pipe(toy())).toBe('-a-#', { a: { data: '1' } });
      expectSubscriptions(source.subscriptions).toBe('^--!');
    });
  });
});
