import { dirname, join, relative, resolve, sep } from 'node:path';
import { rollup } from '@rollup/wasm-node';
import type { ManualChunkMeta, Plugin } from '@rollup/wasm-node';
import { transform } from 'esbuild';
import { root } from './shell.js';

const lib = join(root, 'lib');

/** The files that package.json's `exports` name, in each format. */
const entries = [
  'index',
  'registry/index',
  'providers/aiSdk/aiSdk',
  'bridges/mcp/index',
  'testing/index',
  'testing/server/index',
];

const isOurs = (id: string): boolean => /^[./]/.test(id);

/** Types out, nothing else: what is left is the code as it was written. */
const typescript: Plugin = {
  name: 'typescript',
  resolveId: (id, importer) =>
    importer && id.startsWith('.') ? resolve(dirname(importer), id.replace(/\.js$/, '.ts')) : null,
  async transform(code) {
    const { code: plain } = await transform(code, {
      loader: 'ts',
      target: 'es2022',
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    });
    return { code: plain, map: null };
  },
};

const layerOf = (id: string): string | undefined => relative(lib, id).split(sep)[0];

/** Whether a module imports from a package, itself or through other modules of its layer. */
const needsPackages = (id: string, meta: ManualChunkMeta): boolean =>
  meta
    .getModuleInfo(id)
    ?.importedIds.some((to) => !isOurs(to) || (layerOf(to) === layerOf(id) && needsPackages(to, meta))) ?? false;

/**
 * The part a module goes to: the layers of the library. A file a layer, since each costs an import a file's resolution and reading: 9 files in place of 180.
 * Not one file for all, since bundlers that leave rxjs out keep all names that a file imports from it, used or not. So the operators that are built on ours
 * alone stand apart from those that import from rxjs; and what providers share from the providers, for rivulet/ai-sdk.
 */
function partOf(id: string, meta: ManualChunkMeta): string | undefined {
  const [layer = '', inner = ''] = relative(lib, id).split(sep);
  if (layer === 'agent.ts') return 'agent';
  if (layer === 'operators') return needsPackages(id, meta) ? 'operatorsOverRxjs' : layer;
  if (layer === 'providers') return inner === 'aiSdk' ? undefined : inner === 'shared' ? 'providersShared' : layer;
  return ['core', 'protocol', 'orchestrators'].includes(layer) ? layer : undefined;
}

/**
 * Bundles the library as it is published: a file for each entry, and the parts that they share, so that all entries of a format have one copy of each class
 * and cache. All dependencies are left out. Not minified, each function under its name: a stack trace is read in the code itself, without source maps.
 */
export async function bundleLibrary(format: 'esm' | 'cjs', folder: string): Promise<void> {
  const bundle = await rollup({
    input: Object.fromEntries(entries.map((entry) => [entry, join(lib, `${entry}.ts`)])),
    external: (id) => !isOurs(id),
    plugins: [typescript],
    onwarn({ message }) {
      throw new Error(message); // a cycle between parts would be one
    },
  });
  await bundle.write({
    dir: folder,
    format,
    manualChunks: partOf,
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name].js',
    minifyInternalExports: false,
    hoistTransitiveImports: false,
    esModule: true,
    generatedCode: { preset: 'es2015', symbols: false },
  });
  await bundle.close();
}
