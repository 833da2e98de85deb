import type { Finding } from './client/main.js';
import { imported, partialContestants, partialInProcess, withPartialPeers } from './contestants.js';
import type { Contestant, Wire } from './contestants.js';
import type { Plan, Reading } from './measure.js';
import { median, quantile } from './statistics.js';

/** A case of the benchmark, and the values that are read from it. */
export interface Planned extends Plan {
  readonly readings: readonly Reading[];
  /** Default: `openai`. */
  readonly wire?: Wire;
  /** The first is the base of the ratios. Default: the floor, Rivulet, and the peers. */
  readonly contestants?: readonly Contestant[];
  /** Its smaller variant in `--quick`. Default: none. */
  readonly quick?: Plan;
}

const cpu = ({ cpu: runs }: Finding) => median(runs);
const memory = ({ memory: most }: Finding) => most;
const milliseconds = (share: number) => (finding: Finding) => quantile(finding.latencies, share);

const openaiWire = "CPU time over OpenAI's wire";
const anthropicWire = "CPU time over Anthropic's wire";
const around = 'Latency and memory';
const partial = 'CPU time of partial objects, 500 records';

const cost = (
  name: string,
  limit: number,
  ...[table, column]: [] | [table: string, column: string]
): readonly Reading[] => [
  {
    name,
    unit: 'CPU ms',
    ...(table !== undefined && column !== undefined ? { place: [table, column] as const } : {}),
    limit,
    read: cpu,
  },
];
const peak = (name: string, column: string): readonly Reading[] => [
  { name, unit: 'MB', place: [around, column], limit: 1.25, read: memory },
];

/** Enough warm-ups that late compilation happens before the measured runs. */
const warm = { warmups: 8, runs: 9, rounds: 5 };
/** For slower cases, whose runs do more work. */
const warmSlow = { warmups: 3, runs: 3, rounds: 5 };
const few = { warmups: 2, runs: 4, rounds: 5 };
/** Smaller cases with more runs: other processes disturb fewer of them. */
const quickly = (name: string, warmups: number, runs: number): Plan => ({
  case: name,
  warmups,
  runs,
  rounds: 2,
  budget: 30_000,
});

/**
 * Partial objects without a wire, compared with a hand-written parser: with all deltas in one read, and with one read
 * per delta.
 */
const inProcess = (size: string, records: number, times: Pick<Plan, 'warmups' | 'runs'>): readonly Planned[] =>
  (['one read', 'a read each'] as const).map((reads) => ({
    ...times,
    rounds: 3,
    case: `${reads === 'one read' ? 'oneread' : 'reads'}-${records}`,
    contestants: partialInProcess,
    readings: cost(`partial objects in process, ${reads}: ${size}`, 2),
  }));

/** All cases except those of growth. */
export const plans: readonly Planned[] = [
  {
    ...warm,
    case: 'text-20000',
    quick: quickly('text-5000', 12, 20),
    readings: cost('text: 20,000 deltas', 1.25, openaiWire, 'text'),
  },
  {
    ...warmSlow,
    case: 'arguments-400000',
    quick: quickly('arguments-100000', 4, 8),
    readings: cost('arguments: 400 KB in 8 parallel calls', 1.25, openaiWire, 'arguments'),
  },
  {
    ...warm,
    case: 'rounds-50',
    warmups: 30,
    runs: 15,
    quick: quickly('rounds-20', 20, 40),
    readings: cost('50 tool rounds', 1.35, openaiWire, '50 rounds'),
  },
  {
    ...warmSlow,
    case: 'concurrent-200',
    runs: 5,
    quick: quickly('concurrent-50', 4, 8),
    readings: cost('200 concurrent runs of 500 deltas', 1.25, openaiWire, '200 runs'),
  },
  {
    ...warm,
    case: 'text-20000',
    wire: 'anthropic',
    readings: cost('Anthropic, text: 20,000 deltas', 1.25, anthropicWire, 'text'),
  },
  {
    ...warmSlow,
    case: 'arguments-400000',
    wire: 'anthropic',
    readings: cost('Anthropic, arguments: 400 KB in 8 calls', 1.25, anthropicWire, 'arguments'),
  },
  {
    ...warm,
    case: 'rounds-50',
    warmups: 30,
    runs: 15,
    wire: 'anthropic',
    readings: cost('Anthropic, 50 tool rounds', 1.35, anthropicWire, '50 rounds'),
  },
  {
    ...warmSlow,
    case: 'concurrent-200',
    runs: 5,
    wire: 'anthropic',
    readings: cost('Anthropic, 200 concurrent runs of 500 deltas', 1.25, anthropicWire, '200 runs'),
  },
  {
    ...few,
    case: 'records-2000',
    quick: quickly('records-500', 6, 12),
    contestants: partialContestants('output'),
    readings: cost('partial output: 2,000 records, 200 KB', 2),
  },
  {
    ...few,
    case: 'recordcall-2000',
    contestants: partialContestants('toolArguments'),
    readings: cost('partial arguments: 2,000 records, 200 KB', 2),
  },
  {
    ...few,
    rounds: 2,
    case: 'records-500',
    contestants: withPartialPeers('output'),
    readings: cost('partial output: 500 records', 2, partial, 'output'),
  },
  {
    ...few,
    rounds: 2,
    case: 'recordcall-500',
    contestants: withPartialPeers('toolArguments'),
    readings: cost('partial arguments: 500 records', 2, partial, 'arguments'),
  },
  ...inProcess('64 KB', 650, { warmups: 30, runs: 30 }),
  ...inProcess('200 KB', 2_000, { warmups: 15, runs: 15 }),
  ...inProcess('1 MB', 10_500, { warmups: 5, runs: 7 }),
  // No time includes the import: it has its own case.
  {
    case: 'text-500',
    warmups: 0,
    runs: 1,
    rounds: 15,
    quick: { case: 'text-500', warmups: 0, runs: 1, rounds: 9 },
    readings: cost('the first run of a process: 500 deltas', 1.6, openaiWire, 'first run'),
  },
  {
    case: '',
    warmups: 0,
    runs: 0,
    rounds: 15,
    contestants: imported,
    readings: [
      { name: 'import of the whole library', unit: 'CPU ms', limit: 1.5, read: (finding) => finding.imported },
    ],
  },
  // Four runs in each process: after one, the peak depends on whether the garbage collector has run (78 to 100 MB for
  // the floor; after four, 97 to 100).
  { case: 'text-20000', warmups: 3, runs: 1, rounds: 5, readings: peak('peak memory: text', 'memory, text') },
  {
    case: 'concurrent-200',
    warmups: 3,
    runs: 1,
    rounds: 5,
    readings: peak('peak memory: 200 concurrent runs', 'memory, 200 runs'),
  },
  {
    case: 'first-300',
    warmups: 2,
    runs: 1,
    rounds: 5,
    readings: [
      {
        name: 'first delta, from write to callback: median',
        unit: 'ms',
        place: [around, 'first delta, median'],
        read: milliseconds(0.5),
      },
      {
        name: 'first delta, from write to callback: p99',
        unit: 'ms',
        place: [around, 'p99'],
        read: milliseconds(0.99),
      },
    ],
  },
  {
    case: 'paced-50',
    warmups: 5,
    runs: 4,
    rounds: 9,
    readings: [
      {
        name: 'delta under load, from write to callback: p95',
        unit: 'ms',
        place: [around, 'p95 under load'],
        limit: 1.15,
        read: milliseconds(0.95),
      },
    ],
  },
];
