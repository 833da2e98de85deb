import { describe, expect, it } from '@jest/globals';
import { MarkdownWriter } from '../../../lib/cli/chat/markdownWriter.js';
import { loadMarkdown } from '../../../lib/cli/chat/markdownWriter.js';

const size = { columns: () => 20, rows: () => 6 };
const render = (block: string) => `<${block.trim()}>`;
const erase = (lines: number) => `\u001b[${lines}A\r\u001b[J`;

describe('MarkdownWriter', () => {
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
