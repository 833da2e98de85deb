import { describe, expect, it } from '@jest/globals';
import { escapeHidden, plainText } from '../../lib/core/plainText.js';

/** Code points that a terminal or an editor shows as nothing, or as a blank, by what they are. */
const hidden: Readonly<Record<string, readonly number[]>> = {
  'C0, DEL and C1': [0x00, 0x09, 0x1b, 0x7f, 0x80, 0x9f],
  'the soft hyphen and the grapheme joiner': [0xad, 0x34f],
  'direction of writing': [0x61c, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069],
  'Hangul fillers': [0x115f, 0x1160, 0x3164, 0xffa0],
  'Khmer and Mongolian': [0x17b4, 0x17b5, 0x180b, 0x180e, 0x180f],
  'joiners and blanks without a width': [0x200b, 0x200c, 0x200d, 0x2060, 0x2064, 0x2065, 0xfeff],
  'ends of lines': [0x2028, 0x2029],
  'deprecated formats': [0x206a, 0x206f],
  'variation selectors': [0xfe00, 0xfe0f, 0xe0100, 0xe01ef],
  'annotations and specials': [0xfff0, 0xfff9, 0xfffb, 0xffff],
  'shorthand and music': [0x1bca0, 0x1d173, 0x1d159],
  tags: [0xe0001, 0xe0020, 0xe0041, 0xe007f],
  'blank letters': [0x2800, 0x13441, 0x13442, 0x16fe4],
  'half of a pair': [0xd800, 0xdfff],
  'private and unassigned': [0xe000, 0xe0fff, 0x10ffff],
};

const ordinary = ['Grüße, 東京!', 'नमस्ते', 'سلام', '😀🇳🇴', 'e\u0301', 'a\nb', '"\\u0041"'];

describe('escapeHidden', () => {
  it.each(Object.entries(hidden))('escapeHidden shows %s', (_, codePoints) => {
    const text = codePoints.map((codePoint) => `x${String.fromCodePoint(codePoint)}`).join('');
    const escaped = escapeHidden(text);
    expect(escaped).toMatch(/^[ -~]+$/);
    expect(JSON.parse(`"${escaped}"`)).toBe(text);
  });

  it.each(ordinary)('escapeHidden does not change %j', (text) => expect(escapeHidden(text)).toBe(text));
});

describe('plainText', () => {
  it.each([...ordinary, '👩‍🚀', '❤️', '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}', 'می‌خواهم', 'a\tb'])(
    'plainText keeps what ordinary text needs: %j',
    (text) => expect(plainText(text)).toBe(text),
  );
});
