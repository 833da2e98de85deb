import type { Finding } from './client/main.js';
import type { Contestant } from './contestants.js';
import { runClient } from './processes.js';
import { median } from './statistics.js';

/** How a case is measured. */
export interface Plan {
  readonly case: string;
  /** Runs in each process before those that count. */
  readonly warmups: number;
  /** Runs in each process that count. */
  readonly runs: number;
  /** Processes of each contestant, in turn. */
  readonly rounds: number;
  /** After so many milliseconds a process has done enough runs. Default: 10,000. */
  readonly budget?: number;
}

/** What is read from the processes of a case. */
export interface Reading {
  readonly name: string;
  readonly unit: string;
  /** Where it stands in the README: the table, and the head of the column. Default: nowhere. */
  readonly place?: readonly [table: string, column: string];
  /** The ratio of ours that the project promises. */
  readonly limit?: number;
  readonly read: (finding: Finding) => number;
}

/** What a contestant came to in a case. */
export interface Score {
  readonly title: string;
  /** The one that stands for the processes' values. */
  readonly value?: number;
  /** The processes' values, in order. */
  readonly values: readonly number[];
  /** Against the first contestant's. */
  readonly ratio?: number;
  /** The ratios of the processes that ran side by side, lowest and highest. */
  readonly spread?: readonly [lowest: number, highest: number];
  /** Why it is out. */
  readonly failure?: string;
}

/** What the processes of one contestant found, in the order of the rounds; and why it is out. */
export interface Found {
  readonly findings: Finding[];
  failure?: string;
}

const slow = { rounds: 3, budget: 6_000 };

/**
 * Runs a case: each contestant in fresh processes, in turn (A B C, A B C), so that what else the machine does meets all alike. Who gives a wrong answer,
 * or none in two and a half minutes, is out.
 *
 * @param found Where the findings are added.
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
 * @param found By contestant; the first is what the others are compared with.
 * @param typical Which of the processes' values stands for them.
 * @returns A score for each, in their order.
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
