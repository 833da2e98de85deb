import { describe, expect, it } from '@jest/globals';
import { MarkdownWriter } from '../../../lib/cli/chat/markdownWriter.js';
import { loadMarkdown } from '../../../lib/cli/chat/markdownWriter.js';

const size = { columns: () => 20, rows: () => 6 };
const render = (block: string) => `<${block.trim()}>`;
const erase = (lines: number) => `\u001b[${lines}A\r\u001b[J`;

/** The lines of a terminal of 20 columns, whose characters have these widths. It breaks lines by itself. */
function screenOf(output: string, widthOf: (character: string) => number): readonly string[] {
  const lines = [''];
  let row = 0;
  let column = 0;
  // eslint-disable-next-line no-control-regex -- the sequences of a terminal
  for (const [piece, up] of output.matchAll(/\u001b\[(\d+)A\r\u001b\[J|\u001b\[\d+D\u001b\[K|[^]/gu)) {
    if (up !== undefined) lines.splice((row = Math.max(0, row - Number(up))), Infinity, '');
    else if (piece.startsWith('\u001b')) continue;
    const width = up !== undefined || piece === '\n' ? 0 : widthOf(piece);
    if (piece === '\n' || column + width > 20) row++;
    if (up !== undefined || piece === '\n' || column + width > 20) column = 0;
    column += width;
    lines[row] = (lines[row] ?? '') + (up === undefined && piece !== '\n' ? piece : '');
  }
  return lines;
}

/** Texts, and how wide a terminal shows their characters. */
const widths: Readonly<Record<string, readonly [text: string, width: number]>> = {
  'box drawing': ['─'.repeat(100), 1],
  'dashes and arrows': ['—→'.repeat(50), 1],
  'marks of Thai': [`ก${'\u0e31'.repeat(100)}`, 0],
  'blanks without a width': ['\u200b'.repeat(100), 0],
  'joined emoji': ['\u{1f469}\u200d'.repeat(20), 1],
  emoji: ['\u{1f600}'.repeat(30), 2],
  watches: ['\u231a'.repeat(30), 2],
  'East Asian characters': ['日本語'.repeat(10), 2],
  'East Asian characters after one column': [`a${'日本語'.repeat(10)}`, 2],
  ASCII: ['a'.repeat(70), 1],
  'ASCII, then others': [`${'a'.repeat(70)}${'─'.repeat(50)}${'a'.repeat(30)}`, 1],
  'many blanks': [`a${' '.repeat(90)}b`, 1],
  'many wide blanks': [`a${'\u3000'.repeat(40)}b`, 1],
};

describe('MarkdownWriter', () => {
  it.each(Object.entries(widths))('MarkdownWriter erases nothing above a block of %s', (_, [text, width]) => {
    for (const piece of [1, 7, 1000]) {
      const writer = new MarkdownWriter({ ...size, rows: () => 200 }, () => '<block>');
      const characters = Array.from(`${text} end.\n\n`);
      const pieces = characters.flatMap((__, index) =>
        index % piece === 0 ? [characters.slice(index, index + piece).join('')] : [],
      );
      const above = Array.from({ length: 50 }, (__, index) => `line ${index}\n`).join('');
      const screen = screenOf(above + pieces.map((each) => writer.write(each)).join(''), (character) =>
        /[ -~]/.test(character) ? 1 : width,
      );
      expect(screen.slice(0, 51)).toEqual([...above.split('\n').slice(0, 50), '<block>']);
    }
  });
  it('MarkdownWriter replaces a block by its rendered form when it is complete', () => {
    const writer = new MarkdownWriter(size, render);
    expect(writer.write('A **word**.\n')).toBe('A **word**.\n');
    expect(writer.write('\nNext')).toBe(`\n${erase(2)}<A **word**.>\n\nNext`);
    expect(writer.end()).toBe(`\n${erase(1)}<Next>\n\n`);
  });
  it('MarkdownWriter does not end a block inside a fence of code', () => {
    const writer = new MarkdownWriter({ ...size, rows: () => 12 }, render);
    expect(writer.write('```\na\n\nb\n')).toBe('```\na\n\nb\n');
    expect(writer.write('```\n\n')).toContain('<```\na\n\nb\n```>');
  });
  it('MarkdownWriter leaves a block as it is that has left the screen', () => {
    const writer = new MarkdownWriter(size, render);
    const list = '- a\n'.repeat(7);
    expect(writer.write(`${list}\n`)).toBe(`${list}\n`);
  });
  it('MarkdownWriter leaves a word as it is that fills the screen', () => {
    const word = 'a'.repeat(101);
    expect(new MarkdownWriter(size, render).write(`${word}\n\n`)).toBe(`${word}\n\n`);
    expect(new MarkdownWriter(size, render).write(`${word.slice(40)}\n\n`)).toContain(`${erase(5)}<`);
  });
  it('MarkdownWriter leaves a block as it is that is nested too deeply for marked', async () => {
    const writer = new MarkdownWriter({ columns: () => 80, rows: () => 1000 }, await loadMarkdown());
    const quote = '> '.repeat(10_000);
    expect(writer.write(`${quote}a\n\n`)).toContain(quote.slice(0, 80));
    expect(writer.write('**b**\n\n')).not.toMatch(/\*\*b\*\*\n\n$/);
  });
  it('MarkdownWriter writes the text as it is without a renderer', () => {
    const writer = new MarkdownWriter(size, undefined);
    expect(writer.write('A **word**.\n\n') + writer.end()).toBe('A **word**.\n\n');
  });
  it('MarkdownWriter lets no text control the terminal', () => {
    expect(new MarkdownWriter(size, undefined).write('a\u001b[2Jb\u0007')).toBe('ab');
  });
  it.each([
    'a &#8238;b',
    '# &#x202e;b',
    '| a | b |\n|--|--|\n| &#8238; | &#x2067; |',
    '<a &#8238;>',
    'a &#27;&#155;[2Jb',
  ])('loadMarkdown renders no control character that is an entity: %s', async (text) => {
    const rendered = (await loadMarkdown())?.(text, 40) ?? '';
    // eslint-disable-next-line no-control-regex -- that is what it looks for
    expect(rendered.replace(/\u001b\[[\d;]*m/g, '')).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/u);
  });
  it('loadMarkdown renders with marked and marked-terminal', async () => {
    const rendered = (await loadMarkdown())?.('# Title\n\nA **word**.\n\n- one\n- two', 40);
    expect(rendered).toContain('Title');
    expect(rendered).toContain('word');
    expect(rendered).not.toContain('**');
    expect(rendered).toMatch(/\* one\n/);
  });
});
