import { floor, partialContestants, partialInProcess, rivulet } from './contestants.js';
import type { Contestant } from './contestants.js';
import { measureCase } from './measure.js';
import type { Growth } from './report.js';
import { exponent } from './statistics.js';

const records = [650, 1_300, 2_600, 5_200, 10_500]; // 64 KB to 1 MB

const kinds = {
  text: { sizes: [5_000, 10_000, 20_000, 40_000, 80_000], warmups: 5, runs: 5 },
  arguments: { sizes: [50_000, 100_000, 200_000, 400_000, 800_000], warmups: 2, runs: 3 },
  history: { sizes: [10, 30, 100, 300, 1_000], warmups: 10, runs: 15 },
  'partial output': { case: 'records', sizes: records, warmups: 2, runs: 3, contestants: partialContestants('output'), quick: false },
  'partial arguments': {
    case: 'recordcall',
    sizes: records,
    warmups: 2,
    runs: 3,
    contestants: partialContestants('toolArguments'),
    quick: false,
  },
  'partial objects in process': { case: 'oneread', sizes: records, warmups: 30, runs: 15, contestants: partialInProcess },
};

interface Kind {
  /** Of its cases' names. Default: its own. */
  readonly case?: string;
  readonly sizes: readonly number[];
  readonly warmups: number;
  readonly runs: number;
  readonly contestants?: readonly Contestant[];
  /** Part of `--quick`. Default: yes. */
  readonly quick?: boolean;
}

/**
 * The exponents with which CPU time grows. Of a history, all grows that a request holds: the floor's exponent stands beside. It does of partial objects, too: the
 * larger what lives, the more the collector copies, a fifth of the time at 64 KB and more than half at 1 MB.
 */
export async function measureGrowth(server: string, quick: boolean, only: string): Promise<readonly Growth[]> {
  const growth: Growth[] = [];
  const chosen = Object.entries<Kind>(kinds).filter(([kind, { quick: isQuick = true }]) => kind.startsWith(only) && (isQuick || !quick));
  for (const [kind, { case: name = kind, sizes: all, warmups, runs, contestants = [floor, rivulet] }] of chosen) {
    const points = quick ? all.filter((_, at) => at === 1 || at === 3) : all;
    const measured = new Map<string, [number, number][]>();
    for (const size of points) {
      const plan = { case: `${name}-${size}`, warmups: quick ? 1 : warmups, runs: quick ? 2 : runs, rounds: quick ? 1 : 3 };
      for (const { title, value, failure } of await measureCase(contestants, plan, server)) {
        if (value === undefined) throw new Error(`${title}, ${kind} of ${size}: ${failure}`);
        measured.set(title, [...(measured.get(title) ?? []), [size, value]]);
      }
    }
    for (const [title, found] of measured) growth.push({ name: `${kind}, ${title}`, points: found, exponent: exponent(found) });
  }
  return growth;
}
