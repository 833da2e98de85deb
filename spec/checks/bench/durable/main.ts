import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { createClient } from 'redis';
import { firstValueFrom, lastValueFrom, timer } from 'rxjs';
import { openDatabase } from '../../../../examples/durable-service/database.js';
import type { RunLog } from '../../../../lib/service/ports/runLog.js';
import { migratePostgres, pgNotifications, postgresLog } from '../../../../lib/service/stores/postgres/index.js';
import { redisLog } from '../../../../lib/service/stores/redis/index.js';
import { startRedis } from '../../../support/redisServer.js';
import { median, quantile } from '../statistics.js';
import type { Plan, Report } from './agent.js';
import type { Done, Task } from './front.js';
import { postgresCpu } from './postgresCpu.js';

// npm run bench:durable [-- --rounds 3] [-- --runs 400] [-- --only PART]: what durable runs cost beside the same runs
// in memory, how many of them workers execute in a second, what they write, and how long a message from another front
// takes. The parts are costs, load, processes, log and messages. Fronts and workers are processes on this machine;
// PostgreSQL has its default settings.

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    runs: { type: 'string', default: '400' },
    only: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const runs = Number(values.runs);

const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url, max: 4 });
await lastValueFrom(migratePostgres(pool), { defaultValue: undefined });
const scalar = async (text: string, ...given: unknown[]) => {
  const { rows } = await pool.query<{ value: string | number }>(`select (${text}) as value`, given);
  return Number(rows[0]?.value);
};

const children = new Set<ChildProcess>();
const reports = new Map<string, (report: Report) => void>();
async function start(name: 'front' | 'worker', ...args: readonly string[]): Promise<ChildProcess> {
  const script = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  const child = fork(script, args, { execArgv: ['--import', 'tsx', '--disable-warning=DeprecationWarning'] });
  child.on('message', (message: Partial<Report>) => {
    if (message.word !== undefined) reports.get(message.word)?.(message as Report);
  });
  await once(child, 'message');
  children.add(child);
  child.once('exit', (code) => {
    if (code !== 0) throw new Error(`A ${name} has ended.`);
  });
  return child;
}
const ask = async (front: ChildProcess, task: Task): Promise<Done> => {
  front.send(task);
  const [{ done }] = (await once(front, 'message')) as [{ done: Done }];
  return done;
};
interface WorkerState {
  readonly cpu: NodeJS.CpuUsage;
  readonly rss: number;
}
const stateOf = async (worker: ChildProcess): Promise<WorkerState> => {
  worker.send('cpu');
  const [state] = (await once(worker, 'message')) as [WorkerState];
  return state;
};

const postgresTime = async () => postgresCpu(await scalar('pg_backend_pid()'));

const workers: ChildProcess[] = [await start('worker', database.url)];
const memory = await start('front');
const front = await start('front', database.url);
const other = await start('front', database.url);

/** CPU microseconds by kind of process, and wall milliseconds. */
interface Cost {
  readonly memory: number;
  readonly front: number;
  readonly workers: number;
  readonly postgres: number;
  readonly wall: number;
  readonly memoryWall: number;
}
const workersCpu = async () => {
  const states = await Promise.all(workers.map(stateOf));
  return states.reduce((sum, { cpu }) => sum + cpu.user + cpu.system, 0);
};
async function costOf(plan: Plan, count: number, atOnce: number): Promise<Cost> {
  const task = { type: 'run', plan, count, atOnce } as const;
  const inMemory = await ask(memory, task);
  const before = [await workersCpu(), await postgresTime()] as const;
  const durable = await ask(front, task);
  await firstValueFrom(timer(300)); // the writes after the last event
  const after = [await workersCpu(), await postgresTime()] as const;
  return {
    memory: inMemory.cpu / count,
    memoryWall: (inMemory.wall * atOnce) / count,
    front: durable.cpu / count,
    workers: (after[0] - before[0]) / count,
    postgres: (after[1] - before[1]) / count,
    wall: (durable.wall * atOnce) / count,
  };
}
const medianOf = (costs: readonly Cost[]): Cost => {
  const of = (name: keyof Cost) => median(costs.map((cost) => cost[name]));
  const [memoryCpu, frontCpu, workersCpus] = [of('memory'), of('front'), of('workers')];
  const [postgres, wall, memoryWall] = [of('postgres'), of('wall'), of('memoryWall')];
  return { memory: memoryCpu, front: frontCpu, workers: workersCpus, postgres, wall, memoryWall };
};
/** The difference of two costs, for each of so many. */
const each = (more: Cost, less: Cost, count: number): Cost => {
  const of = (name: keyof Cost) => (more[name] - less[name]) / count;
  const [memoryCpu, frontCpu, workersCpus] = [of('memory'), of('front'), of('workers')];
  return {
    ...{ memory: memoryCpu, front: frontCpu, workers: workersCpus },
    ...{ postgres: of('postgres'), wall: of('wall'), memoryWall: of('memoryWall') },
  };
};

