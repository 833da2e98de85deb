import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { root } from './build.js';

/** What a user imports, and how large it may become: minified and gzipped, rxjs and zod left out, in bytes. */
const imports = {
  'one operator': { limit: 1_000, code: "export { consolidate } from './lib/index.js';" },
  'a provider, the loop and tools': {
    limit: 8_000,
    code: "export { openai, runTurns, startOf, tool, toolLoop, userMessage } from './lib/index.js';",
  },
  everything: { limit: 30_000, code: "export * from './lib/index.js';" },
} as const;

/** The size of one import. */
export interface Size {
  readonly what: string;
  /** Bytes, minified and gzipped. */
  readonly bytes: number;
  readonly limit: number;
}

/** Bundles what a user would import, as a browser gets it. */
export async function bundleSizes(): Promise<readonly Size[]> {
  const measured = Object.entries(imports).map(async ([what, { limit, code }]): Promise<Size> => {
    const { outputFiles } = await build({
      stdin: { contents: code, resolveDir: root, loader: 'ts' },
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      target: 'es2022',
      platform: 'browser',
      external: ['rxjs', 'zod'],
      absWorkingDir: join(root),
    });
    return { what, bytes: gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length, limit };
  });
  return Promise.all(measured);
}
