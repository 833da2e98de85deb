import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

/** The project. */
export const root = join(import.meta.dirname, '../..');
/** Everything that the benchmark makes, the results too. */
export const out = join(import.meta.dirname, 'out');
/** The compiled processes. */
export const compiled = join(out, 'spec/bench');

const sources = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/^(?:out|peers)\b/.test(file))
    .map((file) => join(root, folder, file));

/**
 * Compiles the library and the benchmark's processes, file by file, as `npm run build` does: plain Node runs them, with no compiler in the process. Made anew
 * each time, so that what is measured is what stands in lib/.
 */
export async function compile(): Promise<void> {
  rmSync(join(out, 'lib'), { recursive: true, force: true });
  await build({
    entryPoints: [...sources('lib'), ...sources('spec/bench')],
    outdir: out,
    outbase: root,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    sourcemap: 'inline',
    tsconfigRaw: { compilerOptions: { target: 'es2022', useDefineForClassFields: true, verbatimModuleSyntax: true } },
  });
}