const print = (line = '') => process.stdout.write(`${line}\n`);
const row = (...cells: readonly (string | number)[]) => print(`| ${cells.join(' | ')} |`);
const header = (...cells: readonly string[]) => {
  row(...cells);
  row(...cells.map(() => '---'));
};
const milliseconds = (microseconds: number) => `${(microseconds / 1000).toFixed(2)} ms`;
const round = (value: number, digits = 0) => value.toFixed(digits);

const version = await pool.query<{ server_version: string }>('show server_version');
const processor = cpus()[0]?.model ?? '';
print(
  `${cpus().length} x ${processor}, Node ${process.version}, PostgreSQL ${version.rows[0]?.server_version ?? ''}, ` +
    `${new Date().toISOString().slice(0, 10)}, load ${loadavg()[0]?.toFixed(1)}\n`,
);

/** Prints what a turn and a delta cost. */
async function measureCosts(): Promise<void> {
  const short: Plan = { kind: 'answer', turns: 1, deltas: 1 };
  const long: Plan = { kind: 'answer', turns: 21, deltas: 1 };
  const paced: Plan = { kind: 'answer', turns: 1, deltas: 200, delay: 20 };
  await costOf(long, 30, 5); // compiles
  await costOf(paced, 20, 20);
  const measure = async (plan: Plan, count: number, atOnce: number) => {
    const costs: Cost[] = [];
    for (let index = 0; index < rounds; index++) costs.push(await costOf(plan, count, atOnce));
    return medianOf(costs);
  };
  const [oneTurn, manyTurns] = [await measure(short, 40, 1), await measure(long, 20, 1)];
  const oneDelta = await measure(short, 50, 50);
  const eventsBefore = await scalar('select count(*) from rivulet_events');
  const manyDeltas = await measure(paced, 50, 50);
  const eventRows = (await scalar('select count(*) from rivulet_events')) - eventsBefore;
  header('CPU time', 'in memory', 'durable', 'of it worker', 'front', 'PostgreSQL');
  const cpuRow = (name: string, cost: Cost) =>
    row(
      name,
      milliseconds(cost.memory),
      milliseconds(cost.workers + cost.front + cost.postgres),
      ...[cost.workers, cost.front, cost.postgres].map(milliseconds),
    );
  const perTurn = each(manyTurns, oneTurn, 20);
  const perDelta = each(manyDeltas, oneDelta, 199);
  cpuRow('a run of one turn', oneTurn);
  cpuRow('each further turn, with one tool call', perTurn);
  cpuRow('a delta at 50 a second, 50 runs at once', perDelta);
  print();
  header('wall time, one run at a time', 'in memory', 'durable');
  row('a run of one turn', `${round(oneTurn.memoryWall, 1)} ms`, `${round(oneTurn.wall, 1)} ms`);
  row('each further turn, with one tool call', `${round(perTurn.memoryWall, 1)} ms`, `${round(perTurn.wall, 1)} ms`);
  row(
    'a text of 200 deltas at 50 a second, 50 runs at once',
    `${round(manyDeltas.memoryWall)} ms`,
    `${round(manyDeltas.wall)} ms`,
  );
  print();
  const liveWrites = eventRows / (50 * rounds) / (manyDeltas.wall / 1000);
  print(`A run that streams 50 deltas a second writes ${round(liveWrites, 1)} rows of the log in a second.`);
  const [idleBefore, idleDatabase] = [await workersCpu(), await postgresTime()];
  await firstValueFrom(timer(10_000));
  const idle = [(await workersCpu()) - idleBefore, (await postgresTime()) - idleDatabase].map((cpu) =>
    milliseconds(cpu / 10),
  );
  print(`A worker without a run takes ${idle[0]} of CPU time in a second, and PostgreSQL for it ${idle[1]}.\n`);
}

