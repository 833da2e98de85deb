import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { compiled, out, root } from './build.js';
import type { Finding } from './client/main.js';
import { runClient } from './processes.js';
import { median } from './statistics.js';

/** The build of another commit, in a folder with the layout of `out`. */
interface OtherBuild {
  /** Its bundled library. */
  readonly library: string;
  /** The clients of the benchmark that run on it. */
  readonly client: (file: string) => string;
}

/**
 * Bundles the library of another commit as that commit publishes it, and copies the clients beside it, so that both
 * builds run in the same processes. A commit is built once.
 */
async function buildOf(commit: string): Promise<OtherBuild> {
  const folder = join(out, 'beside', commit);
  const library = join(folder, 'lib');
  const clients = join(folder, 'spec/checks/bench/client');
  if (!existsSync(library)) await bundle(commit, folder, library);
  rmSync(clients, { recursive: true, force: true });
  cpSync(join(compiled, 'client'), clients, { recursive: true });
  return { library, client: (file) => join(clients, `${file}.js`) };
}

interface Bundler {
  readonly bundleLibrary: (format: 'esm', folder: string) => Promise<void>;
}

async function bundle(commit: string, folder: string, library: string): Promise<void> {
  const source = join(folder, 'source');
  mkdirSync(source, { recursive: true });
  const archive = execFileSync('git', ['archive', commit, 'lib', 'spec/checks/package', 'package.json'], {
    cwd: root,
    maxBuffer: 256 * 1024 * 1024,
  });
  execFileSync('tar', ['-x', '-C', source], { input: archive });
  const { bundleLibrary } = (await import(join(source, 'spec/checks/package/bundleLibrary.ts'))) as Bundler;
  await bundleLibrary('esm', join(folder, 'bundle'));
  renameSync(join(folder, 'bundle'), library); // so that an interrupted build is repeated
  rmSync(source, { recursive: true });
}

/** What is compared with another build. */
interface Comparison {
  readonly title: string;
  readonly limit: number;
  /** The module of a build. */
  readonly module: (build: OtherBuild) => string;
  readonly library: string;
  readonly case: string;
  readonly runs: number;
  readonly read: (finding: Finding) => number;
  /** A module whose value is subtracted: what users have anyway. */
  readonly without?: string;
}

const furtherTurn = { limit: 0.4, module: ({ client }: OtherBuild) => client('furtherTurn'), runs: 8 };
/** What remains is what V8 reads: less would take names that are shortened, with which no stack trace is readable. */
const imports = {
  module: ({ library }: OtherBuild) => join(library, 'index.js'),
  ...{ library: '', case: '', runs: 0, without: 'rxjs' },
};

const comparisons: readonly Comparison[] = [
  ...(['openai', 'anthropic'] as const).map((library) => ({
    ...furtherTurn,
    title: `a further turn after 10,000 messages, CPU ms, ${library}`,
    library,
    case: 'further-10000',
    read: ({ costs }: Finding) => median(costs),
  })),
  { ...imports, title: 'import, CPU ms over rxjs', limit: 0.85, read: ({ imported }) => imported },
  { ...imports, title: 'import, MB of heap over rxjs', limit: 0.93, read: ({ heap }) => heap },
];

const own: OtherBuild = { library: join(out, 'lib'), client: (file) => join(compiled, 'client', `${file}.js`) };
const rounds = 7;

/**
 * Compares this build with that of another commit, in processes that alternate, and prints the ratios of the medians.
 *
 * @returns Whether all are within their limits.
 */
export async function measureBeside(commit: string, server: string): Promise<boolean> {
  const other = await buildOf(commit);
  let isWithin = true;
  for (const { title, limit, module, read, without, ...which } of comparisons) {
    const modules = [module(own), module(other), ...(without === undefined ? [] : [without])];
    const values = modules.map((): number[] => []);
    for (let round = 0; round < rounds; round++)
      for (const [at, one] of modules.entries()) {
        const task = { ...which, module: one, server, warmups: 4, budget: 60_000, least: which.runs };
        const { finding, failure } = await runClient(task, process.execPath, ['--expose-gc']);
        if (!finding) throw new Error(`${title}: ${failure}`);
        values[at]?.push(read(finding));
      }
    const [ours = NaN, others = NaN, base = 0] = values.map((measured) => median(measured));
    const ratio = (ours - base) / (others - base);
    const sizes = `${(ours - base).toFixed(2)} and ${(others - base).toFixed(2)}`;
    console.log(`${title}: ${sizes}, ratio ${ratio.toFixed(2)} (limit ${limit})`);
    if (!(ratio <= limit)) isWithin = false;
  }
  return isWithin;
}
