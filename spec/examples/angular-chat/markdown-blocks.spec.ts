import { describe, expect, it } from '@jest/globals';
import { renderMarkdown } from '../../../examples/angular-chat/src/app/markdown-blocks.js';

const htmlOf = (text: string, isGrowing = false) =>
  renderMarkdown(text, undefined, isGrowing)
    .blocks.map(({ html }) => html)
    .join('');

/** Texts that a model may write without an end. */
const rows: readonly (readonly [what: string, part: string])[] = [
  ['quotes within quotes', '>'],
  ['quotes with spaces', '> '],
  ['lists within lists', '- '],
  ['numbered lists within lists', '1. '],
  ['tasks within tasks', '- [ ] '],
  ['quotes and lists', '> - '],
  ['emphasis within emphasis', '**a *b '],
  ['marks that nothing ends', '*a '],
  ['marks within a word', '_a'],
  ['bold in words', 'a**b'],
  ['a word before @', 'a'],
  ['brackets', '['],
  ['links without an end', '[a]('],
];

const usualText =
  'A *usual* text with `code`, **bold** words and a [link](https://example.org/a) in each paragraph.\n\n';

describe('renderMarkdown', () => {
  it.each(rows)('shows %s to the end, in a time that grows with the text', (_, part) => {
    const usual = htmlTime('A *short* paragraph with `code`.\n\n'.repeat(900));
    const text = `${part.repeat(30_000 / part.length)} The end.`;
    for (const isGrowing of [false, true]) {
      expect(htmlOf(text, isGrowing)).toContain('The end.');
      expect(htmlTime(text, isGrowing)).toBeLessThan(50 * usual);
    }
  });

  it.each(['<b>*a', '[*a](', '[~~a', '*~~a', '~~a ~b', '**a *b', '__a'])(
    'shows paragraphs of many marks in about the time of usual text: %s',
    (part) => {
      const paragraph = `${part.repeat(3800 / part.length)} The end.\n\n`;
      const usual = usualText.repeat((4 * paragraph.length) / usualText.length);
      expect(htmlTime(paragraph.repeat(4))).toBeLessThan(6 * htmlTime(usual));
      expect(htmlOf(paragraph)).toContain('The end.');
    },
  );

  it('shows a text to its end, but the end of a very long one as it is', () => {
    const text = usualText.repeat(300_000 / usualText.length);
    const html = htmlOf(`${text}\n\nThe *end*.`);
    expect(html).toContain('<em>usual</em>');
    expect(html).toContain('The *end*.');
    const half = text.slice(0, text.length / 2);
    const growing = renderMarkdown(text, renderMarkdown(half, undefined, true), true);
    expect(growing).toEqual(renderMarkdown(text));
    expect(growing.blocks.map(({ source }) => source).join('')).toBe(text);
  });

  it('shows what is nested by many lines to the end', () => {
    const lines = Array.from({ length: 120 }, (_, depth) => `${'  '.repeat(depth)}- a`);
    expect(htmlOf(`${lines.join('\n')} The end.`)).toContain('The end.');
  });

  it('shows usual text as before', () => {
    const html = htmlOf('> **Bold** and [link](https://example.org)\n\n- one\n  - two\n\n* * * *');
    expect(html).toContain('<strong>Bold</strong>');
    expect(html).toContain('href="https://example.org"');
    expect(html.match(/<li>/g)).toHaveLength(2);
    expect(html).toContain('<hr>');
    expect(html).not.toContain('\u200b');
  });
});

/** The shortest of three. */
function htmlTime(text: string, isGrowing = false): number {
  const times = [1, 2, 3].map(() => {
    const start = performance.now();
    htmlOf(text, isGrowing);
    return performance.now() - start;
  });
  return Math.min(...times);
}
