import { inspect, isDeepStrictEqual, parseArgs } from 'node:util';
import { createStage, pause } from './stage.js';
import type { Member } from './supervise.js';

// npm run durable:chaos [-- --runs 200] [-- --workers 4] [-- --fronts 2] [-- --every 500] [-- --seed 1] [-- --outage]
// [-- --pause [--lost]] [-- --poison 1] [-- --faults 0.002] [-- --short] [-- --trace]: many conversations at once, whose readers reconnect at random to any
// front. A random process, worker or front, is killed with SIGKILL at each 500th event that the readers receive.
// `--outage` stops the database for 5 seconds in the middle, `--pause` a front and a worker with SIGSTOP for 40 seconds.
// With `--lost` too, the server ends the lock of that worker meanwhile: others execute its runs when it comes back.
// `--poison` prompts kill their workers: each becomes a dead letter, and no other run does. `--faults` of the writes
// fail (default: none; with `--short` 0.02). There are two queues, each with its own workers, and a worker that starts again has another release. Each
// run must end with the view of an undisturbed one, or with the outcome that is said to be unknown; no call may be
// missing, and no `atMostOnce` call may be executed twice.

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    workers: { type: 'string', default: '4' },
    fronts: { type: 'string', default: '2' },
    every: { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
    outage: { type: 'boolean' },
    pause: { type: 'boolean' },
    lost: { type: 'boolean' },
    poison: { type: 'string', default: '1' },
    faults: { type: 'string' },
    short: { type: 'boolean' },
    trace: { type: 'boolean' },
  },
});
const runs = values.short ? 20 : Number(values.runs);
const workers = values.short ? 2 : Number(values.workers);
const faults = Number(values.faults ?? (values.short ? 0.02 : 0));
const LIMIT = 300_000; // for one run that never ends
const every = values.short ? 150 : Number(values.every);
const started = performance.now();
const seconds = () => ((performance.now() - started) / 1000).toFixed(1);
const print = (line: string) => process.stdout.write(`${seconds().padStart(6)} s  ${line}\n`);

/** Numbers from 0 to 1 that follow from the seed (mulberry32). */
let state = Number(values.seed);
function random(): number {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}
const pick = <T>(all: readonly T[]): T | undefined => all[Math.floor(random() * all.length)];

const stage = await createStage({
  ...{ workers, fronts: Number(values.fronts), maxConnections: 300 },
  ...{ queues: ['support', 'sales'], releases: ['1', '2'], faults },
});
const { pool } = stage;

let events = 0;
const kills = { workers: 0, fronts: 0 };
const restarts: Promise<void>[] = [];
const paused = new Set<Member>();
/** The processes that are not paused, with their kind. */
const alive = () =>
  (['workers', 'fronts'] as const).flatMap((kind) =>
    stage[kind].members.filter((member) => !paused.has(member)).map((member) => ({ kind, member })),
  );
const killOne = () => {
  const victim = pick(alive());
  if (!victim) return;
  kills[victim.kind]++;
  restarts.push(stage[victim.kind].kill(victim.member));
};

/** What a page shows, as JSON. */
interface Shown {
  readonly parts: readonly { readonly name?: string; readonly code?: string }[];
}
/** The names of the calls that are said to have an unknown outcome. */
const unknownCalls = ({ parts }: Shown) =>
  parts.flatMap(({ name = '', code }) => (code === 'outcome_unknown' ? [name] : []));
const withoutCalls = (view: Shown, names: readonly string[]) => ({
  ...view,
  parts: view.parts.map((part) => (names.includes(part.name ?? '') ? part.name : part)),
});

/** Executes one conversation of one prompt. Returns what its page shows, and the ids of its runs. */
async function execute(word: string, isDisturbed: boolean) {
  const { page, cut, close, received, runs: ids, trace } = stage.open();
  received.subscribe(() => {
    if (!isDisturbed) return;
    if (++events % every === 0) killOne();
    if (random() < 0.02) cut();
  });
  page.send(word);
  const decided = new Set<string>();
  const end = performance.now() + LIMIT;
  while (performance.now() < end && !['idle', 'failed', 'stopped'].includes(page.view.status)) {
    await pause(50);
    for (const { id } of page.view.waiting)
      if (!decided.has(id)) {
        decided.add(id);
        page.decide(id, { approve: true });
      }
  }
  const { status, exchanges } = page.view;
  close();
  const parts = exchanges.flatMap(({ messages }) => messages.flatMap((message) => message.parts));
  const shown = { status, parts, usage: exchanges.map(({ usage }) => usage) };
  const view = JSON.parse(JSON.stringify(shown).replaceAll(word, 'W')) as Shown;
  return {
    view,
    error: status === 'failed' ? exchanges.map(({ error }) => error) : [],
    runs: [...ids],
    trace,
  };
}
const noted = async () => {
  const { rows } = await pool.query<{ kind: string; key: string }>('select kind, key from noted order by at');
  await pool.query('delete from noted');
  return rows.map(({ kind, key }) => `${kind} ${key}`);
};
const calls = (keys: readonly string[]) => keys.filter((key) => !key.startsWith('request '));
const distinct = (keys: readonly string[]) => new Set(keys).size;

const { view: expected } = await execute('word0x', false);
const expectedCalls = distinct(calls(await noted()));
if (values.trace) print(JSON.stringify(expected));
print(`an undisturbed run has ${expectedCalls} calls`);

