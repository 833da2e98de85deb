import { isDeepStrictEqual, parseArgs } from 'node:util';
import { createStage, pause } from './stage.js';

// npm run durable:chaos [-- --runs 200] [-- --workers 4] [-- --every 500] [-- --seed 1] [-- --outage] [-- --pause]
// [-- --short]: many conversations at once on two fronts, whose readers reconnect at random. A random worker is killed
// with SIGKILL at each 500th event that a reader receives. `--outage` stops the database for 5 seconds in the middle,
// `--pause` a worker with SIGSTOP for 40 seconds. Each run must end with the view of an undisturbed one, or with the
// outcome that is said to be unknown, and no call may be executed twice: see `problemsOf`.

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    workers: { type: 'string', default: '4' },
    every: { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
    outage: { type: 'boolean' },
    pause: { type: 'boolean' },
    short: { type: 'boolean' },
  },
});
const runs = values.short ? 20 : Number(values.runs);
const workers = values.short ? 2 : Number(values.workers);
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

const stage = await createStage({ maxConnections: 300 });
for (let worker = 1; worker < workers; worker++) await stage.startWorker();

let events = 0;
let kills = 0;
const restarts: Promise<unknown>[] = [];
const killOne = () => {
  const worker = pick(stage.workers.filter(({ process }) => process !== paused?.process));
  if (!worker) return;
  stage.workers.splice(stage.workers.indexOf(worker), 1);
  worker.process.kill('SIGKILL');
  kills++;
  restarts.push(stage.startWorker());
};
let paused: (typeof stage.workers)[number] | undefined;

/** Executes one conversation of one prompt, and returns what its page shows. */
async function execute(word: string, isDisturbed: boolean) {
  const { page, cut, close, received } = stage.open();
  received.subscribe(() => {
    if (!isDisturbed) return;
    if (++events % every === 0) killOne();
    if (random() < 0.02) cut();
  });
  page.send(word);
  const decided = new Set<string>();
  const end = performance.now() + 300_000;
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
  const view = { status, parts, usage: exchanges.map(({ usage }) => usage) };
  return JSON.parse(JSON.stringify(view).replaceAll(word, 'W')) as object;
}
const noted = async () => {
  const { rows } = await stage.pool.query<{ kind: string; key: string }>('select kind, key from noted');
  await stage.pool.query('delete from noted');
  return rows.map(({ kind, key }) => `${kind} ${key}`);
};
const calls = (keys: readonly string[]) => keys.filter((key) => !key.startsWith('request '));
const distinct = (keys: readonly string[]) => new Set(keys).size;

const expected = await execute('w', false);
const expectedCalls = distinct(calls(await noted()));
print(`an undisturbed run has ${expectedCalls} calls`);

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
    paused = pick(stage.workers);
    paused?.process.kill('SIGSTOP');
    print('a worker is paused');
    await pause(40_000);
    paused?.process.kill('SIGCONT');
    paused = undefined;
    print('it continues');
  }
};
const disturbance = disturb();
const views = await Promise.all(Array.from({ length: runs }, (_, index) => execute(`word${index}x`, true)));
await disturbance;
await Promise.all(restarts);
const executed = await noted();

const problems: string[] = [];
let unknown = 0;
for (const [index, view] of views.entries()) {
  const isUnknown = JSON.stringify(view).includes('outcome_unknown');
  if (isUnknown) unknown++;
  if (!isUnknown && !isDeepStrictEqual(view, expected)) problems.push(`${index}: ${JSON.stringify(view)}`);
}
const made = calls(executed);
const lost = runs * expectedCalls - distinct(made);
if (lost !== 0) problems.push(`${lost} calls are missing (below 0: have another key)`);
const repeated = made.filter((key, index) => made.indexOf(key) !== index);
for (const key of repeated) if (key.startsWith('charge ')) problems.push(`executed twice: ${key}`);
const requests = executed.length - made.length;
await stage.close();
print(
  `${runs} runs, ${workers} workers, ${events} events, ${kills} kills, ${requests} requests, ${made.length} calls ` +
    `(${repeated.length} again with their key), ${unknown} with an unknown outcome, ${problems.length} problems`,
);
for (const problem of problems.slice(0, 20)) print(`  ${problem.slice(0, 1500)}`);
process.exit(problems.length === 0 ? 0 : 1);
