import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LineWrapper } from '../../../lib/cli/chat/markdownWriter.js';

/** What a terminal without automatic line breaks shows: it knows the sequences that the wrapper writes. */
function screenOf(output: string): readonly string[] {
  const lines = [''];
  // eslint-disable-next-line no-control-regex -- the sequences of a terminal
  for (const [piece, erased] of output.matchAll(/\u001b\[(\d+)D\u001b\[K|\n|[^\n\u001b]/gu)) {
    const line = lines.at(-1) ?? '';
    if (piece === '\n') lines.push('');
    else lines[lines.length - 1] = erased === undefined ? line + piece : line.slice(0, -Number(erased));
  }
  return lines;
}

const wrap = (texts: readonly string[], columns: number) => {
  const wrapper = new LineWrapper(() => columns);
  return screenOf(texts.map((text) => wrapper.write(text)).join(''));
};

describe('LineWrapper', () => {
  it('LineWrapper moves a word that grows beyond the line to the next line', () => {
    expect(wrap(['It is co', 'ld in Os', 'lo.'], 12)).toEqual(['It is cold ', 'in Oslo.']);
  });
  it('LineWrapper keeps the line breaks of the text', () => {
    expect(wrap(['a\n\nb c\n'], 12)).toEqual(['a', '', 'b c', '']);
  });
  it('LineWrapper leaves a word that is longer than a line to the terminal', () => {
    expect(wrap(['a ', 'https://example.org/', 'page b'], 10)).toEqual(['a ', 'https://example.org/page', 'b']);
  });
  it('LineWrapper counts a wide character as two columns', () => {
    expect(wrap(['ab 日本語'], 8)).toEqual(['ab ', '日本語']);
  });
  it('LineWrapper shows the same, however the text is cut, and no word beyond the line', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]{1,6}$/), { maxLength: 20 }),
        fc.array(fc.nat(60), { maxLength: 10 }),
        (words, cuts) => {
          const text = words.join(' ');
          const places = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length];
          const pieces = places.slice(1).map((end, index) => text.slice(places[index], end));
          const screen = wrap(pieces, 10);
          expect(screen.join('\n').match(/\S+/g) ?? []).toEqual(words);
          for (const line of screen) expect(line.trimEnd().length).toBeLessThanOrEqual(10);
        },
      ),
    );
  });
});
