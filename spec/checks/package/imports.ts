import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Plugin } from 'esbuild';

/**
 * The most files of the package that an import of an entry point may read. Each costs its resolution and reading: with
 * 180 files, the import took 2.0 times as long as that of rxjs alone; with 7 files, it takes 1.3 times as long.
 */
const mostFiles = 10;

/** This entry point is not bundled. */
const nodeOnly = './testing/server';

/** Makes the bundler ignore `sideEffects: false` of package.json. */
const ignoreSideEffectsFlag: Plugin = {
  name: 'ignore-side-effects-flag',
  setup(bundler) {
    bundler.onResolve({ filter: /^(rivulet|\.)/ }, async ({ path, kind, resolveDir, pluginData }) =>
      pluginData === 'again'
        ? null
        : { ...(await bundler.resolve(path, { kind, resolveDir, pluginData: 'again' })), sideEffects: true },
    );
  },
};

/**
 * Checks that an import of an entry point reads few files and contains no statement that a bundler must keep: with few
 * files, such a statement would stay in the bundle of everyone who imports anything from its file.
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
      external: ['rxjs', 'rxjs/testing', 'nanoid/non-secure', '@angular/core', 'node:*'],
      plugins: [ignoreSideEffectsFlag],
      logLevel: 'silent',
    });
    const files = Object.keys(metafile.inputs).filter((name) => name.includes('node_modules/rivulet/')).length;
    if (files === 0 || files > mostFiles)
      throw new Error(
        `${code} reads ${files} files; at most ${mostFiles} are allowed (spec/checks/package/imports.ts).`,
      );
    const kept = (outputFiles[0]?.text ?? '').replaceAll(/import(?:\{[^}]*\}from)?"[^"]*";/g, '').trim();
    if (kept !== '' && entry !== nodeOnly)
      throw new Error(`${code} leaves these statements in a bundle: ${kept.slice(0, 500)}`);
  }
}
