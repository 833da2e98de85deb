// npm run test:starter: packs rivulet and create-rivulet, creates a chat with it in an empty folder, builds it, starts its
// service, and asks it a question.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pack, root, run } from '../package/shell.js';

const folder = await mkdtemp(join(tmpdir(), 'rivulet-starter-'));

async function tarballs(): Promise<{ readonly rivulet: string; readonly create: string }> {
  await pack(folder);
  await run(join(root, 'examples/create-rivulet'), 'npm', 'pack', '--pack-destination', folder);
  const names = await readdir(folder);
  const find = (prefix: string) => join(folder, names.find((name) => name.startsWith(prefix)) ?? `no ${prefix}`);
  return { rivulet: find('rivulet-'), create: find('create-rivulet-') };
}

async function step<T>(name: string, act: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  const value = await act();
  console.log(`ok   ${name} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
  return value;
}

/** Starts the service, and returns its address and a function that stops it. */
async function serve(chat: string): Promise<{ readonly url: string; readonly stop: () => void }> {
  const child = spawn('npm', ['run', 'serve'], { cwd: chat, env: { ...process.env, PORT: '0' }, detached: true });
  const stop = () => {
    if (child.pid !== undefined) process.kill(-child.pid);
  };
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    const read = (bytes: Buffer) => {
      output += bytes.toString();
      const found = /Open (http:\S+)/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', () => reject(new Error(`The service ended:\n${output}`)));
  });
  return { url, stop };
}

async function ask(url: string): Promise<void> {
  const page = await (await fetch(url)).text();
  if (!page.includes('<app-root')) throw new Error(`The page is ${page}`);
  const response = await fetch(`${url}api/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-run-id': crypto.randomUUID() },
    body: JSON.stringify({ input: 'Hello' }),
  });
  const events = await response.text();
  if (!response.ok || !events.includes('"type":"result"')) throw new Error(`The service answered ${events}`);
}

const { rivulet, create } = await step('pack both packages', tarballs);
const chat = join(folder, 'my-chat');
await step('create a chat', () =>
  run(folder, 'npm', 'exec', '--yes', '--package', create, '--', 'create-rivulet', 'my-chat'),
);
await step('install it', async () => {
  const file = join(chat, 'package.json');
  const manifest = JSON.parse(await readFile(file, 'utf8')) as { dependencies: Record<string, string> };
  const dependencies = { ...manifest.dependencies, rivulet: `file:${rivulet}` };
  await writeFile(file, JSON.stringify({ ...manifest, dependencies }));
  return run(chat, 'npm', 'install', '--prefer-offline', '--no-audit', '--no-fund');
});
await step('build its page', () => run(chat, 'npm', 'run', 'build'));
await step('check the types of its server', () => run(chat, 'npm', 'run', 'types'));
const { url, stop } = await step('start its service', () => serve(chat));
await step('ask it', () => ask(url)).finally(stop);
await rm(folder, { recursive: true });
console.log('The starter works.');
