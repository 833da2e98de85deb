import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { PageFile } from '../../page/pageFile.js';

const folder = new URL('../dist/', import.meta.url);
const types: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/** The files that `ng build` has written, by their paths. */
export async function builtPage(): Promise<ReadonlyMap<string, PageFile>> {
  const files = new Map<string, PageFile>();
  for (const name of await readdir(folder)) {
    const type = `${types[extname(name)] ?? 'text/plain'}; charset=utf-8`;
    files.set(name === 'index.html' ? '/' : `/${name}`, { type, body: await readFile(new URL(name, folder)) });
  }
  return files;
}
