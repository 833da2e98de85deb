/**
 * The client process: one library, one case. It receives its task as JSON in the arguments, and prints its finding as
 * one line of JSON. It runs without a compiler, so that its times contain only the library and the case.
 */
import { continues, quantile } from '../statistics.js';
import { measure, caseOf } from './cases.js';
import type { Job, Library } from './job.js';

/** The task of a client process. */
export interface Task {
  /** The library's module, and the name of the exported function. */
  readonly module: string;
  readonly library: string;
  /** Another library that runs in turn with it in the same process. */
  readonly against?: { readonly module: string; readonly library: string };
  readonly server: string;
  readonly case: string;
  /** The number of runs before the measured ones. */
  readonly warmups: number;
  /** The largest number of measured runs. 0: only the import is measured. */
  readonly runs: number;
  /** The CPU milliseconds after which no more runs start, half of them for warm-ups. */
  readonly budget: number;
  /** The smallest number of warm-ups, and of measured runs, whatever they take. */
  readonly least: number;
}

/** The measurements of a client process. */
export interface Finding {
  /** The cost of each run: CPU milliseconds, or in a latency case milliseconds from the write of a delta to its callback. */
  readonly costs: readonly number[];
  /** The cost of the run of the floor before each. */
  readonly against: readonly number[];
  /** CPU milliseconds of the import. */
  readonly imported: number;
  /** The heap after the import, in MB; in a process with `--expose-gc` without garbage. */
  readonly heap: number;
  /** The largest resident size of the process, in MB. */
  readonly memory: number;
}

const task = JSON.parse(process.argv[2] ?? '{}') as Task;

const ignore = () => undefined;
const question = { role: 'user', text: 'Go on.' } as const;

/** A run with a server that writes the time into each delta. */
async function clockedRun(library: Library, scenario: string, latencies: number[]): Promise<void> {
  const onText: Job['onText'] = (text) => {
    const now = process.hrtime.bigint();
    if (text !== '') latencies.push(Number(now - BigInt(text.trim())) / 1e6);
  };
  const before = latencies.length;
  await library({
    baseUrl: `${task.server}/${scenario}`,
    messages: [question],
    onText,
    onOutput: ignore,
    onPartial: ignore,
  });
  if (latencies.length === before) throw new Error('no text');
}

/** The latency case `paced-50`: the 95th percentile of the deltas of 50 concurrent runs, in milliseconds. */
async function latencyOf(library: Library): Promise<number> {
  const count = Number(task.case.split('-')[1]);
  const latencies: number[] = [];
  await Promise.all(Array.from({ length: count }, () => clockedRun(library, 'paced', latencies)));
  return quantile(latencies, 0.95);
}

/** Runs a case repeatedly. */
async function runsOf(library: Library, other: Library | undefined): Promise<Pick<Finding, 'costs' | 'against'>> {
  const which = task.case.startsWith('paced-') ? undefined : caseOf(task.case);
  const costs: number[] = [];
  const against: number[] = [];
  const { user: begun } = process.cpuUsage();
  const spent = () => (process.cpuUsage().user - begun) / 1000;
  const cost = (one: Library) => (which ? measure(one, which, task.server) : latencyOf(one));
  const measured = async (one: Library | undefined) => (one ? [await cost(one)] : []);
  const { warmups, runs, budget, least } = task;
  for (let warmup = 0; continues(warmup, { least, most: warmups }, spent() >= budget / 2); warmup++)
    for (const one of [other, library]) await measured(one);
  for (let run = 0; continues(run, { least, most: runs }, spent() >= budget); run++) {
    against.push(...(await measured(other)));
    costs.push(...(await measured(library)));
  }
  return { costs, against };
}

async function libraryOf({ module, library }: NonNullable<Task['against']>): Promise<Library> {
  const found = ((await import(module)) as Readonly<Record<string, Library>>)[library];
  if (!found && task.runs > 0) throw new Error(`${module} exports no "${library}"`);
  return found ?? (() => Promise.resolve());
}

async function main(): Promise<Finding> {
  const before = process.cpuUsage();
  const library = await libraryOf(task);
  const { user, system } = process.cpuUsage(before);
  const imported = (user + system) / 1000;
  globalThis.gc?.();
  const heap = process.memoryUsage().heapUsed / 1024 / 1024;
  const other = task.against && (await libraryOf(task.against));
  const runs = task.runs === 0 ? { costs: [], against: [] } : await runsOf(library, other);
  return { ...runs, imported, heap, memory: process.resourceUsage().maxRSS / 1024 };
}

const output = await main().catch((thrown: unknown) => ({
  failure: thrown instanceof Error ? thrown.message : String(thrown),
}));
console.log(JSON.stringify(output));
process.exit('failure' in output ? 1 : 0); // a library may leave connections open
