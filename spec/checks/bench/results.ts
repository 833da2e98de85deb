import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './build.js';
import { circumstances } from './report.js';
import type { CaseReport, Circumstances, Report } from './report.js';

/** The latest results, from which the tables of docs/performance.md are made. */
const file = join(root, 'spec/checks/bench/results.json');

export const readResults = (): Report => JSON.parse(readFileSync(file, 'utf8')) as Report;

/**
 * Serializes a report with four significant digits, more than the noise permits, and with lists of numbers on one line.
 */
export const asText = (report: Report): string =>
  JSON.stringify(
    report,
    (_, value: unknown) =>
      typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value,
    1,
  ).replace(/\[\s+(-?\d[^[\]"]*?)\s+\]/g, (_, numbers: string) => `[${numbers.replace(/\s+/g, ' ')}]`) + '\n';

const isSameSetup = (one: Circumstances, other: Circumstances) =>
  one.machine === other.machine &&
  one.node === other.node &&
  JSON.stringify(one.versions) === JSON.stringify(other.versions);

/**
 * Opens the results. They are written after each step, so that an interrupted run is not lost. A case that is measured
 * again replaces its earlier result.
 *
 * @param scope `all` replaces results of another machine or other versions. `some` rejects them: one table must not mix
 * ratios of two machines. `sizes` keeps them: the size of a bundle does not depend on the machine.
 */
export function openResults(scope: 'all' | 'some' | 'sizes'): {
  add(found: Partial<Pick<Report, 'cases' | 'growth' | 'sizes'>>): void;
  keep(report: Report): void;
} {
  const now = circumstances();
  const known = existsSync(file) ? readResults() : undefined;
  const isSame = known !== undefined && isSameSetup(known, now);
  if (scope === 'some' && known && !isSame)
    throw new Error(
      'spec/checks/bench/results.json is from another machine or other versions: run the complete benchmark.',
    );
  let report: Report = known && (isSame || scope === 'sizes') ? known : { ...now, cases: [], growth: [], sizes: [] };
  const keep = (next: Report) => {
    report = next;
    writeFileSync(file, asText(report));
  };
  return {
    keep,
    add: ({ cases = [], growth = [], sizes }) =>
      keep({
        ...report,
        cases: merged(report.cases, cases.map(withEarlierScores(report.cases))),
        growth: merged(report.growth, growth),
        sizes: sizes ?? report.sizes,
      }),
  };
}

/** Adds the earlier scores of the libraries that were not measured this time. */
const withEarlierScores =
  (known: readonly CaseReport[]) =>
  (found: CaseReport): CaseReport => {
    const earlier = known.find(({ name }) => name === found.name)?.scores ?? [];
    const others = earlier.filter(({ title }) => !found.scores.some((score) => score.title === title));
    return { ...found, scores: [...found.scores, ...others] };
  };

function merged<T extends { readonly name: string }>(known: readonly T[], found: readonly T[]): readonly T[] {
  const fresh = new Map(found.map((one) => [one.name, one]));
  const kept = known.map((one) => fresh.get(one.name) ?? one);
  return [...kept, ...found.filter(({ name }) => !known.some((one) => one.name === name))];
}
