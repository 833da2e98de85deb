import { isSteep, regressionOf, regressions } from './baseline.js';
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

/** How often a case that is worse than its baseline is measured again before it counts as worse. */
const retries = 2;

/**
 * Compares Rivulet with the floor, for CI. Both run in turn in one process, so that other load affects both equally.
 * The result is the median of the ratios of the pairs. (The minimum of runs in separate processes varied by 40 % with
 * ten busy processes on two cores.) A case that is worse than its baseline is measured again before it counts as worse.
 *
 * @param only The prefix of the names.
 * @param canRetry Whether a case that is worse is measured again.
 * @returns The report, and its regressions in sentences.
 */
export async function quick(
  server: string,
  only: string,
  canRetry: boolean,
): Promise<{ readonly report: Report; readonly problems: readonly string[] }> {
  const cases: CaseReport[] = [];
  const problems: string[] = [];
  for (const { quick: plan, contestants: [base = floor, candidate = rivulet] = [] } of plans) {
    if (!plan?.case.startsWith(only)) continue;
    const { report, problem } = await quickCase(plan, [base, candidate], server, canRetry ? retries : 0);
    cases.push(report);
    if (problem !== undefined) problems.push(problem);
    const score = report.scores[1];
    print(
      `${report.name}: ${score?.ratio?.toFixed(2) ?? score?.failure} times the floor (${score?.values.length} pairs)`,
    );
  }
  const growth: Growth[] = [];
  for (const kind of quicklyGrowing.filter((one) => `growth of ${one}`.startsWith(only)))
    growth.push(...(await quickGrowth(kind, server, canRetry ? retries : 0)));
  for (const { name, exponent } of growth) print(`growth of ${name}: ${exponent.toFixed(2)}`);
  const report: Report = { ...circumstances(), cases, growth, sizes: await bundleSizes() };
  for (const { what, bytes } of report.sizes) print(`${what}: ${bytes} bytes`);
  return { report, problems: [...problems, ...regressions(report)] };
}

async function quickCase(plan: Plan, pair: readonly [Contestant, Contestant], server: string, again: number) {
  const pairs: Pair[] = [];
  for (let attempt = 0; ; attempt++) {
    const failure = await addPairs(pairs, plan, pair, server);
    const report: CaseReport = {
      name: plan.case,
      unit: 'CPU ms',
      ...measured(),
      scores: scoresOfPairs(pairs, failure),
    };
    const problem = regressionOf(report);
    if (problem === undefined || failure !== undefined || attempt >= again) return { report, problem };
  }
}

/** CPU milliseconds of a run of the floor and of the run of Rivulet after it. */
type Pair = readonly [floor: number, candidate: number];

/** Adds the pairs of a plan. A single run requires a process for each of the two. Returns the reason of a failure. */
async function addPairs(
  pairs: Pair[],
  plan: Plan,
  [base, candidate]: readonly [Contestant, Contestant],
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
    const together = await run(candidate, alone ? undefined : base);
    const failure = alone?.failure ?? together.failure;
    if (failure !== undefined) return failure;
    const before = alone?.finding?.cpu ?? together.finding?.against ?? [];
    for (const [at, cpu] of (together.finding?.cpu ?? []).entries()) pairs.push([before[at] ?? NaN, cpu]);
  }
  return undefined;
}

const task = ({ module, library }: Contestant) => ({ module, library });

function scoresOfPairs(pairs: readonly Pair[], failure: string | undefined): readonly Score[] {
  const ratios = pairs.map(([before, candidate]) => candidate / before);
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
        pairs.map(([, candidate]) => candidate),
      ),
      ratio: median(ratios),
      spread,
    },
  ];
}

/** Returns the exponents between two sizes. They are measured again if they are too large. */
async function quickGrowth(kind: Growing, server: string, again: number): Promise<readonly Growth[]> {
  const growth = await measureGrowth(kind, server, { rounds: 1, budget: 3_000, quick: true });
  return again > 0 && growth.some(isSteep) ? quickGrowth(kind, server, again - 1) : growth;
}

const print = (line: string) => console.log(line);
