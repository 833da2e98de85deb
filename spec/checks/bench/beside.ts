import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { compiled, out, root } from './build.js';

/** The build of another commit, in a folder with the layout of `out`. */
export interface OtherBuild {
  /** Its bundled library. */
  readonly library: string;
  /** The clients of the benchmark that run on it. */
  readonly client: (file: string) => string;
}

/**
 * Bundles the library of another commit as that commit publishes it, and copies the clients beside it, so that both
 * builds run in the same processes. A commit is built once.
 */
export async function buildOf(commit: string): Promise<OtherBuild> {
  const folder = join(out, 'beside', commit);
  const library = join(folder, 'lib');
  const clients = join(folder, 'spec/checks/bench/client');
  if (!existsSync(library)) await bundle(commit, folder, library);
  rmSync(clients, { recursive: true, force: true });
  cpSync(join(compiled, 'client'), clients, { recursive: true });
  return { library, client: (file) => join(clients, `${file}.js`) };
}

async function bundle(commit: string, folder: string, library: string): Promise<void> {
  const source = join(folder, 'source');
  mkdirSync(source, { recursive: true });
  const archive = execFileSync('git', ['archive', commit, 'lib', 'spec/checks/package', 'package.json'], {
    cwd: root,
    maxBuffer: 256 * 1024 * 1024,
  });
  execFileSync('tar', ['-x', '-C', source], { input: archive });
  const { bundleLibrary } = (await import(
    join(source, 'spec/checks/package/bundleLibrary.ts')
  )) as typeof import('../package/bundleLibrary.js');
  await bundleLibrary('esm', join(folder, 'bundle'));
  renameSync(join(folder, 'bundle'), library); // so that an interrupted build is repeated
  rmSync(source, { recursive: true });
}
