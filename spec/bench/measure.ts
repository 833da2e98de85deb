import type { Finding } from './client/main.js';
import type { Contestant } from './contestants.js';
import { runClient } from './processes.js';
import { median } from './statistics.js';

/** How a case is measured. */
export interface Plan {
  readonly case: string;
  /** The runs of each process before the measured ones. */
  readonly warmups: number;
  /** The measured runs of each process. */
  readonly runs: number;
  /** The processes of each contestant. */
  readonly rounds: number;
  /** The milliseconds after which a process starts no more runs. Default: 10,000. */
  readonly budget?: number;
}

/** A value that is read from the processes of a case. */
export interface Reading {
  readonly name: string;
  readonly unit: string;
  /** Its table and column in the README. Default: none. */
  readonly place?: readonly [table: string, column: string];
  /** The largest ratio of Rivulet that the project accepts. */
  readonly limit?: number;
  readonly read: (finding: Finding) => number;
}

/** The result of a contestant in a case. */
export interface Score {
  readonly title: string;
  /** The typical value of the processes. */
  readonly value?: number;
  /** The values of the processes, in order. */
  readonly values: readonly number[];
  /** The ratio to the first contestant. */
  readonly ratio?: number;
  /** The lowest and the highest ratio of two processes of the same round. */
  readonly spread?: readonly [lowest: number, highest: number];
  /** Why there is no result. */
  readonly failure?: string;
}

/** The findings of the processes of one contestant, in the order of the rounds, or its failure. */
export interface Found {
  readonly findings: Finding[];
  failure?: string;
}

const slow = { rounds: 3, budget: 6_000 };

/**
 * Runs a case: each contestant in new processes, in turn (A B C, A B C), so that other load affects all equally. A
 * contestant with a wrong result, or without a result after two and a half minutes, has failed.
 *
 * @param found The map to which the findings are added.
 */
export async function runRounds(
  contestants: readonly Contestant[],
  plan: Plan,
  server: string,
  found = new Map<Contestant, Found>(),
): Promise<ReadonlyMap<Contestant, Found>> {
  const { warmups, runs, rounds, budget = 10_000 } = plan;
  for (let round = 0; round < rounds; round++) {
    for (const contestant of contestants) {
      const known = found.get(contestant) ?? { findings: [] };
      found.set(contestant, known);
      if (known.failure !== undefined || (contestant.slow && round >= slow.rounds)) continue;
      if (process.stderr.isTTY)
        process.stderr.write(`\r${plan.case} ${round + 1}/${rounds} ${contestant.title}\u001b[K\r`);
      const { module, library } = contestant;
      const time = contestant.slow ? Math.min(budget, slow.budget) : budget;
      const { finding, failure } = await runClient({
        module,
        library,
        server,
        case: plan.case,
        warmups,
        runs,
        budget: time,
      });
      if (finding) known.findings.push(finding);
      else known.failure = failure;
    }
  }
  return found;
}

/**
 * @param found The findings by contestant. The first contestant is the base of the ratios.
 * @param typical Computes the typical value. Default: the median.
 * @returns The scores, in the order of the contestants.
 */
export function scoresOf(
  found: ReadonlyMap<Contestant, Found>,
  read: Reading['read'],
  typical = median,
): readonly Score[] {
  const [base = []] = [...found.values()].map(({ findings }) => findings.map(read));
  return [...found].map(([{ title }, { findings, failure }]): Score => {
    const values = findings.map(read);
    if (failure !== undefined) return { title, values, failure };
    const value = typical(values);
    const ratios = values.map((one, round) => one / (base[round] ?? NaN));
    return { title, value, values, ratio: value / typical(base), spread: [Math.min(...ratios), Math.max(...ratios)] };
  });
}
