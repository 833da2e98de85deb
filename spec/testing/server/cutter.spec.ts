import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cutter } from '../../../lib/testing/server/respond.js';

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (pieces: readonly Uint8Array[]) => pieces.map((piece) => new TextDecoder().decode(piece));

/** The writes of a body that comes in these frames. */
function cutUp(frames: readonly string[], cut: number | readonly number[] | undefined): string[] {
  const cuts = cutter(cut);
  return decode([...frames.flatMap((frame) => cuts.next(encode(frame))), ...cuts.flush()]);
}

describe('cutter', () => {
  it('leaves frames as they are without a wish', () => {
    expect(cutUp(['abc', '', 'de'], undefined)).toEqual(['abc', 'de']);
  });

  it('cuts by size across frames, and holds back what is not full', () => {
    expect(cutUp(['abc', 'de'], 1)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(cutUp(['abc', 'de'], 2)).toEqual(['ab', 'cd', 'e']);
    expect(cutUp(['abc', 'de'], Infinity)).toEqual(['abcde']);
    expect(decode(cutter(2).next(encode('abc')))).toEqual(['ab']);
  });

  it('cuts at offsets of the body, in any order, and ignores those outside', () => {
    expect(cutUp(['abc', 'def'], [4, 1, 0, 99])).toEqual(['a', 'bcd', 'ef']);
  });

  it('goes on by the size from a flush in the middle', () => {
    const cuts = cutter(2);
    expect(decode([...cuts.next(encode('a')), ...cuts.flush(), ...cuts.next(encode('bcd')), ...cuts.flush()])).toEqual([
      'a',
      'bc',
      'd',
    ]);
  });

  it('loses and adds no byte, however the body comes and is cut', () => {
    const cut = fc.oneof(fc.integer({ min: -1, max: 9 }), fc.array(fc.nat(60)), fc.constant(undefined));
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 12 })), cut, (frames, wish) => {
        expect(
          cutUp(
            frames.map((frame) => frame.replace(/[^ -~]/g, '?')),
            wish,
          ).join(''),
        ).toBe(frames.join('').replace(/[^ -~]/g, '?'));
      }),
    );
  });
});
