import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median } from '../statistics.js';
import type { Script, Used } from './serviceProcess.js';

// npm run build && npm run bench:service [-- --beside FOLDER] [-- --rounds 7] [-- --only PATCH]: what a service costs,
// over HTTP on the loopback. FOLDER has an older build, whose processes alternate with those of this one.

const { values } = parseArgs({
  options: {
    beside: { type: 'string' },
    rounds: { type: 'string', default: '7' },
    only: { type: 'string', default: '' },
  },
});
const script = fileURLToPath(new URL('./serviceProcess.ts', import.meta.url));
const roots = ['.', ...(values.beside === undefined ? [] : [values.beside])].map((folder) => resolve(folder));

/** How much worse than the other build a row may be. */
const LIMIT = 1.05;

/** What clients send to a service. */
interface Clients {
  /** Starts a run, or joins it, and reads it to its end, or until it has so many bytes. */
  readonly read: (run: string, script?: Script, bytes?: number) => Promise<void>;
  readonly prompt: (run: string) => Promise<void>;
  /** The same for the service whose store answers later. */
  readonly stored: Pick<Clients, 'read'>;
}

interface Row {
  readonly name: string;
  readonly unit: 'CPU ms' | 'KB of heap';
  /** Prepares the measurement of a process. */
  readonly prepare?: (clients: Clients, runs: readonly string[]) => Promise<void>;
  readonly work: (clients: Clients, runs: readonly string[]) => Promise<void>;
  /** How many units it measures. */
  readonly count: number;
}

const inParallel = async (runs: readonly string[], atOnce: number, work: (run: string) => Promise<void>) => {
  const rest = [...runs];
  const next = async (): Promise<void> => {
    const run = rest.pop();
    if (run === undefined) return;
    await work(run);
    await next();
  };
  await Promise.all(Array.from({ length: atOnce }, next));
};

const script200: Script = { deltas: 200 };
const rows: readonly Row[] = [
  {
    ...{ name: 'a run of 200 deltas, with a reader', unit: 'CPU ms', count: 200 },
    work: ({ read }, runs) => inParallel(runs, 50, (run) => read(run, script200)),
  },
  {
    ...{ name: 'a run of 200 deltas, with 10 readers', unit: 'CPU ms', count: 40 },
    work: ({ read }, runs) =>
      inParallel(runs.slice(0, 40), 10, async (run) => {
        await Promise.all(Array.from({ length: 10 }, () => read(run, script200)));
      }),
  },
  {
    ...{ name: 'a run with a tool, checkpoints, and a store that answers later', unit: 'CPU ms', count: 200 },
    work: ({ stored }, runs) => inParallel(runs, 50, (run) => stored.read(run, { ...script200, tool: true })),
  },
  {
    ...{ name: 'a late reader of 1 MB', unit: 'CPU ms', count: 50 },
    prepare: ({ read }, [run = '']) => read(run, { deltas: 100_000 }),
    work: ({ read }, [run = '']) =>
      inParallel(
        Array.from({ length: 50 }, () => run),
        5,
        (each) => read(each),
      ),
  },
  {
    ...{ name: 'a PATCH to a live run', unit: 'CPU ms', count: 1000 },
    prepare: ({ read }, runs) => inParallel(runs.slice(0, 10), 10, (run) => read(run, { deltas: 10, open: true }, 100)),
    work: ({ prompt }, runs) =>
      inParallel(runs.slice(0, 10), 10, async (run) => {
        for (let n = 0; n < 100; n++) await prompt(run);
      }),
  },
  {
    ...{ name: 'a live run of 200 deltas', unit: 'KB of heap', count: 80 },
    work: ({ read }, runs) => inParallel(runs.slice(0, 80), 20, (run) => read(run, { ...script200, open: true }, 2000)),
  },
];

function clientsOf(port: number, agent: Agent): Clients {
  const send = (path: string, method: string, run: string, input?: string, bytes = Infinity): Promise<void> =>
    new Promise((resolve, reject) => {
      const headers = { 'x-run-id': run, 'content-type': 'application/json' };
      const sent = request({ port, path, method, headers, agent }, (response) => {
        if (response.statusCode !== 200 && response.statusCode !== 204)
          reject(new Error(`${method}: ${response.statusCode}`));
        let received = 0;
        response.on('data', (data: Buffer) => {
          received += data.length;
          if (received >= bytes) resolve(); // it stays open
        });
        response.on('end', resolve).on('error', reject);
      });
      sent.on('error', reject);
      sent.end(input === undefined ? '' : JSON.stringify({ input }));
    });
  const readFrom =
    (path: string): Clients['read'] =>
    (run, asked, bytes) =>
      send(path, 'POST', run, asked && JSON.stringify(asked), bytes);
  return {
    read: readFrom('/'),
    prompt: (run) => send('/', 'PATCH', run, 'And then?'),
    stored: { read: readFrom('/stored') },
  };
}

async function measure(root: string, { prepare, work, unit, count }: Row): Promise<number> {
  const child = fork(script, [root], {
    execArgv: ['--import', 'tsx', '--expose-gc', '--disable-warning=DeprecationWarning'],
  });
  const [port] = (await once(child, 'message')) as [number];
  const agent = new Agent({ keepAlive: true });
  const clients = clientsOf(port, agent);
  const round = async () => {
    const runs = Array.from({ length: 200 }, () => crypto.randomUUID());
    await prepare?.(clients, runs);
    const before = await used(child);
    await work(clients, runs);
    const after = await used(child);
    return unit === 'CPU ms' ? (after.cpu - before.cpu) / 1000 / count : (after.heap - before.heap) / 1024 / count;
  };
  if (unit === 'CPU ms') await round(); // compiles
  const value = await round();
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
  agent.destroy();
  return value;
}

async function used(child: ChildProcess): Promise<Used> {
  child.send('used');
  const [value] = (await once(child, 'message')) as [Used];
  return value;
}

let isWithin = true;
console.log(
  `| for each | this build | ${roots.length > 1 ? 'beside | ratio |' : ''}\n|---|---|${roots.length > 1 ? '---|---|' : ''}`,
);
for (const row of rows.filter(({ name }) => name.includes(values.only))) {
  const measured = roots.map((): number[] => []);
  for (let round = 0; round < Number(values.rounds); round++)
    for (const [at, root] of roots.entries()) measured[at]?.push(await measure(root, row));
  const medians = measured.map((each) => median(each));
  const [own = NaN, other] = medians;
  const ratio = other === undefined ? undefined : own / other;
  if (ratio !== undefined && !(ratio <= LIMIT)) isWithin = false;
  const cells = [...medians.map((value) => `${value.toFixed(2)} ${row.unit}`), ...(ratio ? [ratio.toFixed(2)] : [])];
  console.log(`| ${row.name} | ${cells.join(' | ')} |`);
}
process.exitCode = isWithin ? 0 : 1;
process.exit();
