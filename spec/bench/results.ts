import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './build.js';
import { circumstances } from './report.js';
import type { Circumstances, Report } from './report.js';

/** What was found at last, in the repository: the README's table is made from it. */
const file = join(root, 'spec/bench/results.json');

export const readResults = (): Report => JSON.parse(readFileSync(file, 'utf8')) as Report;

/** Four digits are more than the noise leaves; lists of numbers stand on one line. */
export const asText = (report: Report): string =>
  JSON.stringify(
    report,
    (_, value: unknown) =>
      typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value,
    1,
  ).replace(/\[\s+(-?\d[^[\]"]*?)\s+\]/g, (_, numbers: string) => `[${numbers.replace(/\s+/g, ' ')}]`) + '\n';

const same = (one: Circumstances, other: Circumstances) =>
  one.machine === other.machine &&
  one.node === other.node &&
  JSON.stringify(one.versions) === JSON.stringify(other.versions);

/**
 * The record of a run, on disk after each step, so that a run that is broken off is not lost. What is measured again takes its old place.
 *
 * @param whole Whether all will be measured. If not, what is there must be of the same machine and versions: ratios from two do not belong in one table.
 */
export function openResults(whole: boolean): {
  add(found: Partial<Pick<Report, 'cases' | 'growth' | 'sizes'>>): void;
  keep(report: Report): void;
} {
  const now = circumstances();
  const known = existsSync(file) ? readResults() : undefined;
  const fits = known !== undefined && same(known, now);
  if (!whole && known && !fits)
    throw new Error('spec/bench/results.json is of another machine or other versions: measure everything.');
  let report: Report = fits ? known : { ...now, cases: [], growth: [], sizes: [] };
  const keep = (next: Report) => {
    report = next;
    writeFileSync(file, asText(report));
  };
  return {
    keep,
    add: ({ cases = [], growth = [], sizes }) =>
      keep({
        ...report,
        cases: merged(report.cases, cases),
        growth: merged(report.growth, growth),
        sizes: sizes ?? report.sizes,
      }),
  };
}

function merged<T extends { readonly name: string }>(known: readonly T[], found: readonly T[]): readonly T[] {
  const fresh = new Map(found.map((one) => [one.name, one]));
  const kept = known.map((one) => fresh.get(one.name) ?? one);
  return [...kept, ...found.filter(({ name }) => !known.some((one) => one.name === name))];
}
