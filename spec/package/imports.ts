import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Plugin } from 'esbuild';

/**
 * The files of the package that an import of an entry may read at most. Each costs its resolution and reading: with 180 the import took 2.0 times
 * that of rxjs alone, with 9 it takes 1.2 times.
 */
const mostFiles = 12;

/** Nobody bundles it. */
const nodeOnly = './testing/server';

/** Has the bundler look into each file, as if package.json did not say that importing it does nothing. */
const distrustful: Plugin = {
  name: 'distrustful',
  setup(bundler) {
    bundler.onResolve({ filter: /^(rivulet|\.)/ }, async ({ path, kind, resolveDir, pluginData }) =>
      pluginData === 'again'
        ? null
        : { ...(await bundler.resolve(path, { kind, resolveDir, pluginData: 'again' })), sideEffects: true },
    );
  },
};

/**
 * What an import of an entry costs: few files, and no statement that a bundler would have to keep. With few files such a statement would stay in the bundle of
 * whoever imports anything of its file.
 */
export async function imports(consumer: string): Promise<void> {
  const manifest = await readFile(join(consumer, 'node_modules/rivulet/package.json'), 'utf8');
  const { exports } = JSON.parse(manifest) as { readonly exports: Readonly<Record<string, unknown>> };
  for (const entry of Object.keys(exports).filter((path) => !path.endsWith('.json'))) {
    const code = `import '${entry.replace('.', 'rivulet')}';`;
    const { outputFiles, metafile } = await build({
      stdin: { contents: code, resolveDir: consumer },
      absWorkingDir: consumer,
      bundle: true,
      minify: true,
      write: false,
      metafile: true,
      format: 'esm',
      target: 'es2022',
      external: ['rxjs', 'rxjs/testing', 'nanoid/non-secure', 'eventsource-parser', 'node:*'],
      plugins: [distrustful],
      logLevel: 'silent',
    });
    const files = Object.keys(metafile.inputs).filter((name) => name.includes('node_modules/rivulet/')).length;
    if (files === 0 || files > mostFiles)
      throw new Error(`${code} reads ${files} files, and ${mostFiles} are allowed (spec/package/imports.ts).`);
    const kept = (outputFiles[0]?.text ?? '').replaceAll(/import(?:\{[^}]*\}from)?"[^"]*";/g, '').trim();
    if (kept !== '' && entry !== nodeOnly) throw new Error(`${code} leaves this in a bundle: ${kept.slice(0, 500)}`);
  }
}
