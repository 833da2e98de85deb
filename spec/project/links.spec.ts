import { describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { sections } from '../../docs/.vitepress/sections.js';

/** The documents of the root and of docs/. */
const documents = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

/** The text of a document without blocks of code, and without brackets in code: they make no links. */
const textOf = (document: string) =>
  readFileSync(document, 'utf8')
    .replace(/^ *```[^]*?^ *```$/gm, '')
    .replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()]/g, ''));

/** The anchors of a document's headings, as GitHub and the site generate them. */
const anchorsOf = (document: string) =>
  [...textOf(document).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  );

/** The links of a document into the repository that lead nowhere. */
const deadLinks = (document: string) =>
  [...textOf(document).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].flatMap(([link, path = '', anchor]) => {
    const target = path === '' ? document : normalize(join(dirname(document), path));
    if (!existsSync(target)) return [link];
    return anchor === undefined || anchorsOf(target).includes(anchor) ? [] : [link];
  });

describe('the links of the documents', () => {
  it.each(documents)('%s has no dead link', (document) => {
    expect(deadLinks(document)).toEqual([]);
  });
});

describe('the sidebar of the site', () => {
  it('the sidebar has each guide once (docs/.vitepress/sections.ts)', () => {
    const guides = documents.flatMap((document) => /^docs\/(?!index\.)(.*)\.md$/.exec(document)?.[1] ?? []);
    expect(sections.flatMap(({ pages }) => Object.keys(pages)).sort()).toEqual(guides.sort());
  });
});

describe('the documents that everybody reads', () => {
  it.each([
    ['README.md', 15_000],
    ['ARCHITECTURE.md', 12_000],
    ['CONTRIBUTING.md', 12_000],
  ])('%s has at most %i bytes', (document, limit) => {
    expect(Buffer.byteLength(readFileSync(document))).toBeLessThanOrEqual(limit);
  });
});
