import { readFileSync, readdirSync } from 'node:fs';
import { posix } from 'node:path';

/** Returns the links within a built site that lead to no page or file, or to no anchor of a page. */
export function deadLinks(folder: string): readonly string[] {
  const files = new Set(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `/${posix.relative(folder, posix.join(entry.parentPath, entry.name))}`),
  );
  const pages = new Map(
    [...files]
      .filter((file) => file.endsWith('.html'))
      .map((file) => [file, readFileSync(posix.join(folder, file), 'utf8')]),
  );
  const anchors = new Map([...pages].map(([file, text]) => [file, valuesOf(text, /\sid="([^"]*)"/g)]));
  const fileOf = (address: string) =>
    [address, `${address}.html`, posix.join(address, 'index.html')].find((file) => files.has(file));

  const pagesOf = new Map<string, string[]>(); // a link of the sidebar is on many pages
  for (const [page, text] of pages)
    for (const link of valuesOf(text, /\s(?:href|src)="([^"]*)"/g)) {
      if (/^(?:[a-z]+:|\/\/)/.test(link)) continue;
      const [path = '', anchor = ''] = decodeURIComponent(link).split('#');
      const target = path === '' ? page : fileOf(posix.resolve(posix.dirname(page), path));
      const isAlive = target !== undefined && (anchor === '' || anchors.get(target)?.has(anchor) !== false);
      if (!isAlive) pagesOf.set(link, [...(pagesOf.get(link) ?? []), page]);
    }
  return [...pagesOf].map(
    ([link, [first, ...others]]) =>
      `Dead link ${link} in ${first}${others.length > 0 ? ` and ${others.length} more pages` : ''}`,
  );
}

const valuesOf = (text: string, pattern: RegExp) => new Set([...text.matchAll(pattern)].map(([, value = '']) => value));
