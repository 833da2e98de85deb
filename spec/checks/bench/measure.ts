import type { Finding } from './client/main.js';
import type { Contestant } from './contestants.js';
import { runClient } from './processes.js';
import { median } from './statistics.js';

/** How a case is measured. */
export interface Plan {
  readonly case: string;
  /** The largest number of runs of each process before the measured ones. */
  readonly warmups: number;
  /** The largest number of measured runs of each process. */
  readonly runs: number;
  /** The processes of each contestant. */
  readonly rounds: number;
  /** The processes of each of the other libraries, whose ratios differ by more than the noise. Default: 1. */
  readonly peerRounds?: number;
  /** The CPU milliseconds after which a process starts no more runs, half of them for warm-ups. Default: 1,500. */
  readonly budget?: number;
  /**
   * The smallest number of warm-ups, and of measured runs: on a slow machine, the budget ends before the code is
   * compiled. Default: 1.
   */
  readonly least?: number;
  /**
   * Whether each contestant, and the floor, has processes of its own: for a first run and for memory. Default: the
   * runs of a contestant and of the floor alternate in one process, so that other load affects both equally.
   */
  readonly alone?: true;
}

/** A value that is read from the processes of a case. */
export interface Reading {
  readonly name: string;
  readonly unit: string;
  /** Its table and row in docs/performance.md. Default: none. */
  readonly place?: readonly [table: string, row: string];
  /** The largest ratio of Rivulet that the project accepts. */
  readonly limit?: number;
  readonly read: (finding: Finding) => number;
}

/** The result of a contestant in a case. */
export interface Score {
  readonly title: string;
  /** The median of the processes. */
  readonly value?: number;
  /** The values of the processes, in order. */
  readonly values: readonly number[];
  /** The ratio to the floor. */
  readonly ratio?: number;
  /** The lowest and the highest ratio of a process. */
  readonly spread?: readonly [lowest: number, highest: number];
  /** Why there is no result. */
  readonly failure?: string;
}

/** The findings of the processes of one contestant, in the order of the rounds, or its failure. */
export interface Found {
  readonly findings: Finding[];
  failure?: string;
}

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
  const { warmups, runs, rounds, peerRounds = 1, budget = 1_500, least = 1, alone } = plan;
  for (let round = 0; round < rounds; round++) {
    for (const contestant of contestants) {
      const known = found.get(contestant) ?? { findings: [] };
      found.set(contestant, known);
      const { title, node, module, library, base, peer } = contestant;
      const isCovered = !alone && !base; // it runs in the processes of the others
      if (isCovered || known.failure !== undefined || (peer && round >= peerRounds)) continue;
      if (process.stderr.isTTY) process.stderr.write(`\r${plan.case} ${round + 1}/${rounds} ${title}\u001b[K\r`);
      const against = alone || !base ? {} : { against: { module: base.module, library: base.library } };
      const task = { module, library, ...against, server, case: plan.case, warmups, runs, budget, least };
      const { finding, failure } = await runClient(task, node.program);
      if (finding) known.findings.push(finding);
      else known.failure = failure;
    }
  }
  return found;
}

/** The findings about the floor in the processes of another contestant. */
const floorIn = (findings: readonly Finding[]): readonly Finding[] =>
  findings.map((finding) => ({ ...finding, costs: finding.against, against: finding.against }));

/** Returns the findings of each contestant; those of a floor are in the processes of the first of the others. */
export function findingsOf(found: ReadonlyMap<Contestant, Found>, contestant: Contestant): readonly Finding[] {
  const own = found.get(contestant)?.findings ?? [];
  if (contestant.base || own.length > 0) return own;
  const first = [...found.keys()].find(({ base }) => base === contestant);
  return floorIn((first && found.get(first)?.findings) ?? []);
}

/** Returns the scores, in the order of the contestants. */
export function scoresOf(found: ReadonlyMap<Contestant, Found>, read: Reading['read']): readonly Score[] {
  return [...found].map(([contestant, { failure }]): Score => {
    const { title, base = contestant } = contestant;
    const findings = findingsOf(found, contestant);
    const values = findings.map(read);
    if (failure !== undefined) return { title, values, failure };
    const bases = findingsOf(found, base).map(read);
    const isPaired = findings.some(({ against }) => against.length > 0);
    const ratios = findings.map(({ costs, against }, round) =>
      isPaired
        ? median(costs.map((one, at) => one / (against[at] ?? NaN)))
        : (values[round] ?? NaN) / (bases[round] ?? NaN),
    );
    const value = median(values);
    const ratio = isPaired ? median(ratios) : value / median(bases);
    return { title, value, values, ratio, spread: [Math.min(...ratios), Math.max(...ratios)] };
  });
}
