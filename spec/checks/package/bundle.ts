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
  { code: "export { consolidate } from 'rivulet';", most: 5_000, gzipped: 2_125 },
  { code: "export { prefixAfterTools } from 'rivulet';", most: 2_100, gzipped: 900 },
  { code: "export { accumulateToolCalls } from 'rivulet';", most: 16_750, gzipped: 6_250 },
  {
    code: "export { conversation, remoteAgent } from 'rivulet/chat'; export { toView } from 'rivulet';",
    most: 62_150,
    gzipped: 24_525,
  },
  { code: "export { openaiChat } from 'rivulet';", most: 87_750, gzipped: 33_600 },
  { code: "export { createAgent, openaiChat, tool } from 'rivulet';", most: 163_350, gzipped: 59_575 },
  { code: "export { createAgent, openai, tool } from 'rivulet';", most: 177_450, gzipped: 64_125 },
  { code: "export { createAgent, openaiChat, tool, typed } from 'rivulet';", most: 174_550, gzipped: 63_475 },
  { code: "export * from 'rivulet';", most: 353_350 },
  { code: "export { remoteChats } from 'rivulet/chat';", most: 14_350 },
  { code: "export * from 'rivulet/chat';", most: 100_450 },
  { code: "export { agentHandler } from 'rivulet/service';", most: 113_850 },
  { code: "export * from 'rivulet/service';", most: 125_100 },
  { code: "export * from 'rivulet/registry';", most: 192_050 },
  { code: "export * from 'rivulet/ai-sdk';", most: 62_800 },
  { code: "export * from 'rivulet/ai-sdk-ui';", most: 131_450 },
  { code: "export * from 'rivulet/opentelemetry';", most: 66_650 },
  { code: "export * from 'rivulet/angular';", most: 66_450 },
  { code: "export { fetchAgUi, fromAgUi } from 'rivulet/ag-ui';", most: 36_200 },
  { code: "export * from 'rivulet/ag-ui';", most: 147_550 },
  { code: "export * from 'rivulet/provider';", most: 74_750 },
  { code: "export { inspectRuns, recordRun } from 'rivulet/recording';", most: 37_200 },
  { code: "export * from 'rivulet/recording';", most: 181_350 },
  { code: "export * from 'rivulet/testing';", most: 136_000 }, // runAgent has the agent
];

/**
 * Bundles the installed package for a browser, which fails if it needs Node. Returns the sizes as text; fails with all
 * bundles that exceed their budgets.
 */
export async function bundles(consumer: string): Promise<string> {
  const sizes = await Promise.all(budgets.map((budget) => measure(consumer, budget)));
  const exceeded = sizes.flatMap(({ code, bytes, zipped, most, gzipped = Infinity }) => [
    ...(bytes > most ? [`${code} has ${bytes} bytes; at most ${most} are allowed`] : []),
    ...(zipped > gzipped ? [`${code} has ${zipped} bytes gzipped; at most ${gzipped} are allowed`] : []),
  ]);
  if (exceeded.length > 0)
    throw new Error(`Bundles exceed their budgets (spec/checks/package/bundle.ts):\n${exceeded.join('\n')}`);
  return sizes
    .map(({ code, bytes, zipped }) => `     ${String(bytes).padStart(6)} B (${zipped} gz)  ${code}`)
    .join('\n');
}

async function measure(consumer: string, budget: Budget) {
  const { outputFiles } = await build({
    stdin: { contents: budget.code, resolveDir: consumer },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    external: ['rxjs', 'rxjs/testing', '@angular/core'],
    tsconfigRaw: {}, // in the checkout, its `paths` would lead to lib/ instead of dist
    logLevel: 'silent',
  });
  const code = outputFiles[0]?.contents ?? new Uint8Array();
  return { ...budget, bytes: code.length, zipped: gzipSync(code).length };
}
