import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aptInstall } from './aptInstall.js';
import { freePort } from './freePort.js';

/** A PostgreSQL server in a folder of its own, which keeps nothing. */
export interface PostgresServer {
  readonly url: string;
  /** Kills the server, as a crash does. */
  kill(): void;
  /** Starts it again, on the same port. */
  start(): void;
  /** Ends it, and removes its data. */
  remove(): void;
}

/** PostgreSQL refuses to run as root: then it runs as the user that Debian's package creates. */
const isRoot = process.getuid?.() === 0;
const asPostgres = ['--reuid=postgres', '--regid=postgres', '--clear-groups'];

function run(program: string, args: readonly string[]): void {
  const [command, all] = isRoot ? ['setpriv', [...asPostgres, program, ...args]] : [program, [...args]];
  const { status, stderr } = spawnSync(command, all, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
}

const root = '/usr/lib/postgresql';

/** The folder of the programs of Debian's package, which is installed if this process may do so. */
function findPrograms(): string {
  if (!existsSync(root)) aptInstall('postgresql');
  if (!existsSync(root)) throw new Error(`There is no PostgreSQL in ${root}. Install Debian's package postgresql.`);
  const version = readdirSync(root).sort((a, b) => Number(b) - Number(a))[0] ?? '';
  return join(root, version, 'bin');
}

/** Starts a PostgreSQL server. Takes about a second. */
export async function startPostgres({ maxConnections = 100 } = {}): Promise<PostgresServer> {
  const programs = findPrograms();
  const folder = mkdtempSync(join(tmpdir(), 'rivulet-postgres-'));
  if (isRoot) {
    const [uid, gid] = ['-u', '-g'].map((option) =>
      Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' })),
    );
    chownSync(folder, uid ?? 0, gid ?? 0);
  }
  const data = join(folder, 'data');
  const port = await freePort();
  run(join(programs, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync']);
  const settings = [
    `-p ${port}`,
    '-c listen_addresses=127.0.0.1',
    `-c unix_socket_directories=${folder}`,
    '-c fsync=off',
    `-c max_connections=${maxConnections}`,
  ];
  const control = (...args: string[]) => run(join(programs, 'pg_ctl'), ['-D', data, '-w', ...args]);
  const start = () => control('-l', join(folder, 'log'), '-o', settings.join(' '), 'start');
  const kill = () => control('-m', 'immediate', 'stop');
  start();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start,
    kill,
    remove() {
      kill();
      rmSync(folder, { recursive: true });
    },
  };
}
