import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { PageFile } from './pageFile.js';

const html = fileURLToPath(new URL('index.html', import.meta.url));

/**
 * The files of the page by their paths: the page itself, and the modules of its import map.
 *
 * The modules are bundled at the start of the service. They share chunks, so the page and Rivulet use the same rxjs.
 */
export async function pageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const { outputFiles } = await build({
    entryPoints: ['rivulet/chat', 'rxjs'].map((name) => ({ in: name, out: basename(name) })),
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    outdir: '/modules',
    absWorkingDir: fileURLToPath(new URL('../..', import.meta.url)),
    write: false,
  });
  const type = 'text/javascript; charset=utf-8';
  return new Map<string, PageFile>([
    ['/', { type: 'text/html; charset=utf-8', body: await readFile(html) }],
    ...outputFiles.map(({ path, contents }) => [path, { type, body: contents }] as const),
  ]);
}