/** Prints how many runs workers execute in a second, and what a run writes. */
async function measureLoad(): Promise<void> {
  const state = async () => ({
    rows: await scalar('select count(*) from rivulet_events'),
    steps: await scalar('select count(*) from dbos.operation_outputs'),
    commits: await scalar('select xact_commit from pg_stat_database where datname = current_database()'),
    wal: await scalar("select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"),
    disk: await scalar(
      "select sum(pg_total_relation_size(oid)) from pg_class where relkind = 'r' and relnamespace in ('public'::regnamespace, 'dbos'::regnamespace)",
    ),
  });
  /** Two turns with one tool call and 40 deltas, at once and in about two seconds. */
  const loads = [
    ['at once', { kind: 'answer', turns: 2, deltas: 20 }],
    ['after 2 s', { kind: 'answer', turns: 2, deltas: 20, delay: 50 }],
  ] as const;
  header(
    'the model answers',
    'workers',
    'runs a second',
    'log writes a second',
    'transactions a second',
    'CPU time a run',
    'machine',
  );
  let perRun = { rows: 0, steps: 0, commits: 0, wal: 0, disk: 0 };
  for (const count of [1, 2, 4]) {
    while (workers.length < count) workers.push(await start('worker', database.url));
    await ask(front, { type: 'run', plan: loads[0][1], count: 50 * count, atOnce: 50 });
    for (const [name, plan] of loads) {
      const results: number[][] = [];
      for (let index = 0; index < rounds; index++) {
        const [before, busyBefore] = [await state(), cpuTimes()];
        const cpuBefore = (await workersCpu()) + (await postgresTime());
        const { wall, cpu } = await ask(front, { type: 'run', plan, count: runs, atOnce: 200 });
        const busy = (cpuTimes() - busyBefore) / wall / cpus().length;
        const spent = cpu + (await workersCpu()) + (await postgresTime()) - cpuBefore;
        await firstValueFrom(timer(1500)); // the statistics of PostgreSQL are late
        const after = await state();
        const of = (key: keyof typeof perRun) => after[key] - before[key];
        perRun = { rows: of('rows'), steps: of('steps'), commits: of('commits'), wal: of('wal'), disk: of('disk') };
        const perSecond = [runs, of('rows'), of('commits')].map((total) => (total / wall) * 1000);
        results.push([...perSecond, spent / runs, busy * 100]);
      }
      const of = (column: number) => median(results.map((result) => result[column] ?? NaN));
      row(name, count, round(of(0)), round(of(1)), round(of(2)), milliseconds(of(3)), `${round(of(4))} %`);
    }
  }
  function cpuTimes(): number {
    return cpus().reduce((sum, { times }) => sum + times.user + times.sys + times.nice + times.irq, 0);
  }
  print();
  header('a run of two turns with one tool call', '');
  row('rows of the log', round(perRun.rows / runs, 1));
  row('steps of DBOS', round(perRun.steps / runs, 1));
  row('transactions', round(perRun.commits / runs, 1));
  row('write-ahead log', `${round(perRun.wal / runs / 1024, 1)} KB`);
  row('tables and indexes', `${round(perRun.disk / runs / 1024, 1)} KB`);
  print();
}

/** Prints the memory and the connections of the processes. */
async function measureProcesses(): Promise<void> {
  const { rows: sessions } = await pool.query<{ name: string; count: number }>(
    `select case when application_name like 'dbos%' then 'of DBOS' else 'of pools, LISTEN and locks' end as name,
    count(*)::integer as count from pg_stat_activity where datname = current_database() group by 1`,
  );
  const rss = (await Promise.all(workers.map(stateOf))).map((worker) => worker.rss / 1024 ** 2);
  const fronts = await Promise.all([front, other].map((one) => ask(one, { type: 'cpu' })));
  print(
    `Memory after these runs: ${round(median(rss))} MB a worker, ` +
      `${round(median(fronts.map((one) => one.rss / 1024 ** 2)))} MB a front. Connections of 4 workers and 2 fronts: ` +
      `${sessions.map(({ name, count }) => `${count} ${name}`).join(', ')}.\n`,
  );
}

