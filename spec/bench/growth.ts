import { own, partialContestants, partialInProcess, rivulet } from './contestants.js';
import type { Contestant } from './contestants.js';
import { runRounds, scoresOf } from './measure.js';
import { measured } from './report.js';
import type { Growth } from './report.js';
import { exponent } from './statistics.js';

/** What grows, and how it is measured. */
interface Kind {
  /** Of its cases' names. Default: its own. */
  readonly case?: string;
  readonly sizes: readonly number[];
  readonly warmups: number;
  readonly runs: number;
  /** Who takes part. Default: the floor and Rivulet. */
  readonly contestants?: readonly Contestant[];
  /** Which two sizes `--quick` takes. Default: it leaves this out. */
  readonly quick?: readonly [number, number];
}

const records = [650, 1_300, 2_600, 5_200, 10_500]; // 64 KB to 1 MB

const kinds = {
  text: { sizes: [5_000, 10_000, 20_000, 40_000, 80_000], warmups: 5, runs: 5, quick: [0, 2] },
  arguments: { sizes: [50_000, 100_000, 200_000, 400_000, 800_000], warmups: 2, runs: 3, quick: [0, 2] },
  history: { sizes: [10, 30, 100, 300, 1_000], warmups: 10, runs: 15, quick: [2, 4] },
  'partial output': { case: 'records', sizes: records, warmups: 2, runs: 3, contestants: partialContestants('output') },
  'partial arguments': {
    case: 'recordcall',
    sizes: records,
    warmups: 2,
    runs: 3,
    contestants: partialContestants('toolArguments'),
  },
  'partial objects in process': {
    case: 'oneread',
    sizes: records,
    warmups: 30,
    runs: 15,
    contestants: partialInProcess,
  },
} satisfies Record<string, Kind>;

/** What grows. */
export type Growing = keyof typeof kinds;
const kindOf = (kind: Growing): Kind => kinds[kind];
export const growing = Object.keys(kinds) as readonly Growing[];
/** What of it `--quick` measures. */
export const quicklyGrowing = growing.filter((kind) => kindOf(kind).quick);

/** How thoroughly. */
interface Care {
  readonly rounds: number;
  /** Milliseconds in each process. */
  readonly budget: number;
  /** Two sizes only. */
  readonly quick?: boolean;
}

const least = (values: readonly number[]) => Math.min(...values);

/**
 * The exponents with which CPU time grows. Of a history, all grows that a request holds: the floor's exponent stands beside. It does of partial objects, too:
 * the larger what lives, the more the collector copies, a fifth of the time at 64 KB and more than half at 1 MB. The least of all runs stands
 * for a size: what the collector or the machine adds to one of them is no growth.
 */
export async function measureGrowth(
  kind: Growing,
  server: string,
  { rounds, budget, quick = false }: Care,
): Promise<readonly Growth[]> {
  const { case: name = kind, sizes, warmups, runs, contestants = own.openai, quick: places } = kindOf(kind);
  const points = new Map<string, [number, number][]>();
  for (const size of quick ? sizes.filter((_, place) => places?.includes(place)) : sizes) {
    const found = await runRounds(
      quick ? [rivulet] : contestants,
      { case: `${name}-${size}`, warmups, runs, rounds, budget },
      server,
    );
    for (const { title, value, failure } of scoresOf(found, ({ cpu }) => least(cpu), least)) {
      if (value === undefined) throw new Error(`${title}, ${kind} of ${size}: ${failure}`);
      points.set(title, [...(points.get(title) ?? []), [size, value]]);
    }
  }
  return [...points].map(([title, costs]) => ({
    name: `${kind}, ${title}`,
    points: costs,
    exponent: exponent(costs),
    ...(title.startsWith('Rivulet') && kind !== 'history' ? { limit: 1.1 } : {}),
    ...measured(),
  }));
}
