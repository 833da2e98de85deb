// npm run package: tests the published package. It is packed, checked by publint and attw, and installed in a folder
// outside the checkout, where an ESM script, a CommonJS script, a CommonJS jest and the type checker use it.
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

/** Installs the versions of package.json, which are already in npm's cache. */
async function install(): Promise<void> {
  const { devDependencies } = await manifestOf(root);
  const versions = (...names: string[]) => Object.fromEntries(names.map((name) => [name, devDependencies[name]]));
  const manifest = {
    name: 'consumer',
    version: '1.0.0',
    private: true,
    dependencies: {
      rivulet: `file:${await tarball()}`,
      ...versions('rxjs', 'zod', '@opentelemetry/api', '@angular/core'),
    },
    devDependencies: {
      ...versions('jest', '@jest/globals', 'jest-environment-jsdom', 'vitest', 'typescript', '@types/node'),
      '@types/jest': '30.0.0', // not of this checkout, whose specs import their globals
    },
  };
  await cp(join(root, 'spec/checks/package/consumers'), consumer, { recursive: true });
  await writeFile(join(consumer, 'package.json'), JSON.stringify(manifest));
  await run(consumer, 'npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock');
}

/** Checks that the package contains the expected files only. Since it has no source maps, no file may refer to one. */
async function onlyExpectedFiles(): Promise<void> {
  const installed = join(consumer, 'node_modules/rivulet');
  const expected = ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'dist', 'package.json'];
  const found = (await readdir(installed)).sort().join(', ');
  if (found !== expected.join(', '))
    throw new Error(`The package contains ${found} instead of ${expected.join(', ')}.`);
  const files = await readdir(join(installed, 'dist'), { recursive: true });
  const stray = files.filter((name) => /\.[cm]?[jt]sx?$|\.map$/.test(name) && !/\.(js|d\.ts)$/.test(name));
  if (stray.length > 0) throw new Error(`Unexpected files in dist: ${stray.join(', ')}.`);
  for (const name of files.filter((each) => each.endsWith('.d.ts'))) {
    if ((await readFile(join(installed, 'dist', name), 'utf8')).includes('](../'))
      throw new Error(`${name} refers to a drawing that is not in the package.`);
  }
  for (const name of files.filter((each) => each.endsWith('.js'))) {
    if ((await readFile(join(installed, 'dist', name), 'utf8')).includes('sourceMappingURL'))
      throw new Error(`${name} refers to a source map.`);
  }
}

/** Checks the declarations of the libraries as well, as for a user without `skipLibCheck`. */
const typeCheckWith = (types: string, ...files: string[]) =>
  run(consumer, 'npx', 'tsc', '--noEmit', '--strict', '--target', 'es2022', '--types', types, ...files);
const typeCheck = (...files: string[]) => typeCheckWith('node', ...files);

/** Where `expect` is from in the declarations of the matcher in docs/testing.md, in their order. */
const runners = [
  { imported: "import { expect } from 'vitest';", types: 'node' },
  { imported: "import { expect } from '@jest/globals';", types: 'node' },
  { imported: '', types: 'jest' },
];

/** Compiles each declaration of the matcher in docs/testing.md, with a use of it. Each runner is a program of its own. */
async function matcherTypes(): Promise<void> {
  const guide = await readFile(join(root, 'docs/testing.md'), 'utf8');
  const declarations = [...guide.matchAll(/^```typescript\n([^]*?)^```$/gm)].map(([, code = '']) => code);
  if (declarations.length !== runners.length)
    throw new Error(`docs/testing.md has ${declarations.length} declarations.`);
  for (const [index, { imported, types }] of runners.entries()) {
    const name = `matchers${index}.mts`;
    const use = "expect.extend(marbleMatchers);\nexpect(() => of(1)).toEmitMarbles('(a|)', { a: [1] });\n";
    const imports = `import { of } from 'rxjs';\nimport { marbleMatchers } from 'rivulet/testing';\n${imported}\n`;
    await writeFile(join(consumer, name), `${imports}${declarations[index]}${use}`);
    await typeCheckWith(types, '--module', 'nodenext', name);
  }
}

/** Tests the oldest versions that the peer ranges permit. */
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

/** A jest that runs ES modules needs a flag of Node. */
const esmJest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--testMatch', '**/*.jest.mjs'];

const steps: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['build and pack', pack],
  ['publint', async () => run(root, 'publint', 'run', await tarball(), '--strict')],
  [
    'are the types wrong',
    // Angular has no CommonJS, nor has the bridge to it.
    async () =>
      run(
        root,
        'attw',
        await tarball(),
        ...['--profile', 'node16', '--no-definitely-typed', '--exclude-entrypoints', './angular'],
      ),
  ],
  ['install', install],
  ['the expected files only', onlyExpectedFiles],
  ['an ESM script', () => run(consumer, 'node', 'esm.mjs')],
  ['a CommonJS script', () => run(consumer, 'node', 'commonjs.cjs')],
  ['a CommonJS jest, in Node and in jsdom', () => run(consumer, 'npx', 'jest')],
  ['an operator and its spec in a jest of ES modules', () => run(consumer, 'node', ...esmJest)],
  ['an operator and its spec in vitest', () => run(consumer, 'npx', 'vitest', 'run')],
  ['a provider outside of the package', () => run(consumer, 'node', '--test', 'provider.mjs')],
  [
    'types of an ESM and of a CommonJS module (nodenext)',
    () => typeCheck('--module', 'nodenext', 'typed.mts', 'typed.cts'),
  ],
  ['types of a bundled module', () => typeCheck('--module', 'esnext', '--moduleResolution', 'bundler', 'typed.mts')],
  [
    'declarations of a package that infers its types',
    () => typeCheck('--declaration', '--module', 'nodenext', 'declared.mts'),
  ],
  ['types of the matcher in jest and in vitest', matcherTypes],
  ['an import reads few files and has no side effects', () => imports(consumer)],
  ['the oldest peers', oldestPeers],
  ['bundles for a browser, within the budgets', () => bundles(consumer)],
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
    if (step === pack || step === install) break; // the other steps need the package
  }
}
await rm(consumer, { recursive: true, force: true });
console.log(
  failed === 0
    ? `The package: ${steps.length} checks passed.`
    : `The package: ${failed} of ${steps.length} checks failed.`,
);
process.exitCode = failed === 0 ? 0 : 1;
