import { isSteep, slower, worse } from './baseline.js';
import { floor, rivulet } from './contestants.js';
import type { Contestant } from './contestants.js';
import { measureGrowth, quicklyGrowing } from './growth.js';
import type { Growing } from './growth.js';
import type { Plan, Score } from './measure.js';
import { plans } from './plans.js';
import { runClient } from './processes.js';
import { circumstances, measured } from './report.js';
import type { CaseReport, Growth, Report } from './report.js';
import { bundleSizes } from './sizes.js';
import { median } from './statistics.js';

/** How often a case that looks worse than on record is given more rounds before it counts as worse. */
const doubts = 2;

/**
 * The floor and Rivulet, for CI. Both run in one process, run by run in turn, so that a machine that is busy is so for both alike; the median of the pairs'
 * ratios counts. (The least of runs in processes of their own was tried: with ten busy processes on two cores it strayed by 40 %.) A case that looks worse
 * than on record gets more rounds before it counts as worse.
 *
 * @param only What the names begin with.
 * @param doubting Whether what looks worse is measured again.
 * @returns What was found, and what of it is worse than on record, in sentences.
 */
export async function quick(
  server: string,
  only: string,
  doubting: boolean,
): Promise<{ readonly report: Report; readonly found: readonly string[] }> {
  const cases: CaseReport[] = [];
  const found: string[] = [];
  for (const { quick: plan, contestants: [base = floor, ours = rivulet] = [] } of plans) {
    if (!plan?.case.startsWith(only)) continue;
    const { report, problem } = await quickCase(plan, [base, ours], server, doubting ? doubts : 0);
    cases.push(report);
    if (problem !== undefined) found.push(problem);
    const score = report.scores[1];
    say(
      `${report.name}: ${score?.ratio?.toFixed(2) ?? score?.failure} times the floor (${score?.values.length} pairs)`,
    );
  }
  const growth: Growth[] = [];
  for (const kind of quicklyGrowing.filter((one) => `growth of ${one}`.startsWith(only)))
    growth.push(...(await quickGrowth(kind, server, doubting ? doubts : 0)));
  for (const { name, exponent } of growth) say(`growth of ${name}: ${exponent.toFixed(2)}`);
  const report: Report = { ...circumstances(), cases, growth, sizes: await bundleSizes() };
  for (const { what, bytes } of report.sizes) say(`${what}: ${bytes} bytes`);
  return { report, found: [...found, ...worse(report)] };
}

async function quickCase(plan: Plan, pair: readonly [Contestant, Contestant], server: string, again: number) {
  const pairs: Pair[] = [];
  for (let doubt = 0; ; doubt++) {
    const failure = await addPairs(pairs, plan, pair, server);
    const report: CaseReport = {
      name: plan.case,
      unit: 'CPU ms',
      ...measured(),
      scores: scoresOfPairs(pairs, failure),
    };
    const problem = slower(report);
    if (problem === undefined || failure !== undefined || doubt >= again) return { report, problem };
  }
}

/** CPU milliseconds of the floor and of ours, one right after the other. */
type Pair = readonly [floor: number, ours: number];

/** Adds what the processes of a plan find. A single run needs a process for each of the two. Returns why there is none. */
async function addPairs(
  pairs: Pair[],
  plan: Plan,
  [base, ours]: readonly [Contestant, Contestant],
  server: string,
): Promise<string | undefined> {
  const { warmups, runs, rounds, budget = 30_000 } = plan;
  const run = (one: Contestant, against?: Contestant) =>
    runClient({
      ...task(one),
      ...(against ? { against: task(against) } : {}),
      server,
      case: plan.case,
      warmups,
      runs,
      budget,
    });
  for (let round = 0; round < rounds; round++) {
    const alone = runs === 1 ? await run(base) : undefined;
    const together = await run(ours, alone ? undefined : base);
    const failure = alone?.failure ?? together.failure;
    if (failure !== undefined) return failure;
    const before = alone?.finding?.cpu ?? together.finding?.against ?? [];
    for (const [at, cpu] of (together.finding?.cpu ?? []).entries()) pairs.push([before[at] ?? NaN, cpu]);
  }
  return undefined;
}

const task = ({ module, library }: Contestant) => ({ module, library });

function scoresOfPairs(pairs: readonly Pair[], failure: string | undefined): readonly Score[] {
  const ratios = pairs.map(([before, ours]) => ours / before);
  const of = ({ title }: Contestant, values: readonly number[]) => ({ title, value: median(values), values });
  const base: Score = {
    ...of(
      floor,
      pairs.map(([before]) => before),
    ),
    ratio: 1,
    spread: [1, 1],
  };
  if (failure !== undefined) return [base, { title: rivulet.title, values: [], failure }];
  const spread = [Math.min(...ratios), Math.max(...ratios)] as const;
  return [
    base,
    {
      ...of(
        rivulet,
        pairs.map(([, ours]) => ours),
      ),
      ratio: median(ratios),
      spread,
    },
  ];
}

/** The exponents between two sizes, measured again while they look too steep. */
async function quickGrowth(kind: Growing, server: string, again: number): Promise<readonly Growth[]> {
  const growth = await measureGrowth(kind, server, { rounds: 1, budget: 3_000, quick: true });
  return again > 0 && growth.some(isSteep) ? quickGrowth(kind, server, again - 1) : growth;
}

const say = (line: string) => console.log(line);
