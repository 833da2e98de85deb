import { dirname, join, relative, resolve, sep } from 'node:path';
import { rollup } from '@rollup/wasm-node';
import type { ManualChunkMeta, Plugin } from '@rollup/wasm-node';
import { transform } from 'esbuild';
import { root } from './shell.js';

const lib = join(root, 'lib');

/** Entry points without CommonJS: Angular has ES modules only. */
const esmOnly = ['chat/angular/index'];

/** The entry points in the `exports` of package.json. */
const entries = [
  ...esmOnly,
  'index',
  'providers/registry/index',
  'providers/openaiResponses/index',
  'providers/anthropic/index',
  'providers/google/index',
  'providers/kit',
  'providers/aiSdk/aiSdk',
  'service/uiChat/index',
  'service/stores/postgres/index',
  'service/stores/redis/index',
  'service/stores/dbos/index',
  'tools/mcp/index',
  'agUi',
  'service/index',
  'chat/index',
  'observe/opentelemetry/index',
  'observe/recording/index',
  'testing/index',
  'testing/server/index',
  'cli/main',
];

const isEntry = (id: string): boolean => entries.some((entry) => id === join(lib, `${entry}.ts`));
const isOurs = (id: string): boolean => /^[./]/.test(id);
const isRxjs = (id: string): boolean => id === 'rxjs' || id.startsWith('rxjs/');

/** Removes the types, and changes nothing else. */
const typescript: Plugin = {
  name: 'typescript',
  resolveId: (id, importer) =>
    importer && id.startsWith('.') ? resolve(dirname(importer), id.replace(/\.js$/, '.ts')) : null,
  async transform(code) {
    const { code: plain } = await transform(code, {
      loader: 'ts',
      target: 'es2022',
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true, useDefineForClassFields: false } },
    });
    return { code: plain, map: null };
  },
};

const roomOf = (id: string): string | undefined => relative(lib, id).split(sep)[0];

/** Whether a module imports rxjs, directly or through other modules of its room. */
const needsRxjs = (id: string, meta: ManualChunkMeta): boolean =>
  meta
    .getModuleInfo(id)
    ?.importedIds.some((to) => isRxjs(to) || (isOurs(to) && roomOf(to) === roomOf(id) && needsRxjs(to, meta))) ?? false;

/**
 * The output file of each folder whose modules are one file; undefined: each entry point has them. The innermost folder
 * of a module decides.
 */
const filesOfFolders: Readonly<Record<string, string | undefined>> = {
  core: 'core',
  protocol: 'protocol',
  'providers/shared': 'protocol', // for rivulet/ai-sdk
  providers: 'agent',
  agent: 'agent',
  models: 'agent',
  tools: 'agent',
  observe: 'recording',
  'observe/opentelemetry': undefined,
  'operators/view': 'view',
  transport: 'transport',
  'transport/agUi': undefined,
  chat: 'page',
  'chat/agUi': undefined,
  'chat/angular': undefined,
  service: 'service',
  'service/agUi': undefined,
  'service/uiChat': undefined,
  'service/stores': undefined,
  'service/stores/memory': 'service',
};

/** Modules that import other names of rxjs than the rest of their room, and are therefore not in its file. */
const filesOfModules: Readonly<Record<string, string | undefined>> = {
  'operators/toView.ts': 'view',
  'chat/remoteChats.ts': undefined, // only for rivulet/chat
  'chat/chatCopies.ts': undefined,
  'service/chats/keepChats.ts': undefined, // only for rivulet/service
  'core/timeLimit.ts': 'protocol',
};

/** Whether an import of rivulet reaches a module. Others are not in the file of an agent, which it reads as a whole. */
function isReached(id: string, { getModuleInfo }: ManualChunkMeta): boolean {
  const reached = new Set([join(lib, 'index.ts')]);
  for (const each of reached) for (const to of getModuleInfo(each)?.importedIds ?? []) reached.add(to);
  return reached.has(id);
}

/**
 * Returns the output file of a module. An import of rivulet reads 7 instead of 180 files, since each costs its
 * resolution, its reading, and the links of its names: what an agent has is one file (a fifth less CPU time than four).
 * It is not one file for everything, since bundlers that leave rxjs out keep all names that a file imports from it, used
 * or not. For the same reason, modules that do not import rxjs have a file of their own.
 */
function partOf(id: string, meta: ManualChunkMeta): string | undefined {
  const path = relative(lib, id).split(sep);
  const [room] = path;
  const file = path.join('/');
  if (file in filesOfModules) return filesOfModules[file];
  for (let depth = path.length - 1; depth > 0; depth--) {
    const folder = path.slice(0, depth).join('/');
    const part = filesOfFolders[folder];
    if (folder in filesOfFolders) return isEntry(id) || (part === 'agent' && !isReached(id, meta)) ? undefined : part;
  }
  return room === 'operators' ? (needsRxjs(id, meta) ? 'operatorsOverRxjs' : room) : undefined;
}

/**
 * Bundles the library as it is published: a file for each entry point, and the parts that they share, so that all entry
 * points of a format have one copy of each class and cache. Dependencies are external. The code is not minified, and
 * functions keep their names, so that stack traces are readable without source maps.
 */
export async function bundleLibrary(format: 'esm' | 'cjs', folder: string): Promise<void> {
  const isIn = (entry: string) => format === 'esm' || !esmOnly.includes(entry);
  const bundle = await rollup({
    input: Object.fromEntries(entries.filter(isIn).map((entry) => [entry, join(lib, `${entry}.ts`)])),
    external: (id) => !isOurs(id),
    plugins: [typescript],
    onwarn({ message }) {
      throw new Error(message); // for example, a cycle between parts
    },
  });
  await bundle.write({
    dir: folder,
    format,
    manualChunks: partOf,
    experimentalMinChunkSize: 0, // an entry point has no code of its own, and would be merged with others
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name].js',
    minifyInternalExports: false,
    hoistTransitiveImports: false,
    esModule: true,
    generatedCode: { preset: 'es2015', symbols: false },
  });
  await bundle.close();
}
