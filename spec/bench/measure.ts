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
  /** Processes of each contestant. */
  readonly rounds: number;
  /** What is read from a process. Default: the median CPU milliseconds of its runs. */
  readonly read?: (finding: Finding) => number;
}

/** What a contestant came to in a case. */
export interface Score {
  readonly title: string;
  /** The median over the processes. */
  readonly value?: number;
  /** The processes' values, in order. */
  readonly values: readonly number[];
  /** Against the first contestant's. */
  readonly ratio?: number;
  /** The ratios of the processes that ran side by side, lowest and highest. */
  readonly spread?: readonly [lowest: number, highest: number];
  /** Why it has no value. */
  readonly failure?: string;
}

const cpuOf = ({ cpu }: Finding) => median(cpu);

/**
 * Measures a case: each contestant in fresh processes, in turn (A B C, A B C), so that what else the machine does meets all alike. Who gives a wrong answer,
 * or none in two and a half minutes, is out.
 *
 * @param contestants The first is what the others are compared with.
 * @returns A score for each, in their order.
 */
export async function measureCase(contestants: readonly Contestant[], plan: Plan, server: string): Promise<readonly Score[]> {
  const { warmups, runs, rounds, read = cpuOf } = plan;
  const values = new Map(contestants.map((contestant) => [contestant, [] as number[]]));
  const failures = new Map<Contestant, string>();
  for (let round = 0; round < rounds; round++) {
    for (const contestant of contestants) {
      if (failures.has(contestant)) continue;
      const { module, library } = contestant;
      const { finding, failure } = await runClient({ module, library, server, case: plan.case, warmups, runs });
      if (finding) values.get(contestant)?.push(read(finding));
      else failures.set(contestant, failure);
    }
  }
  const base = [...values.values()][0] ?? [];
  return contestants.map((contestant) => scoreOf(contestant, values.get(contestant) ?? [], base, failures.get(contestant)));
}

function scoreOf({ title }: Contestant, values: readonly number[], base: readonly number[], failure: string | undefined): Score {
  if (failure !== undefined) return { title, values, failure };
  const value = median(values);
  const ratios = values.map((one, round) => one / (base[round] ?? NaN));
  return { title, value, values, ratio: value / median(base), spread: [Math.min(...ratios), Math.max(...ratios)] };
}
