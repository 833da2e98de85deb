import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser } from 'playwright-core';
import { freePort } from '../../support/freePort.js';
import { chatOn } from './stage.js';

const main = join(import.meta.dirname, '../../../examples/durable-service/main.ts');

/** Starts the example as its script does, offline, and notes which worker has asked the model last. */
async function startService() {
  const port = await freePort();
  const child = spawn(process.execPath, ['--import', 'tsx', main, '--port', String(port)], {
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const asks: number[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, worker] = /^worker (\d+): asks/.exec(line) ?? [];
      if (worker !== undefined) asks.push(Number(worker));
      const [, found] = /^Open (\S+)/.exec(line) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('close', () => reject(new Error('The service has ended.')));
  });
  return { url, child, asks };
}

/** Checks that two windows show the whole answer of a run whose worker was killed in the middle of it. */
export async function checkDurable(browser: Browser): Promise<void> {
  const { url, child, asks } = await startService();
  const ended = once(child, 'close');
  try {
    const context = await browser.newContext({ viewport: { width: 900, height: 800 } });
    context.setDefaultTimeout(300_000);
    const folder = join(import.meta.dirname, 'screenshots');
    await mkdir(folder, { recursive: true });
    const open = async (name: string) => {
      const page = await context.newPage();
      await page.goto(url);
      const picture = (when: string) => page.screenshot({ path: join(folder, `durable-${name}-${when}.png`) });
      return { picture, ...chatOn(page) };
    };
    const first = await open('first');
    await first.send('How much warmer is Cairo than London?');
    await first.shows('Let me look up');
    const second = await open('second');
    await second.shows('In Cairo it');
    const [killed, before] = [asks.at(-1) ?? NaN, asks.length];
    process.kill(killed, 'SIGKILL');
    await Promise.all([first.picture('killed'), second.picture('killed')]);
    assert.ok(!(await second.text()).includes('warmer than London.'), 'the answer had ended already');
    for (const window of [first, second]) {
      await window.shows('Cairo is 15 degrees warmer than London.');
      await window.idle();
    }
    await Promise.all([first.picture('end'), second.picture('end')]);
    assert.equal(await first.text(), await second.text());
    assert.equal((await first.text()).split('In Cairo it is').length, 2, 'the answer is shown once');
    assert.deepEqual([asks.length - before, asks.at(-1) === killed], [1, false], 'another worker has asked once more');
    await context.close();
    child.kill('SIGTERM');
    await ended;
  } finally {
    child.kill('SIGKILL');
  }
}
