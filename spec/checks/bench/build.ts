import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { bundleLibrary } from '../package/bundleLibrary.js';

/** The folder of the project. */
export const root = join(import.meta.dirname, '../../..');
/** The output folder of the benchmark. */
export const out = join(import.meta.dirname, 'out');
/** The bundled library, which the compiled processes import. */
export const library = join(out, 'lib');
/** The compiled processes. */
export const compiled = join(out, 'spec/checks/bench');

const sources = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/^(?:out|peers)\b/.test(file))
    .map((file) => join(root, folder, file));

/**
 * Bundles the library as it is published (`npm run build`), and compiles the processes of the benchmark file by file,
 * so that Node runs them without a compiler. Each run of the benchmark does this, so that it measures the current lib/.
 */
export async function compile(): Promise<void> {
  rmSync(library, { recursive: true, force: true });
  await bundleLibrary('esm', library);
  await build({
    entryPoints: sources('spec/checks/bench'),
    outdir: out,
    outbase: root,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    sourcemap: 'inline',
    tsconfigRaw: { compilerOptions: { target: 'es2022', useDefineForClassFields: true, verbatimModuleSyntax: true } },
  });
}
