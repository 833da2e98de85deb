import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Utf8Reader } from '../../lib/protocol/lineReader.js';
import { everyCut, inPieces, utf8 } from './wires.js';

const read = (pieces: readonly Uint8Array[]): string => {
  const reader = new Utf8Reader();
  return pieces.map((piece) => reader.decode(piece)).join('') + reader.end();
};

describe('Utf8Reader', () => {
  it('Utf8Reader returns the same text for every cut, and byte by byte', () => {
    for (const text of ['', 'plain', 'é', 'a 水 and 😀\n', '\uFEFFa', 'a\uFEFFb', '\uFEFF\uFEFF'])
      for (const pieces of [...everyCut(utf8(text)), inPieces(utf8(text), 1)])
        expect(read(pieces)).toBe(new TextDecoder().decode(utf8(text)));
  });

  it('Utf8Reader returns what one TextDecoder returns, for any bytes and cuts', () => {
    const bytes = fc.array(fc.oneof(fc.constantFrom(97, 10, 0xef, 0xbb, 0xbf, 0xe2, 0x82, 0xac), fc.nat(255)));
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 8 }), (pieces) => {
        expect(read(pieces.map((piece) => Uint8Array.from(piece)))).toBe(
          new TextDecoder().decode(Uint8Array.from(pieces.flat())),
        );
      }),
      { numRuns: 1000 },
    );
  });

  it('Utf8Reader returns each character with its last byte', () => {
    const reader = new Utf8Reader();
    expect(Array.from(utf8('aé水b'), (byte) => reader.decode(Uint8Array.of(byte)))).toEqual([
      'a',
      '',
      'é',
      '',
      '',
      '水',
      'b',
    ]);
  });
});