/** Prints how fast logs are written, and what a notification costs. */
async function measureLog(): Promise<void> {
  const event = { type: 'text', text: 'word '.repeat(10) };
  const appending = async (log: RunLog, lanes: number, time: number) => {
    const end = performance.now() + time;
    let count = 0;
    const lane = async (run = crypto.randomUUID()) => {
      for (; performance.now() < end; count++)
        await lastValueFrom(log.append(run, 1, [event]), { defaultValue: undefined });
    };
    await Promise.all(Array.from({ length: lanes }, () => lane()));
    return (count / time) * 1000;
  };
  const writers = new pg.Pool({ connectionString: database.url, max: 20 });
  const redis = await startRedis();
  const redisClient = createClient({ url: redis.url });
  await redisClient.connect();
  header('writes of the log alone, a second', 'of one run', 'of 200 runs at once');
  for (const [name, log] of [
    ['PostgreSQL, 20 connections', postgresLog(writers, { writeInterval: 0 })],
    ['Redis, `appendfsync always`', redisLog(redisClient, { writeInterval: 0 })],
  ] as const) {
    await appending(log, 20, 1000);
    row(name, round(await appending(log, 1, 4000)), round(await appending(log, 200, 4000)));
  }
  print();
  await writers.end();
  await redisClient.close();
  await redis.remove();
  const notified = 50_000;
  let heard = 0;
  const everyone = new Promise<void>((resolve) => {
    const listening = pgNotifications(() => new pg.Client({ connectionString: database.url })).subscribe((run) => {
      if (run === '') void pool.query(`select pg_notify('rivulet', 'x' || n) from generate_series(1, ${notified}) n`);
      else if (++heard === notified) {
        listening.unsubscribe();
        resolve();
      }
    });
  });
  const heardBefore = process.cpuUsage();
  await everyone;
  const { user, system } = process.cpuUsage(heardBefore);
  print(
    `A notification that a process does not need costs it ${round((user + system) / notified, 1)} µs of CPU time.\n`,
  );
}

/** Prints how long a message takes from another front to a live worker. */
async function measureMessages(): Promise<void> {
  const samples = 40;
  async function latency(plan: Plan, until: string, message: (id: string) => Task): Promise<readonly number[]> {
    const found: number[] = [];
    for (let index = 0; index < samples; index++) {
      const [id, word] = [crypto.randomUUID(), crypto.randomUUID()];
      await ask(front, { type: 'open', id, plan: { ...plan, word }, until });
      await firstValueFrom(timer(150 + ((index * 37) % 100))); // at any moment of an interval of polling
      const arrived = new Promise<Report>((resolve) => reports.set(word, resolve));
      const { at, status = 0 } = await ask(other, message(id));
      if (status >= 300) throw new Error(`A message was answered with ${status}.`);
      found.push((await arrived).at - at);
    }
    return found;
  }
  header('from a request to another front', 'median', '95 %', 'most');
  const latencyRow = (name: string, found: readonly number[]) =>
    row(name, ...[median(found), quantile(found, 0.95), Math.max(...found)].map((value) => `${round(value)} ms`));
  const stop = (id: string): Task => ({ type: 'send', id, method: 'DELETE' });
  latencyRow('stop: the request to the model is aborted', await latency({ kind: 'hangs' }, '"text"', stop));
  latencyRow('stop: the tool is aborted', await latency({ kind: 'tool hangs' }, 'toolStart', stop));
  latencyRow(
    'cancel of one call: the tool is aborted',
    await latency({ kind: 'tool hangs' }, 'toolStart', (id) => ({
      type: 'send',
      id,
      method: 'DELETE',
      path: '?call=c',
    })),
  );
  latencyRow(
    'decide: the tool starts',
    await latency({ kind: 'asks' }, '"waiting"', (id) => ({
      type: 'send',
      id: crypto.randomUUID(),
      method: 'POST',
      body: { resume: id, decisions: { c: { approve: true } } },
    })),
  );
}

const parts = {
  costs: measureCosts,
  load: measureLoad,
  processes: measureProcesses,
  log: measureLog,
  messages: measureMessages,
};
for (const [name, part] of Object.entries(parts)) if ([undefined, name].includes(values.only)) await part();
print(`\nLoad ${loadavg()[0]?.toFixed(1)} at the end.`);

const ended = [...children].map((child) => once(child, 'exit'));
for (const child of children) child.disconnect();
await Promise.all(ended);
await pool.end();
await database.close();
process.exit();
