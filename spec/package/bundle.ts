import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

interface Budget {
  readonly code: string;
  /** The largest size of the minified code, in bytes. */
  readonly most: number;
  /** The largest size of it gzipped. Default: no limit. */
  readonly gzipped?: number;
}

/** The largest bundles that are accepted, without rxjs. */
const budgets: readonly Budget[] = [
  { code: "import 'rivulet';", most: 0 },
  { code: "export { consolidate } from 'rivulet';", most: 4_700, gzipped: 1_900 },
  { code: "export { prefixAfterTools } from 'rivulet';", most: 2_000, gzipped: 900 },
  { code: "export { accumulateToolCalls } from 'rivulet';", most: 13_300, gzipped: 5_250 },
  { code: "export { openai } from 'rivulet';", most: 75_500, gzipped: 27_700 },
  { code: "export { createAgent, openai, tool } from 'rivulet';", most: 141_000, gzipped: 50_000 },
  { code: "export * from 'rivulet';", most: 315_000 },
  { code: "export * from 'rivulet/registry';", most: 169_000 },
  { code: "export * from 'rivulet/ai-sdk';", most: 52_000 },
  { code: "export * from 'rivulet/ai-sdk-ui';", most: 33_000 },
  { code: "export * from 'rivulet/opentelemetry';", most: 49_500 },
  { code: "export { fetchAgUi, fromAgUi } from 'rivulet/ag-ui';", most: 36_000 },
  { code: "export * from 'rivulet/ag-ui';", most: 64_000 },
  { code: "export * from 'rivulet/provider';", most: 60_000 },
  { code: "export * from 'rivulet/testing';", most: 40_500 },
];

/**
 * Bundles the installed package for a browser, which fails if it needs Node or exceeds a budget. Returns the sizes as
 * text.
 */
export async function bundles(consumer: string): Promise<string> {
  const sizes = await Promise.all(
    budgets.map(async ({ code, most, gzipped = Infinity }) => {
      const { outputFiles } = await build({
        stdin: { contents: code, resolveDir: consumer },
        bundle: true,
        minify: true,
        write: false,
        format: 'esm',
        platform: 'browser',
        target: 'es2022',
        external: ['rxjs', 'rxjs/testing'],
        logLevel: 'silent',
      });
      const bytes = outputFiles[0]?.contents ?? new Uint8Array();
      const size = gzipSync(bytes).length;
      if (bytes.length > most)
        throw new Error(
          `The bundle of ${code} has ${bytes.length} bytes; at most ${most} are allowed (spec/package/bundle.ts).`,
        );
      if (size > gzipped)
        throw new Error(
          `The bundle of ${code} has ${size} bytes gzipped; at most ${gzipped} are allowed (spec/package/bundle.ts).`,
        );
      return `     ${String(bytes.length).padStart(6)} B (${size} gz)  ${code}`;
    }),
  );
  return sizes.join('\n');
}
