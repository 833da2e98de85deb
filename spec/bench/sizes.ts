import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { library } from './build.js';

/** What a user imports, and how large it may become: minified and gzipped, rxjs and zod left out, in bytes. */
const imports = {
  'one operator': { limit: 1_000, code: "export { consolidate } from './index.js';" },
  'a provider, the loop and tools': {
    limit: 8_000,
    code: "export { openai, runTurns, startState, tool, toolLoop, userMessage } from './index.js';",
  },
  everything: { limit: 30_000, code: "export * from './index.js';" },
} as const;

/** The size of one import. */
export interface Size {
  readonly what: string;
  /** Bytes, minified and gzipped. */
  readonly bytes: number;
  readonly limit: number;
}

/** Bundles what a user would import of the library as it is published, as a browser gets it. `compile` has made it. */
export async function bundleSizes(): Promise<readonly Size[]> {
  const measured = Object.entries(imports).map(async ([what, { limit, code }]): Promise<Size> => {
    const { outputFiles } = await build({
      stdin: { contents: code, resolveDir: library },
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      target: 'es2022',
      platform: 'browser',
      external: ['rxjs', 'zod'],
    });
    return { what, bytes: gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length, limit };
  });
  return Promise.all(measured);
}
