import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { searchQueries } from './searchQueries.js';

/** The section of a page that a search finds, best first. */
export type Search = (query: string) => readonly string[];

interface MiniSearch {
  search(query: string): readonly { readonly id: string }[];
}

/** Loads the index of a built site, and searches it as the search box of VitePress does. */
export async function loadSearch(docs: string, options: object): Promise<Search> {
  const chunks = join(docs, '.vitepress/dist/assets/chunks');
  const file = readdirSync(chunks).find((name) => name.startsWith('@localSearchIndexroot')) ?? '';
  const { default: index } = (await import(join(chunks, file))) as { readonly default: string };
  const { default: MiniSearch } = (await import(createRequire(join(docs, 'package.json')).resolve('minisearch'))) as {
    readonly default: { loadJSON(json: string, options: object): MiniSearch };
  };
  const search = MiniSearch.loadJSON(index, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 }, ...options },
  });
  return (query) => search.search(query).map(({ id }) => id);
}

/** How many results a reader looks at. */
const LOOKED_AT = 5;

/** The queries of newcomers whose answer is not among the first results. */
export function unanswered(search: Search): readonly string[] {
  return Object.entries(searchQueries).flatMap(([query, pages]) => {
    const found = search(query).slice(0, LOOKED_AT);
    if (found.some((section) => pages.some((page) => section.startsWith(`/${page}#`)))) return [];
    return [`The search for "${query}" does not find ${pages.join(' or ')}, but ${found.join(', ')}`];
  });
}
