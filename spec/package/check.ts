// npm run package: the package as its users get it. It is packed, judged by the tools that judge packages, and installed in a folder outside the
// checkout, where an ESM script, a CommonJS script, a plain CommonJS jest and the type checker use it.
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundles } from './bundle.js';
import { imports } from './imports.js';
import { root, run } from './shell.js';

const consumer = await mkdtemp(join(tmpdir(), 'rivulet-consumer-'));
const tarball = async () =>
  join(consumer, (await readdir(consumer)).find((name) => name.endsWith('.tgz')) ?? 'no tarball');

async function pack(): Promise<void> {
  await run(root, 'npm', 'pack', '--pack-destination', consumer);
}

async function manifestOf(folder: string) {
  const text = await readFile(join(folder, 'package.json'), 'utf8');
  return JSON.parse(text) as Record<'devDependencies' | 'peerDependencies', Record<string, string>>;
}

/** The consumer has the versions that the lock file has already brought into npm's cache. */
async function install(): Promise<void> {
  const { devDependencies } = await manifestOf(root);
  const versions = (...names: string[]) => Object.fromEntries(names.map((name) => [name, devDependencies[name]]));
  const manifest = {
    name: 'consumer',
    version: '1.0.0',
    private: true,
    dependencies: { rivulet: `file:${await tarball()}`, ...versions('rxjs', 'zod') },
    devDependencies: versions('jest', 'jest-environment-jsdom', 'typescript', '@types/node'),
  };
  await cp(join(root, 'spec/package/consumers'), consumer, { recursive: true });
  await writeFile(join(consumer, 'package.json'), JSON.stringify(manifest));
  await run(consumer, 'npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock');
}

/** Source maps and sources are not packed: nothing may point to them. */
async function onlyWhatIsMeant(): Promise<void> {
  const installed = join(consumer, 'node_modules/rivulet');
  const meant = ['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'package.json'];
  const others = (await readdir(installed)).filter((name) => !meant.includes(name));
  if (others.length > 0) throw new Error(`The package also holds ${others.join(', ')}.`);
  const files = await readdir(join(installed, 'dist'), { recursive: true });
  const stray = files.filter((name) => /\.[cm]?[jt]sx?$|\.map$/.test(name) && !/\.(js|d\.ts)$/.test(name));
  if (stray.length > 0) throw new Error(`dist also holds ${stray.join(', ')}.`);
  for (const name of files.filter((each) => each.endsWith('.js'))) {
    if ((await readFile(join(installed, 'dist', name), 'utf8')).includes('sourceMappingURL'))
      throw new Error(`${name} points to a source map.`);
  }
}

/** The libraries' own declarations are checked as well: a user without `skipLibCheck` gets them checked. */
const typeCheck = (...files: string[]) =>
  run(consumer, 'npx', 'tsc', '--noEmit', '--strict', '--target', 'es2022', '--types', 'node', ...files);

/** What the peer ranges promise at their lower end. */
async function oldestPeers(): Promise<void> {
  const oldest = Object.entries((await manifestOf(root)).peerDependencies).map(
    ([name, range]) => `${name}@${range.replace(/^\^| .*$/g, '')}`,
  );
  await run(
    consumer,
    'npm',
    'install',
    '--save-exact',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    ...oldest,
  );
  await run(consumer, 'node', 'esm.mjs');
  await run(consumer, 'node', 'commonjs.cjs');
  await typeCheck('--module', 'nodenext', 'typed.mts', 'typed.cts');
}

const steps: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['builds and packs', pack],
  ['publint', async () => run(root, 'publint', 'run', await tarball(), '--strict')],
  [
    'are the types wrong',
    async () => run(root, 'attw', await tarball(), '--profile', 'node16', '--no-definitely-typed'),
  ],
  ['installs', install],
  ['holds what it should, and no more', onlyWhatIsMeant],
  ['an ESM script', () => run(consumer, 'node', 'esm.mjs')],
  ['a CommonJS script', () => run(consumer, 'node', 'commonjs.cjs')],
  ['a plain CommonJS jest, in Node and in jsdom', () => run(consumer, 'npx', 'jest')],
  [
    'types of an ESM and of a CommonJS module (nodenext)',
    () => typeCheck('--module', 'nodenext', 'typed.mts', 'typed.cts'),
  ],
  ['types of a bundled module', () => typeCheck('--module', 'esnext', '--moduleResolution', 'bundler', 'typed.mts')],
  ['an import reads few files, and does nothing', () => imports(consumer)],
  ['the oldest rxjs and zod that are allowed', oldestPeers],
  ['bundles for a browser, within its budget', () => bundles(consumer)],
];

let failed = 0;
for (const [name, step] of steps) {
  const start = performance.now();
  try {
    const shown = await step();
    console.log(`ok   ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
    if (step === steps.at(-1)?.[1]) console.log(shown);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}\n${error instanceof Error ? error.message : String(error)}`);
    if (step === pack || step === install) break; // nothing is left to try
  }
}
await rm(consumer, { recursive: true, force: true });
console.log(
  failed === 0
    ? `The package: ${steps.length} checks passed.`
    : `The package: ${failed} of ${steps.length} checks failed.`,
);
process.exitCode = failed === 0 ? 0 : 1;
