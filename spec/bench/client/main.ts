/**
 * The client process: one library, one case. Its task comes as JSON in the arguments; what it found goes out as one line of JSON. It runs by plain Node, so
 * that nothing but the library and the case is in its times.
 */
import { measure, caseOf } from './cases.js';
import type { Job, Library } from './job.js';

/** What a client process is to do. */
export interface Task {
  /** The library's module, and the function in it. */
  readonly module: string;
  readonly library: string;
  readonly server: string;
  readonly case: string;
  /** Runs before those that count. */
  readonly warmups: number;
  /** Runs that count. 0: nothing but the import is measured. */
  readonly runs: number;
}

/** What it found. */
export interface Finding {
  /** CPU milliseconds of each run. */
  readonly cpu: readonly number[];
  /** Milliseconds of each run by the clock. */
  readonly wall: readonly number[];
  /** Milliseconds from the write of a delta to its callback. */
  readonly latencies: readonly number[];
  /** CPU milliseconds of the import. */
  readonly imported: number;
  /** The largest resident size of the process, in MB. */
  readonly memory: number;
}

/** After so many milliseconds a slow library has done enough runs. */
const patience = 15_000;

const task = JSON.parse(process.argv[2] ?? '{}') as Task;

const ask = { role: 'user', text: 'Go on.' } as const;

/** A run of a server that writes the clock into each delta. */
async function clocked(library: Library, scenario: string, latencies: number[]): Promise<void> {
  const onText: Job['onText'] = (text) => {
    const now = process.hrtime.bigint();
    if (text !== '') latencies.push(Number(now - BigInt(text.trim())) / 1e6);
  };
  await library({ baseUrl: `${task.server}/${scenario}`, messages: [ask], onText, onPartial: () => undefined });
}

/** The latency cases: `first-300`, the first delta of runs one after the other; `paced-50`, all deltas of so many runs at once. */
async function latenciesOf(library: Library): Promise<number[]> {
  const [kind = '', count = '0'] = task.case.split('-');
  const all = async () => {
    const latencies: number[] = [];
    if (kind === 'first') for (let run = 0; run < Number(count); run++) await clocked(library, 'first', latencies);
    else await Promise.all(Array.from({ length: Number(count) }, () => clocked(library, 'paced', latencies)));
    return latencies;
  };
  for (let warmup = 0; warmup < task.warmups; warmup++) await all();
  return all();
}

async function main(): Promise<Finding> {
  const before = process.cpuUsage();
  const module = (await import(task.module)) as Readonly<Record<string, Library>>;
  const { user, system } = process.cpuUsage(before);
  const cpu: number[] = [];
  const wall: number[] = [];
  const latencies: number[] = [];
  const library = module[task.library];
  if (library && /^(first|paced)-/.test(task.case)) latencies.push(...(await latenciesOf(library)));
  else if (library) {
    const which = caseOf(task.case);
    const began = performance.now();
    for (let run = -task.warmups; run < task.runs; run++) {
      const measured = await measure(library, which, task.server);
      const late = performance.now() - began > patience;
      if (run < 0) {
        if (late) run = -1; // warm enough: one run counts
        continue;
      }
      cpu.push(measured.cpu);
      if (late) run = task.runs;
      wall.push(measured.wall);
    }
  }
  const memory = process.resourceUsage().maxRSS / 1024;
  return { cpu, wall, latencies, imported: (user + system) / 1000, memory };
}

main().then(
  (finding) => {
    console.log(JSON.stringify(finding));
    process.exit(0); // what a library leaves open is not this case's business
  },
  (thrown: unknown) => {
    console.error(thrown instanceof Error ? thrown.message : thrown);
    process.exit(1);
  },
);
