import { isDeepStrictEqual, parseArgs } from 'node:util';
import { Subject } from 'rxjs';
import { createStage, pause } from './stage.js';

// npm run durable [-- --every 1] [-- --trace]: kills the worker that executes a run at its events (text, parallel tools,
// a sub-agent, an approval, a typed output with a repair), and compares what its page shows, and what was executed,
// with an undisturbed run. `--every 6` takes each sixth event.

const { values } = parseArgs({ options: { every: { type: 'string', default: '1' }, trace: { type: 'boolean' } } });
const every = Number(values.every);
const print = (line: string) => process.stdout.write(`${line}\n`);
const started = performance.now();
const stage = await createStage({ workers: 2 });

interface Outcome {
  readonly view: object;
  readonly noted: readonly string[];
  readonly events: number;
  readonly kills: number;
}

/** Runs a conversation of one prompt, and kills its worker at an event. */
async function execute(word: string, killAt = Infinity): Promise<Outcome> {
  const received = new Subject<number>();
  let kills = 0;
  let events = 0;
  const { page, cut, close } = stage.open(received);
  let killing: Promise<unknown> = Promise.resolve();
  received.subscribe((count) => {
    events = count;
    if (count !== killAt) return;
    killing = stage.killExecutor().then((killed) => {
      if (killed) kills++;
      if (killed && count % 2 === 0) cut();
      return killed?.restarted;
    });
  });
  page.send(word);
  const decided = new Set<string>();
  const end = performance.now() + 40_000;
  while (performance.now() < end) {
    await pause(20);
    if (['idle', 'failed', 'stopped'].includes(page.view.status)) break;
    for (const { id } of page.view.waiting)
      if (!decided.has(id)) {
        decided.add(id);
        page.decide(id, { approve: true });
      }
  }
  await killing;
  const exchanges = page.view.exchanges;
  const { rows } = await stage.pool.query<{ kind: string; key: string }>('select kind, key from noted order by at');
  await stage.pool.query('delete from noted');
  close();
  const parts = exchanges.flatMap(({ messages }) => messages.flatMap(({ parts: all }) => all));
  return {
    view: JSON.parse(
      JSON.stringify({ status: page.view.status, parts, usage: exchanges.map(({ usage }) => usage) }).replaceAll(
        word,
        'W',
      ),
    ) as object,
    noted: rows.map(({ kind, key }) => `${kind} ${key.replace(/[0-9a-f]{32}/, 'run').replace(word, 'W')}`),
    events,
    kills,
  };
}

const problems: string[] = [];
const expected = await execute('w0');
print(`undisturbed: ${expected.events} events, ${expected.noted.length} steps`);
if (values.trace) print(JSON.stringify(expected, null, 1));
const distinct = (noted: readonly string[]) => [...new Set(noted)].sort();
let kills = 0;
let unknown = 0;
let runs = 0;
for (let at = 1; at <= expected.events; at += every) {
  const outcome = await execute(`w${at}`, at);
  runs++;
  kills += outcome.kills;
  const isUnknown = JSON.stringify(outcome.view).includes('outcome_unknown');
  if (isUnknown) unknown++;
  const report = (problem: string) => {
    problems.push(`killed at event ${at}: ${problem}`);
    if (values.trace) print(`${at}: ${problem}\n${JSON.stringify(outcome, null, 1)}`);
  };
  if (!isUnknown && !isDeepStrictEqual(outcome.view, expected.view)) report('the view differs');
  if (!isDeepStrictEqual(distinct(outcome.noted), distinct(expected.noted))) report('other requests or calls');
  const repeated = outcome.noted.filter((key, index) => outcome.noted.indexOf(key) !== index);
  if (repeated.length > 2) report(`repeated: ${repeated.join(', ')}`);
  const twice = repeated.filter((key) => /^(pay|charge) /.test(key));
  if (twice.length > 0) report(`executed twice: ${twice.join(', ')}`);
}
await stage.close();
const seconds = ((performance.now() - started) / 1000).toFixed(0);
print(`${runs} runs, ${kills} kills, ${unknown} with an unknown outcome, ${problems.length} problems, ${seconds} s`);
for (const problem of problems.slice(0, 30)) print(`  ${problem}`);
process.exit(problems.length === 0 ? 0 : 1);