/** Ends the connections that hold the locks of the paused processes, as the server does when a machine is lost. */
const endLocks = async () => {
  for (const { name } of paused)
    await pool.query(
      "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted and objid = hashtext($1)::oid",
      [name],
    );
  print('other workers take the runs of the paused one');
};
const disturb = async () => {
  if (values.outage) {
    await pause(5000);
    stage.server.kill();
    print('the database is stopped');
    await pause(5000);
    stage.server.start();
    print('the database is started');
  }
  if (values.pause) {
    await pause(5000);
    for (const kind of ['workers', 'fronts'] as const) {
      const member = pick(stage[kind].members);
      if (member) paused.add(member);
      member?.process.kill('SIGSTOP');
    }
    print('a worker and a front are paused');
    await pause(20_000);
    if (values.lost) await endLocks();
    await pause(20_000);
    for (const member of paused) member.process.kill('SIGCONT');
    paused.clear();
    print('they continue');
  }
};
const disturbance = disturb();
/** A conversation whose prompt kills its worker. Resolves with the status of its page, and the ids of its runs. */
const poison = async (word: string) => {
  const { runs: ids, view } = await execute(word, false);
  return { ids, isFailed: (view as unknown as { readonly status: string }).status === 'failed' };
};
const poisons = Promise.all(Array.from({ length: Number(values.poison) }, (_, index) => poison(`poison${index}x`)));
const outcomes = await Promise.all(Array.from({ length: runs }, (_, index) => execute(`word${index + 1}x`, true)));
const duration = seconds();
await disturbance;
await Promise.all(restarts);
const poisoned = await poisons;
interface SetAside {
  readonly id: string;
  readonly state: string;
}
const { rows: aside } = await pool.query<SetAside>(
  "select id, state from rivulet_records where state in ('dead', 'parked')",
);
const { rows: foreign } = await pool.query<{ key: string }>(
  `select key from noted join rivulet_records on rivulet_records.kind = 'run' and position(id in key) > 0 and noted.kind <> 'pay'
   where record::json->'durable'->>'queue' <> queue`,
);
const executed = await noted();

const made = calls(executed);
const problems: string[] = [];
let unknown = 0;
for (const [index, { view, error, runs: ids, trace }] of outcomes.entries()) {
  const names = unknownCalls(view);
  if (names.length > 0) unknown++;
  const own = distinct(made.filter((key) => ids.some((id) => key.includes(id))));
  // A call whose outcome is unknown may not have been executed.
  const hasAllCalls = own <= expectedCalls && own >= expectedCalls - names.length;
  if (hasAllCalls && isDeepStrictEqual(withoutCalls(view, names), withoutCalls(expected, names))) continue;
  problems.push(`${index + 1}: ${own} calls, ${ids.join(' ')} ${inspect(error)} ${JSON.stringify(view)}`);
  if (values.trace) {
    for (const line of trace) print(`${index + 1} ${line}`);
    await traceRuns(ids);
  }
}
const repeated = made.filter((key, index) => made.indexOf(key) !== index);
// `pay` needs an approval, so it is `atMostOnce` too.
for (const key of repeated) if (/^(charge|pay) /.test(key)) problems.push(`executed twice: ${key}`);
if (distinct(made) > runs * expectedCalls) problems.push('there are calls of no run');
for (const { ids, isFailed } of poisoned) {
  const isDead = ids.every((id) => aside.some((each) => each.id === id && each.state === 'dead'));
  if (!isFailed || !isDead)
    problems.push(`the poison ${ids.join(' ')} ${isFailed ? 'is not a dead letter' : 'goes on'}`);
}
/** DBOS forgets the runs that have ended, and keeps those that were set aside. */
const workflows = async () => {
  const { rows } = await pool.query<{ id: string; status: string }>(
    'select workflow_uuid as id, status from dbos.workflow_status',
  );
  return rows;
};
for (const end = performance.now() + 20_000; performance.now() < end && (await workflows()).length > aside.length;)
  await pause(500);
const left = await workflows();
for (const { id, status } of left)
  if (!aside.some((each) => each.id === id)) problems.push(`DBOS keeps a run: ${id} ${status}`);
for (const { id } of aside)
  if (!left.some((each) => each.id === id)) problems.push(`DBOS has forgotten the dead letter ${id}`);
const isPoison = (id: string) => poisoned.some(({ ids }) => ids.includes(id));
for (const { id, state: how } of aside) if (!isPoison(id)) problems.push(`an innocent run is ${how}: ${id}`);
for (const { key } of foreign) problems.push(`a worker of another queue has executed ${key}`);
if (stage.workers.losses() > 0) problems.push(`${stage.workers.losses()} workers have ended by themselves`);
const requests = executed.length - made.length;
await stage.close();
print(
  `${runs} runs, ${workers} workers, ${values.fronts} fronts, ${events} events, ${kills.workers} workers and ` +
    `${kills.fronts} fronts killed, ${requests} requests, ${made.length} calls (${repeated.length} again with their ` +
    `key), ${unknown} with an unknown outcome, ${problems.length} problems, ended after ${duration} s`,
);
for (const problem of problems.slice(0, 20)) print(`  ${problem.slice(0, 1800)}`);
process.exit(problems.length === 0 ? 0 : 1);

/** Prints what the store and the log have of runs. */
async function traceRuns(ids: readonly string[]) {
  for (const id of ids)
    for (const query of [
      "select record, version from rivulet_records where kind = 'run' and id = $1",
      'select * from rivulet_logs where run = $1',
      'select position, events from rivulet_events where run = $1 order by position',
      'select executor_id, status, recovery_attempts, error from dbos.workflow_status where workflow_uuid = $1',
    ])
      print(`${id} ${JSON.stringify((await pool.query<object>(query, [id])).rows, null, 1)}`);
}
