import { regressionOf, regressions, steep } from './baseline.js';
import { baseContestants } from './contestants.js';
import type { Contestant } from './contestants.js';
import { measureGrowth, quicklyGrowing } from './growth.js';
import type { Growing } from './growth.js';
import { runRounds, scoresOf } from './measure.js';
import type { Found, Plan } from './measure.js';
import { both, shapes } from './plans.js';
import { circumstances, measured } from './report.js';
import type { CaseReport, Growth, Report } from './report.js';
import { bundleSizes } from './sizes.js';
import { median } from './statistics.js';
import type { Api } from './wire.js';

/** How often a case that is worse than its baseline is measured again before it counts as worse. */
const retries = 2;
/**
 * The first runs are those of code that is not compiled yet: the second of a large case costs up to 2.8 times the floor's,
 * and two sizes of which only the smaller one is compiled differ by an exponent of up to 1.7.
 */
const least = 5;
/** CPU milliseconds of a case. With 1,000, 'past-5' had six runs, and ratios from 2.0 to 3.7; from 3,000 on, 1.9 to 2.1. */
const budget = 3_000;

/**
 * Compares Rivulet with the floor, for CI. Both run in turn in one process, so that other load affects both equally.
 * The result is the median of the ratios of the pairs. (The minimum of runs in separate processes varied by 40 % with
 * ten busy processes on two cores.) A case that is worse than its baseline is measured again before it counts as worse.
 *
 * @param only A part of the names of the cases that are measured.
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
  for (const { quick: name, warmups, runs, alone, job } of shapes) {
    for (const wire of name === undefined ? [] : both) {
      const title = `${wire} ${name}`;
      if (!title.includes(only)) continue;
      const times = alone ? { rounds: 7, alone } : { rounds: 1 };
      const plan: Plan = { case: name ?? '', warmups, runs, budget, least, ...times };
      const { report, problem } = await quickCase(
        title,
        plan,
        baseContestants(wire, job),
        server,
        canRetry ? retries : 0,
      );
      cases.push(report);
      if (problem !== undefined) problems.push(problem);
      const score = report.scores[1];
      print(`${title}: ${score?.ratio?.toFixed(2) ?? score?.failure} times the floor`);
    }
  }
  const growth: Growth[] = [];
  for (const kind of quicklyGrowing.filter((one) => `growth of ${one}`.includes(only)))
    for (const wire of both) growth.push(...(await quickGrowth(kind, wire, server, canRetry ? retries : 0)));
  for (const { name, exponent } of growth) print(`growth of ${name}: ${exponent.toFixed(2)}`);
  const report: Report = { ...circumstances(), cases, growth, sizes: await bundleSizes() };
  for (const { what, bytes } of report.sizes) print(`${what}: ${bytes} bytes`);
  return { report, problems: [...problems, ...regressions(report)] };
}

async function quickCase(name: string, plan: Plan, pair: readonly Contestant[], server: string, again: number) {
  const found = new Map<Contestant, Found>();
  for (let attempt = 0; ; attempt++) {
    await runRounds(pair, plan, server, found);
    const report: CaseReport = {
      name,
      unit: 'CPU ms',
      ...measured(),
      scores: scoresOf(found, ({ costs }) => median(costs)),
    };
    const problem = regressionOf(report);
    const hasFailed = report.scores.some(({ failure }) => failure !== undefined);
    if (problem === undefined || hasFailed || attempt >= again) return { report, problem };
  }
}

/** Returns the exponents between two sizes. They are measured again if they are too large. */
async function quickGrowth(kind: Growing, wire: Api, server: string, again: number): Promise<readonly Growth[]> {
  const growth = await measureGrowth(kind, wire, server, { rounds: 1, budget: 1_000, least, quick: true });
  return again > 0 && steep(growth).length > 0 ? quickGrowth(kind, wire, server, again - 1) : growth;
}

const print = (line: string) => console.log(line);
