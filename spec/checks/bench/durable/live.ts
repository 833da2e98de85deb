import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpus, loadavg } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { firstValueFrom, timer } from 'rxjs';
import { openDatabase } from '../../../../examples/durable-service/database.js';
import { median, quantile } from '../statistics.js';
import type { LiveDone, LiveTask } from './liveProcess.js';
import { postgresCpu } from './postgresCpu.js';

// npm run build && npm run bench:live [-- --beside FOLDER] [-- --runs 50,200] [-- --deltas 100] [-- --rounds 1]: the
// delay of a delta from the model to a reader, with two fronts, two workers and 10 deltas a second for each run. FOLDER
// has an older build, which is measured in turns with this one, each on a database of its own.

const { values } = parseArgs({
  options: {
    beside: { type: 'string' },
    runs: { type: 'string', default: '50,200' },
    deltas: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '1' },
  },
});
const script = fileURLToPath(new URL('./liveProcess.ts', import.meta.url));

interface Build {
  readonly name: string;
  /** The arguments of its processes after the role. `pools`: their size, and whether DBOS uses them too, as the guide says. */
  readonly root: string;
  readonly pools: Readonly<Record<'front' | 'worker', readonly string[]>>;
}
const builds: readonly Build[] = [
  { name: 'this build', root: resolve('.'), pools: { front: ['3', 'shared'], worker: ['4', 'shared'] } },
  ...(values.beside === undefined
    ? []
    : [{ name: 'beside', root: resolve(values.beside), pools: { front: ['10', 'apart'], worker: ['10', 'apart'] } }]),
];

const ask = async (child: ChildProcess, task: LiveTask): Promise<LiveDone> => {
  child.send(task);
  const [done] = (await once(child, 'message')) as [LiveDone];
  return done;
};

async function measure({ name, root, pools }: Build, count: number): Promise<void> {
  const database = await openDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 1, idleTimeoutMillis: 0 });
  const scalar = async (text: string) => {
    const { rows } = await pool.query<{ value: string | number }>(`select (${text}) as value`);
    return Number(rows[0]?.value);
  };
  const start = async (role: 'front' | 'worker') => {
    const child = fork(script, [role, root, database.url, ...pools[role]], {
      execArgv: ['--import', 'tsx', '--disable-warning=DeprecationWarning'],
    });
    await once(child, 'message');
    return child;
  };
  const workers = [await start('worker'), await start('worker')];
  const fronts = await Promise.all([start('front'), start('front')]);
  const backend = await scalar('pg_backend_pid()');
  const task = { deltas: Number(values.deltas), delay: 100 };
  await Promise.all(fronts.map((front) => ask(front, { ...task, runs: 20, deltas: 20 }))); // compiles
  const cpuOf = async (children: readonly ChildProcess[]) =>
    (await Promise.all(children.map((child) => ask(child, { ...task, runs: 0 })))).reduce(
      (sum, { cpu }) => sum + cpu,
      0,
    );
  const state = async () => ({
    workers: await cpuOf(workers),
    fronts: await cpuOf(fronts),
    postgres: postgresCpu(backend),
    wal: await scalar("pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"),
    disk: await scalar(
      "select sum(pg_total_relation_size(oid)) from pg_class where relkind = 'r' and relnamespace in ('public'::regnamespace, 'dbos'::regnamespace)",
    ),
    rows: await scalar('select count(*) from rivulet_events'),
    commits: await scalar('select xact_commit from pg_stat_database where datname = current_database()'),
  });
  await firstValueFrom(timer(1500)); // the statistics of PostgreSQL are late
  const before = await state();
  const running = Promise.all(fronts.map((front) => ask(front, { ...task, runs: count / 2 })));
  await firstValueFrom(timer(5000));
  const connections = await scalar("select count(*) from pg_stat_activity where backend_type = 'client backend'");
  const delays = (await running).flatMap((done) => done.delays);
  await firstValueFrom(timer(1500));
  const after = await state();
  const perRun = (key: keyof typeof before, unit: number) => ((after[key] - before[key]) / count / unit).toFixed(1);
  print(
    `| ${name} | ${count} | ${median(delays).toFixed(0)} ms | ${quantile(delays, 0.95).toFixed(0)} ms | ` +
      `${(['workers', 'fronts', 'postgres'] as const).map((key) => perRun(key, 1000)).join(' + ')} ms | ${perRun('rows', 1)} | ${perRun('commits', 1)} | ${perRun('wal', 1024)} KB | ` +
      `${perRun('disk', 1024)} KB | ${connections - 1} |`,
  );
  const ended = [...workers, ...fronts].map((child) => once(child, 'exit'));
  for (const child of [...workers, ...fronts]) child.disconnect();
  await Promise.all(ended);
  await pool.end();
  await database.close();
}

const print = (line: string) => process.stdout.write(`${line}\n`);
print(`${cpus().length} x ${cpus()[0]?.model ?? ''}, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}\n`);
print(
  '| build | runs | median | 95 % | CPU time a run: workers + fronts + PostgreSQL | rows | transactions | write-ahead log | tables | connections |',
);
print('|---|---|---|---|---|---|---|---|---|---|');
for (let round = 0; round < Number(values.rounds); round++)
  for (const count of values.runs.split(',').map(Number)) for (const build of builds) await measure(build, count);
process.exit();
