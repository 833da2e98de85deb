import { baseContestants, partialContestants, partialInProcess, rivulet } from './contestants.js';
import type { Contestant } from './contestants.js';
import { runRounds, scoresOf } from './measure.js';
import { measured } from './report.js';
import type { Growth } from './report.js';
import { exponent } from './statistics.js';

/** A series of cases of growing size. */
interface Kind {
  /** The prefix of the cases' names. Default: the name of the series. */
  readonly case?: string;
  readonly sizes: readonly number[];
  readonly warmups: number;
  readonly runs: number;
  /** Default: the floor and Rivulet. */
  readonly contestants?: readonly Contestant[];
  /** The two sizes (by index) that `--quick` measures. Default: `--quick` omits the series. */
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

/** The name of a series. */
export type Growing = keyof typeof kinds;
const kindOf = (kind: Growing): Kind => kinds[kind];
export const growing = Object.keys(kinds) as readonly Growing[];
/** The series that `--quick` measures. */
export const quicklyGrowing = growing.filter((kind) => kindOf(kind).quick);

/** The effort of a measurement. */
interface Effort {
  readonly rounds: number;
  /** Milliseconds per process. */
  readonly budget: number;
  /** Measures two sizes only. */
  readonly quick?: boolean;
}

const minimum = (values: readonly number[]) => Math.min(...values);

/**
 * Returns the exponents with which CPU time grows. They have no limit for a history, whose requests grow as well, so
 * that the floor's exponent is the reference; nor has the floor. For partial objects, the garbage collector copies more
 * the more objects live: a fifth of the time at 64 KB, more than half at 1 MB. The value of a size is the minimum of
 * all runs: what the collector or other processes add to a single run is not growth.
 */
export async function measureGrowth(
  kind: Growing,
  server: string,
  { rounds, budget, quick = false }: Effort,
): Promise<readonly Growth[]> {
  const { case: name = kind, sizes, warmups, runs, contestants = baseContestants.openai, quick: places } = kindOf(kind);
  const points = new Map<string, [number, number][]>();
  for (const size of quick ? sizes.filter((_, place) => places?.includes(place)) : sizes) {
    const found = await runRounds(
      quick ? [rivulet] : contestants,
      { case: `${name}-${size}`, warmups, runs, rounds, budget },
      server,
    );
    for (const { title, value, failure } of scoresOf(found, ({ cpu }) => minimum(cpu), minimum)) {
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
