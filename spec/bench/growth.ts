import type { Contestant } from './contestants.js';
import { runRounds, scoresOf } from './measure.js';
import { measured } from './report.js';
import type { Growth } from './report.js';
import { exponent } from './statistics.js';

const kinds = {
  text: { sizes: [5_000, 10_000, 20_000, 40_000, 80_000], warmups: 5, runs: 5, quick: [0, 2] },
  arguments: { sizes: [50_000, 100_000, 200_000, 400_000, 800_000], warmups: 2, runs: 3, quick: [0, 2] },
  history: { sizes: [10, 30, 100, 300, 1_000], warmups: 10, runs: 15, quick: [2, 4] },
} as const;

/** What grows. */
export const growing = Object.keys(kinds) as readonly (keyof typeof kinds)[];

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
 * The exponents with which CPU time grows. Of a history, all grows that a request holds: the floor's exponent stands beside. The least of all runs stands
 * for a size: what the collector or the machine adds to one of them is no growth.
 */
export async function measureGrowth(
  kind: keyof typeof kinds,
  contestants: readonly Contestant[],
  server: string,
  { rounds, budget, quick = false }: Care,
): Promise<readonly Growth[]> {
  const { sizes, warmups, runs, quick: places } = kinds[kind];
  const points = new Map<string, [number, number][]>();
  for (const size of quick ? places.map((place) => sizes[place]) : sizes) {
    const found = await runRounds(contestants, { case: `${kind}-${size}`, warmups, runs, rounds, budget }, server);
    for (const { title, value, failure } of scoresOf(found, ({ cpu }) => least(cpu), least)) {
      if (value === undefined) throw new Error(`${title}, ${kind} of ${size}: ${failure}`);
      points.set(title, [...(points.get(title) ?? []), [size, value]]);
    }
  }
  return [...points].map(([title, costs]) => ({
    name: `${kind}, ${title}`,
    points: costs,
    exponent: exponent(costs),
    ...(title === 'Rivulet' && kind !== 'history' ? { limit: 1.1 } : {}),
    ...measured(),
  }));
}
