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
  { code: "export { prefixAfterTools } from 'rivulet';", most: 2_050, gzipped: 875 },
  { code: "export { accumulateToolCalls } from 'rivulet';", most: 15_950, gzipped: 5_950 },
  {
    code: "export { conversation, remoteAgent } from 'rivulet/chat'; export { toView } from 'rivulet';",
    most: 61_600,
    gzipped: 24_350,
  },
  { code: "export { openaiChat } from 'rivulet';", most: 87_350, gzipped: 33_450 },
  { code: "export { createAgent, openaiChat, tool } from 'rivulet';", most: 159_650, gzipped: 58_325 },
  { code: "export { createAgent, openai, tool } from 'rivulet';", most: 173_750, gzipped: 62_875 },
  { code: "export { createAgent, openaiChat, tool, typed } from 'rivulet';", most: 170_800, gzipped: 62_250 },
  { code: "export * from 'rivulet';", most: 344_600 },
  { code: "export { remoteChats } from 'rivulet/chat';", most: 14_150 },
  { code: "export * from 'rivulet/chat';", most: 97_650 },
  { code: "export { agentHandler } from 'rivulet/service';", most: 109_800 },
  { code: "export * from 'rivulet/service';", most: 120_900 },
  { code: "export * from 'rivulet/registry';", most: 192_050 },
  { code: "export * from 'rivulet/ai-sdk';", most: 61_750 },
  { code: "export * from 'rivulet/ai-sdk-ui';", most: 125_850 },
  { code: "export * from 'rivulet/opentelemetry';", most: 62_900 },
  { code: "export * from 'rivulet/angular';", most: 65_750 },
  { code: "export { fetchAgUi, fromAgUi } from 'rivulet/ag-ui';", most: 35_650 },
  { code: "export * from 'rivulet/ag-ui';", most: 142_650 },
  { code: "export * from 'rivulet/provider';", most: 74_350 },
  { code: "export { inspectRuns, recordRun } from 'rivulet/recording';", most: 36_800 },
  { code: "export * from 'rivulet/recording';", most: 175_700 },
  { code: "export * from 'rivulet/testing';", most: 132_400 }, // runAgent has the agent
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
