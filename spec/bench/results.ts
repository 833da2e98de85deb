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
 * The record of a run. It is written after each step, so that an interrupted run is not lost. A case that is measured again replaces its older result.
 *
 * @param scope `all` replaces a record of another machine or other versions. `some` refuses it: ratios of two machines do not belong in one table.
 * `sizes` keeps it: the size of a bundle does not depend on the machine.
 */
export function openResults(scope: 'all' | 'some' | 'sizes'): {
  add(found: Partial<Pick<Report, 'cases' | 'growth' | 'sizes'>>): void;
  keep(report: Report): void;
} {
  const now = circumstances();
  const known = existsSync(file) ? readResults() : undefined;
  const isSame = known !== undefined && same(known, now);
  if (scope === 'some' && known && !isSame)
    throw new Error('spec/bench/results.json is of another machine or of other versions: measure everything.');
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
