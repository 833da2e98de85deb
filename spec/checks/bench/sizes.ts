import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { peersInstalled } from './contestants.js';
import { library, root } from './build.js';

/** A program whose bundle is measured. */
interface Program {
  readonly what: string;
  readonly code: string;
  /** The folder from which its imports are resolved. */
  readonly from: string;
}

const rivulet = (what: string, names: string): Program => ({
  what: `Rivulet: ${what}`,
  code: `export ${names} from './index.js';`,
  from: library,
});

const peer = (what: string, names: string, file: string): Program => ({
  what,
  code: `export ${names} from './spec/checks/bench/peers/${file}';`,
  from: root,
});

const ours: readonly Program[] = [
  rivulet('`prefixAfterTools`, a small operator', '{ prefixAfterTools }'),
  rivulet('`accumulateToolCalls`', '{ accumulateToolCalls }'),
  rivulet(
    '`openaiChat` and the operators of a hand-written loop',
    '{ accumulateToolCalls, consolidate, endTurn, executeTools, openaiChat, tool }',
  ),
  rivulet('`openaiChat`, `createAgent`, `tool`', '{ createAgent, openaiChat, tool }'),
  {
    what: 'Rivulet: a page, `conversation`, `remoteAgent`, `toView`',
    code: "export { conversation, remoteAgent } from './chat/index.js'; export { toView } from './index.js';",
    from: library,
  },
  rivulet('all names of `rivulet`', '*'),
  {
    what: 'Rivulet: everything without bridges and testing',
    code: ['index', 'service/index', 'chat/index', 'providers/registry/index', 'providers/kit']
      .map((entry) => `export * from './${entry}.js';`)
      .join(' '),
    from: library,
  },
];

/** The programs of the other cases: the OpenAI provider, a loop and tools. */
const peers: readonly Program[] = [
  peer('OpenAI SDK, a loop by hand', '{ iterator }', 'openaiSdk.mjs'),
  peer('TanStack AI', '{ library }', 'tanstackOpenai.mjs'),
  peer('AI SDK', '{ library }', 'aiSdkOpenai.mjs'),
  peer('LangChain', '{ library }', 'langchainOpenai.mjs'),
  peer('OpenAI Agents', '{ library }', 'openaiAgents.mjs'),
];

/** The size of one bundle. */
export interface Size {
  readonly what: string;
  /** Bytes, minified and gzipped. */
  readonly bytes: number;
}

/**
 * Bundles each program for a browser, without rxjs and zod, and with the peers if they are installed. Requires
 * `compile`.
 */
export async function bundleSizes(): Promise<readonly Size[]> {
  const measured = [...ours, ...(peersInstalled() ? peers : [])].map(async ({ what, code, from }): Promise<Size> => {
    const { outputFiles } = await build({
      stdin: { contents: code, resolveDir: from },
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      target: 'es2022',
      platform: 'browser',
      external: ['rxjs', 'zod', 'zod/*', 'node:*'],
      logLevel: 'silent',
    });
    return { what, bytes: gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length };
  });
  return Promise.all(measured);
}
