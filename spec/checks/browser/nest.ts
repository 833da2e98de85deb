import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { chatOn } from './stage.js';

const folder = join(import.meta.dirname, '../../../examples/nest-service');

/** Starts the service as its script does, offline, on a free port. */
async function startService() {
  if (!existsSync(join(folder, 'node_modules')))
    execFileSync('npm', ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'], { stdio: 'ignore' });
  const child = spawn(process.execPath, ['--import', 'tsx', 'main.ts'], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (bytes: Buffer) => {
      output += bytes.toString();
      const found = /Open (\S+)/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('close', () => reject(new Error(`The service has ended: ${output}`)));
  });
  return { url, child };
}

/** Checks a service with two users: their files, a request without a user, and the end of the process. */
export async function checkNest(browser: Browser): Promise<void> {
  const { url, child } = await startService();
  const ended = once(child, 'close');
  try {
    const [ann, ben] = [await browser.newContext(), await browser.newContext()];
    const open = async (context: typeof ann) => {
      const page = await context.newPage();
      await page.goto(url);
      return { page, ...chatOn(page) };
    };
    const anns = await open(ann);
    await anns.send('Write "Buy milk" to todo.txt');
    await anns.page.getByRole('button', { name: 'Approve' }).click();
    await anns.shows('I wrote todo.txt.');
    await anns.send('What does todo.txt say?');
    await anns.shows('todo.txt says: "Buy milk"');
    const bens = await open(ben);
    await bens.send('What does todo.txt say?');
    await bens.shows('There is no todo.txt.');

    const body = JSON.stringify({ input: 'Hello' });
    const headers = { 'content-type': 'application/json', 'x-run-id': crypto.randomUUID() };
    assert.equal((await fetch(new URL('api/chat', url), { method: 'POST', headers, body })).status, 403);

    await bens.send('How warm is it in Oslo?');
    await bens.stop.waitFor();
    child.kill('SIGTERM');
    await ended; // a run that goes on does not hold the process
    await ann.close();
    await ben.close();
  } finally {
    child.kill('SIGKILL');
  }
}
