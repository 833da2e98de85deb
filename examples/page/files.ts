import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** A file that a browser can request. */
export interface PageFile {
  readonly type: string;
  readonly body: string | Uint8Array;
}

const html = fileURLToPath(new URL('index.html', import.meta.url));

/**
 * The files of the page by their paths: the page itself, and the two modules of its import map.
 *
 * The modules are bundled at the start of the service. They share chunks, so the page and Rivulet use the same rxjs.
 */
export async function pageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const { outputFiles } = await build({
    entryPoints: ['rivulet', 'rxjs'].map((name) => ({ in: name, out: name })),
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

/**
 * The headers of a file. The page runs its own scripts only, talks to its own service only, and no other page can show
 * it in a frame: otherwise a click there could approve a call.
 */
export function headersOf({ type, body }: PageFile): Readonly<Record<string, string>> {
  const headers = { 'content-type': type, 'x-content-type-options': 'nosniff' };
  if (!type.startsWith('text/html')) return headers;
  const inline = [...String(body).matchAll(/<script[^>]*>([^]*?)<\/script>/g)].filter(([, script]) => script !== '');
  const hashes = inline.map(([, script = '']) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`);
  const policy = [
    "default-src 'self'",
    `script-src ${["'self'", ...hashes].join(' ')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "object-src 'none'",
  ];
  return { ...headers, 'content-security-policy': policy.join('; '), 'referrer-policy': 'no-referrer' };
}
