import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aptInstall } from './aptInstall.js';
import { freePort } from './freePort.js';

/** A Redis server in a folder of its own. It writes each command to its file before it answers. */
export interface RedisServer {
  readonly url: string;
  /** Kills the server, as a crash does. Completes when its process has ended. */
  kill(): Promise<void>;
  /** Starts it again, on the same port, with what it has written. */
  start(): Promise<void>;
  /** Ends it, and removes its data. */
  remove(): Promise<void>;
}

const program = '/usr/bin/redis-server';

/** Starts the server of Debian's package, which is installed if this process may do so. */
export async function startRedis(): Promise<RedisServer> {
  if (!existsSync(program)) aptInstall('redis-server');
  if (!existsSync(program)) throw new Error(`There is no ${program}. Install Debian's package redis-server.`);
  const folder = mkdtempSync(join(tmpdir(), 'rivulet-redis-'));
  const port = await freePort();
  const options = [
    '--port',
    port,
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--appendonly',
    'yes',
    '--appendfsync',
    'always',
  ];
  const launch = async () => {
    const child = spawn(program, options.map(String), { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      output += String(chunk);
      if (output.includes('Ready to accept connections')) break;
    }
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}: ${output}`);
    return child;
  };
  let server = await launch();
  const kill = async () => {
    const ended = once(server, 'exit');
    server.kill('SIGKILL');
    await ended;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    start: async () => {
      server = await launch();
    },
    remove: async () => {
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
}
