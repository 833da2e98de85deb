import { baseContestants } from './contestants.js';
import type { Job } from './contestants.js';
import { findingsOf, runRounds } from './measure.js';
import { many, wireNames } from './plans.js';
import { measured } from './report.js';
import type { Growth } from './report.js';
import { exponent } from './statistics.js';
import type { Api } from './wire.js';

/** A series of cases of growing size. */
interface Kind {
  /** The prefix of the cases' names. Default: the name of the series. */
  readonly case?: string;
  readonly sizes: readonly number[];
  /** Default: complete runs. */
  readonly job?: Job;
  /** The largest exponent of Rivulet that the project accepts. Default: 1.1. */
  readonly limit?: null;
  /** The two sizes (by index) that `--quick` measures. Default: `--quick` omits the series. */
  readonly quick?: readonly [number, number];
}

const records = [650, 1_300, 2_600, 5_200, 10_500]; // 64 KB to 1 MB

const kinds = {
  text: { sizes: [5_000, 10_000, 20_000, 40_000, 80_000], quick: [0, 2] },
  arguments: { sizes: [50_000, 100_000, 200_000, 400_000, 800_000] },
  rounds: { sizes: [10, 20, 40, 80, 160], quick: [1, 3] },
  history: { sizes: [10, 30, 100, 300, 1_000], limit: null },
  'partial output': { case: 'records', sizes: records, job: 'PartialOutput' },
  'partial arguments': { case: 'recordcall', sizes: records, job: 'PartialArguments' },
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
  /** CPU milliseconds per process. */
  readonly budget: number;
  /** The smallest number of warm-ups, and of measured runs. Default: 1. */
  readonly least?: number;
  /** Measures two sizes only. */
  readonly quick?: boolean;
}

/**
 * Returns the exponents with which CPU time grows. They have no limit for a history, whose requests grow as well, so
 * that the floor's exponent is the reference; nor has the floor. For partial objects, the garbage collector copies more
 * the more objects live: a fifth of the time at 64 KB, more than half at 1 MB. The value of a size is the minimum of
 * all runs: what the collector or other processes add to a single run is not growth.
 */
export async function measureGrowth(
  kind: Growing,
  wire: Api,
  server: string,
  { rounds, budget, least = 1, quick = false }: Effort,
): Promise<readonly Growth[]> {
  const { case: name = kind, sizes, job, limit = 1.1, quick: places } = kindOf(kind);
  const [floor, rivulet] = baseContestants(wire, job);
  const points = new Map<string, [number, number][]>();
  for (const size of quick ? sizes.filter((_, place) => places?.includes(place)) : sizes) {
    const plan = { ...many, case: `${name}-${size}`, rounds, budget, least };
    const found = await runRounds([floor, rivulet], plan, server);
    const failure = found.get(rivulet)?.failure;
    if (failure !== undefined) throw new Error(`${kind} of ${size}: ${failure}`);
    for (const one of [floor, rivulet]) {
      const cost = Math.min(...findingsOf(found, one).flatMap(({ costs }) => costs));
      points.set(one.title, [...(points.get(one.title) ?? []), [size, cost]]);
    }
  }
  return [...points].map(([title, costs]) => ({
    name: `${kind}, ${wireNames[wire]}, ${title}`,
    points: costs,
    exponent: exponent(costs),
    ...(title === rivulet.title && limit !== null ? { limit } : {}),
    ...measured(),
  }));
}
