import type { Finding } from './client/main.js';
import { contestants, imported, partialInProcess } from './contestants.js';
import type { Contestant, Job } from './contestants.js';
import type { Plan, Reading } from './measure.js';
import { median } from './statistics.js';
import type { Api } from './wire.js';

/** A case of the benchmark, and the value that is read from it. */
export interface Planned extends Plan {
  readonly reading: Reading;
  readonly contestants: readonly Contestant[];
}

/** A case that is measured on several wires. */
interface Shape extends Plan {
  /** Its row in docs/performance.md. */
  readonly row: string;
  /**
   * The largest ratio of Rivulet that the project accepts, on every wire or on each. Default: none; it must be less than
   * that of any peer.
   */
  readonly limit?: number | Readonly<Partial<Record<Api, number>>>;
  /** Default: OpenAI's and Anthropic's. */
  readonly wires?: readonly Api[];
  /** Default: complete runs. */
  readonly job?: Job;
  /** Its smaller variant in `--quick`. Default: none. */
  readonly quick?: string;
}

/** The names of the wires. */
export const wireNames: Readonly<Record<Api, string>> = {
  openai: "OpenAI's wire",
  anthropic: "Anthropic's wire",
  google: "Google's wire",
};

export const both: readonly Api[] = ['openai', 'anthropic'];
const all: readonly Api[] = [...both, 'google'];

const cost = ({ costs }: Finding) => median(costs);
const memory = ({ memory: most }: Finding) => most;

/** So many runs that the budget ends a process. */
export const many = { warmups: 1_000, runs: 1_000, rounds: 2 };
/** For cases whose runs take so long that they need more time to be compiled. */
const large = { ...many, budget: 4_000 };
/** For short responses: V8 compiles what runs once in each only after thousands of them. */
const short = { ...many, budget: 6_000 };
/** 1,000 turns from the start of a process, in which the compiler takes as much CPU time as the work. */
const firstTurns = { warmups: 0, runs: 20, least: 20, rounds: 2, peerRounds: 2 };
/** The 2,000 turns after the first 2,000 of a process. */
const laterTurns = { ...firstTurns, warmups: 40, runs: 40, least: 40 };
/** One run in a new process. */
const first = { warmups: 0, runs: 1, rounds: 7, peerRounds: 7, alone: true } as const;
/** After one run, the peak depends on whether the garbage collector has run. */
const afterThree = { warmups: 3, runs: 1, rounds: 3, budget: 30_000, alone: true } as const;

/** The cases of CPU time. */
export const shapes: readonly Shape[] = [
  { ...short, case: 'text-5', row: 'text, 5 deltas', wires: all },
  { ...short, case: 'text-50', row: 'text, 50 deltas', wires: all, quick: 'text-50' },
  { ...many, case: 'text-500', row: 'text, 500 deltas', wires: all },
  {
    ...many,
    case: 'text-20000',
    row: 'text, 20,000 deltas',
    wires: all,
    limit: { openai: 1.05, anthropic: 1, google: 1 },
    quick: 'text-5000',
  },
  { ...first, case: 'text-500', row: 'first run of a process, 500 deltas', limit: 1.4, quick: 'text-500' },
  {
    ...large,
    case: 'arguments-400000',
    row: 'arguments, 400 KB in 8 calls',
    limit: { openai: 0.65, anthropic: 0.8 },
    quick: 'arguments-100000',
  },
  { ...firstTurns, case: 'rounds-50', row: '50 rounds, the first 1,000 turns of a process' },
  { ...laterTurns, case: 'rounds-50', row: '50 rounds, after 2,000 turns of a process' },
  { ...short, case: 'rounds-50', row: '50 rounds', limit: { openai: 1.6, anthropic: 1.7 }, quick: 'rounds-20' },
  { ...short, case: 'talks-50', row: '50 rounds with 20 deltas each', limit: 1.35, quick: 'talks-20' },
  { ...short, case: 'past-20', row: '20 rounds after 300 messages', limit: 1.35, quick: 'past-5' },
  {
    ...large,
    case: 'concurrent-200',
    row: '200 concurrent runs of 500 deltas',
    limit: { openai: 1.2, anthropic: 1.4 },
    quick: 'concurrent-50',
  },
  { ...short, case: 'typed-20', row: 'typed output, 20 records', quick: 'typed-20' },
  {
    ...many,
    case: 'records-500',
    row: 'partial output, 500 records',
    limit: 2,
    job: 'PartialOutput',
    quick: 'records-500',
  },
  { ...many, case: 'recordcall-500', row: 'partial arguments, 500 records', limit: 2, job: 'PartialArguments' },
];

const measuredShapes = shapes.flatMap(({ row, limit, wires = both, job, ...plan }) =>
  wires.map((wire): Planned => {
    const place = [`CPU time, ${wireNames[wire]}`, row] as const;
    const reading: Reading = { name: `${row}, ${wireNames[wire]}`, unit: 'CPU ms', place, read: cost };
    const most = typeof limit === 'object' ? limit[wire] : limit;
    return {
      ...plan,
      contestants: contestants(wire, job),
      reading: { ...reading, ...(most === undefined ? {} : { limit: most }) },
    };
  }),
);

/** The latency and the memory on each wire. */
const around = both.flatMap((wire): readonly Planned[] => {
  const reading = (row: string, unit: string, limit: number, read: Reading['read']): Reading => ({
    name: `${row}, ${wireNames[wire]}`,
    unit,
    place: [`Latency and memory, ${wireNames[wire]}`, row],
    limit,
    read,
  });
  const everyone = { contestants: contestants(wire) };
  return [
    {
      ...everyone,
      ...many,
      runs: 15,
      warmups: 5,
      case: 'paced-50',
      reading: reading('p95 from write to callback, 50 concurrent runs', 'ms', 1.7, cost),
    },
    {
      ...everyone,
      ...afterThree,
      case: 'text-20000',
      reading: reading('peak memory, text of 20,000 deltas', 'MB', 1.2, memory),
    },
    {
      ...everyone,
      ...afterThree,
      case: 'concurrent-200',
      reading: reading('peak memory, 200 concurrent runs', 'MB', 1.2, memory),
    },
  ];
});

/**
 * Partial objects without a wire, compared with a hand-written parser: with all deltas in one read, and with one read
 * per delta.
 */
const inProcess = (['oneread', 'reads'] as const).map((kind): Planned => ({
  ...many,
  rounds: 3,
  case: `${kind}-2000`,
  contestants: partialInProcess,
  reading: {
    name: `partial objects in process, 200 KB, ${kind === 'reads' ? 'a read each' : 'one read'}`,
    unit: 'CPU ms',
    limit: 2,
    read: cost,
  },
}));

/** All cases except those of growth. */
export const plans: readonly Planned[] = [
  ...measuredShapes,
  ...around,
  ...inProcess,
  {
    ...first,
    runs: 0,
    case: '',
    contestants: imported,
    reading: { name: 'import of the whole library', unit: 'CPU ms', limit: 1.25, read: ({ imported: time }) => time },
  },
];
