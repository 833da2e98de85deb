import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';

const project = fileURLToPath(new URL('../../..', import.meta.url));
const patience = 60_000;

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** Starts a process as `npm start` does, without a terminal and without a key. `watch` sees the output so far. */
function start(
  watch: (out: string, child: ChildProcess) => void = () => undefined,
  ...args: readonly string[]
): Promise<Ended> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'examples/terminal/main.ts', ...args], {
    cwd: project,
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, error] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    watch(out, child);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (error += text));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, error })));
}

describe('npm start, in a process of its own', () => {
  it(
    'npm start answers the built-in question offline and exits with 0',
    async () => {
      const { code, out, error } = await start();
      expect({ code, error }).toEqual({ code: 0, error: '' });
      expect(out).toMatch(/^Rivulet: offline: a scripted stand-in .*set OPENAI_API_KEY/);
      expect(out).toContain('Lisbon is 19 degrees warmer than Oslo.');
      expect(out).toMatch(/\n\[4 turns, [\d,]+ tokens in, [\d,]+ tokens out\]\n$/);
    },
    patience,
  );

  it(
    'npm start prints "stopped" at SIGINT and exits with 130',
    async () => {
      let isInterrupted = false;
      const { code, out } = await start((soFar, child) => {
        if (!isInterrupted && soFar.includes('→ weather')) isInterrupted = child.kill('SIGINT');
      });
      expect(code).toBe(130);
      expect(out).toMatch(/→ weather .*\n✗ weather Lisbon: The call was cancelled\.\n.*\nstopped\n\[1 turn.*\]\n$/s);
    },
    patience,
  );

  it(
    'npm start exits with 0 and prints no error when its reader leaves early',
    async () => {
      const { code, error } = await start((_, child) => child.stdout?.destroy());
      expect({ code, error }).toEqual({ code: 0, error: '' });
    },
    patience,
  );

  describe('--web --data', () => {
    const folder = mkdtempSync(join(tmpdir(), 'rivulet-chats-'));
    afterAll(() => rmSync(folder, { recursive: true }));

    /** Starts the service of the page with the folder, uses it, and ends it with a signal. */
    async function withService<T>(signal: NodeJS.Signals, use: (url: string) => Promise<T>): Promise<T> {
      let used: Promise<T> | undefined;
      const { error } = await start(
        (out, child) => {
          const url = /^Open (http\S+)/m.exec(out)?.[1];
          if (url !== undefined) used ??= use(`${url}api/chat`).finally(() => child.kill(signal));
        },
        ...['--web', '--data', folder, '--port', '0'],
      );
      expect(error).toBe('');
      if (used === undefined) throw new Error('The service has not started.');
      return used;
    }

    it(
      'npm start -- --web --data FOLDER does not open a folder that another process uses, and leaves it at SIGTERM',
      async () => {
        const second = await withService('SIGTERM', () =>
          start(() => undefined, '--web', '--data', folder, '--port', '0'),
        );
        expect(second.error).toMatch(/Process \d+ uses ".*"\. If it does not, remove .*\.pid\./);
        expect(existsSync(`${folder}.pid`)).toBe(false);
      },
      2 * patience,
    );

    it(
      'npm start -- --web --data FOLDER still knows its runs after it was killed',
      async () => {
        const headers = { 'x-run-id': randomUUID(), 'content-type': 'application/json' };
        const post = async (url: string, body: object) =>
          (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).text();
        const first = await withService('SIGKILL', (url) => post(url, { input: 'Is it warm in Oslo?' }));
        const replayed = await withService('SIGINT', (url) => post(url, {}));
        expect(first).toContain('"type":"result"');
        expect(replayed).toContain('"type":"result"');
        expect(replayed).toContain('In Oslo it is -3 °C, light snow');
      },
      2 * patience,
    );
  });
});
