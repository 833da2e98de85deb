import { recordedAgents } from './contestants.js';
import type { Contestant } from './contestants.js';
import { runRounds, scoresOf } from './measure.js';
import type { Plan } from './measure.js';
import { median } from './statistics.js';

/** A text of 20,000 deltas, and the largest ratios to an agent that nobody records. */
interface RecordingCase {
  readonly title: string;
  readonly scenario: string;
  readonly limits: Readonly<Partial<Record<Exclude<keyof typeof recordedAgents, 'floor'>, number>>>;
}

/** The limits have a margin for the noise of few pairs: README.md has the ratios of more. */
const cases: readonly RecordingCase[] = [
  {
    title: 'a read for each delta, as from a model',
    scenario: 'writes-20000',
    limits: { recordRun: 1.06, inspectRuns: 1.03 },
  },
  {
    title: '400 deltas in a read, as fast as the socket delivers them',
    scenario: 'text-20000',
    limits: { recordRun: 1.35, inspectRuns: 1.03, observeRun: 1.1 },
  },
];

const plan = { warmups: 100, runs: 100, rounds: 1, budget: 8_000, least: 5 } satisfies Omit<Plan, 'case'>;

/** For CI: the median of a third of the pairs is noisier, so that a ratio may exceed 1 by twice as much. */
const shortPlan = { ...plan, budget: 2_500 };
const shortLimit = (limit: number) => 1 + 2 * (limit - 1);

/** How often a ratio that exceeds its limit is measured again. */
const retries = 2;

/**
 * Measures the CPU time of recorded runs, as the median of the ratios of pairs: a recorded run, and one that is not, in
 * one process. Prints the ratios.
 *
 * @returns Whether all are within their limits.
 */
export async function measureRecording(server: string, isShort: boolean): Promise<boolean> {
  let isWithin = true;
  for (const { title, scenario, limits } of cases) {
    console.log(`20,000 deltas, ${title}:`);
    for (const [name, full] of Object.entries(limits)) {
      const limit = isShort ? shortLimit(full) : full;
      const contestant = recordedAgents[name as keyof typeof limits];
      const ratio = await ratioOf(contestant, { ...(isShort ? shortPlan : plan), case: scenario }, limit, server);
      console.log(`  ${contestant.title}: ${ratio.toFixed(3)} (limit ${limit.toFixed(2)})`);
      if (!(ratio <= limit)) isWithin = false;
    }
  }
  return isWithin;
}

async function ratioOf(contestant: Contestant, one: Plan, limit: number, server: string): Promise<number> {
  let best = Infinity;
  for (let attempt = 0; attempt <= retries && best > limit; attempt++) {
    const found = await runRounds([recordedAgents.floor, contestant], one, server);
    const score = scoresOf(found, ({ costs }) => median(costs))[1];
    if (score?.failure !== undefined) throw new Error(`${contestant.title}: ${score.failure}`);
    best = Math.min(best, score?.ratio ?? Infinity);
  }
  return best;
}
