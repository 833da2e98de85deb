import { describe, expect, it } from '@jest/globals';
import { createSplitter } from '../../../lib/testing/server/respond.js';
import fc from 'fast-check';

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (chunks: readonly Uint8Array[]) => chunks.map((chunk) => new TextDecoder().decode(chunk));

/** The writes of a body that comes in these frames. */
function split(frames: readonly string[], cut: number | readonly number[] | undefined): string[] {
  const splitter = createSplitter(cut);
  return decode([...frames.flatMap((frame) => splitter.push(encode(frame))), ...splitter.flush()]);
}

describe('createSplitter', () => {
  it('createSplitter returns each frame unchanged by default', () => {
    expect(split(['abc', '', 'de'], undefined)).toEqual(['abc', 'de']);
  });

  it('splitter by size across frames, and holds back what is not full', () => {
    expect(split(['abc', 'de'], 1)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(split(['abc', 'de'], 2)).toEqual(['ab', 'cd', 'e']);
    expect(split(['abc', 'de'], Infinity)).toEqual(['abcde']);
    expect(decode(createSplitter(2).push(encode('abc')))).toEqual(['ab']);
  });

  it('splitter at offsets of the body, in any order, and ignores those outside', () => {
    expect(split(['abc', 'def'], [4, 1, 0, 99])).toEqual(['a', 'bcd', 'ef']);
  });

  it('createSplitter counts the size from the last flush', () => {
    const splitter = createSplitter(2);
    expect(
      decode([
        ...splitter.push(encode('a')),
        ...splitter.flush(),
        ...splitter.push(encode('bcd')),
        ...splitter.flush(),
      ]),
    ).toEqual(['a', 'bc', 'd']);
  });

  it('createSplitter neither loses nor adds a byte', () => {
    const cut = fc.oneof(fc.integer({ min: -1, max: 9 }), fc.array(fc.nat(60)), fc.constant(undefined));
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 12 })), cut, (frames, cut) => {
        expect(
          split(
            frames.map((frame) => frame.replace(/[^ -~]/g, '?')),
            cut,
          ).join(''),
        ).toBe(frames.join('').replace(/[^ -~]/g, '?'));
      }),
    );
  });
});
