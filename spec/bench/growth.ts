import { floor, rivulet } from './contestants.js';
import { measureCase } from './measure.js';
import type { Growth } from './report.js';
import { exponent } from './statistics.js';

const sizes = {
  text: { sizes: [5_000, 10_000, 20_000, 40_000, 80_000], warmups: 5, runs: 5 },
  arguments: { sizes: [50_000, 100_000, 200_000, 400_000, 800_000], warmups: 2, runs: 3 },
  history: { sizes: [10, 30, 100, 300, 1_000], warmups: 10, runs: 15 },
} as const;

/** The exponents with which CPU time grows. Of a history, all grows that a request holds: the floor's exponent stands beside. */
export async function measureGrowth(server: string, quick: boolean): Promise<readonly Growth[]> {
  const growth: Growth[] = [];
  for (const [kind, { sizes: all, warmups, runs }] of Object.entries(sizes)) {
    const points = quick ? all.filter((_, at) => at === 1 || at === 3) : all;
    const measured = new Map<string, [number, number][]>();
    for (const size of points) {
      const plan = { case: `${kind}-${size}`, warmups: quick ? 1 : warmups, runs: quick ? 2 : runs, rounds: quick ? 1 : 3 };
      for (const { title, value, failure } of await measureCase([floor, rivulet], plan, server)) {
        if (value === undefined) throw new Error(`${title}, ${kind} of ${size}: ${failure}`);
        measured.set(title, [...(measured.get(title) ?? []), [size, value]]);
      }
    }
    for (const [title, found] of measured) growth.push({ name: `${kind}, ${title}`, points: found, exponent: exponent(found) });
  }
  return growth;
}
