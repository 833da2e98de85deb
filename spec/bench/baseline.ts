import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rivulet } from './contestants.js';
import type { Report } from './report.js';

/** By how much a ratio may be worse than the one on record: on a shared machine it differs by so much from run to run. */
const tolerance = 0.25;
/** Sizes do not depend on the machine. */
const sizeTolerance = 0.05;
/** The exponent of `--quick` is the slope between two sizes: what is quadratic has 2. */
const steepest = 1.5;

/** What is on record: our ratios by case, and bytes by import. */
interface Baseline {
  readonly ratios: Readonly<Record<string, number>>;
  readonly bytes: Readonly<Record<string, number>>;
}

const file = join(import.meta.dirname, 'baseline.json');

const ratioOf = ({ scores }: Report['cases'][number]) => scores.find(({ title }) => title === rivulet.title)?.ratio;

/** Puts a report on record. */
export function accept({ cases, sizes }: Report): void {
  const ratios = Object.fromEntries(cases.map((one) => [one.name, Number((ratioOf(one) ?? NaN).toFixed(2))]));
  const bytes = Object.fromEntries(sizes.map((one) => [one.what, one.bytes]));
  writeFileSync(file, `${JSON.stringify({ ratios, bytes } satisfies Baseline, null, 2)}\n`);
}

/** What is worse than what is on record, in sentences. A case without an answer, or with a wrong one, is always among them. */
export function regressions({ cases, sizes, growth }: Report): readonly string[] {
  const { ratios, bytes } = JSON.parse(readFileSync(file, 'utf8')) as Baseline;
  const slow = cases.flatMap((one) => {
    const ratio = ratioOf(one);
    const failure = one.scores.find((score) => score.failure !== undefined);
    if (ratio === undefined || failure) return [`${one.name}: ${failure?.title} ${failure?.failure}`];
    const most = (ratios[one.name] ?? Infinity) * (1 + tolerance);
    return ratio > most
      ? [`${one.name}: ${ratio.toFixed(2)} times the floor; on record, with ${tolerance * 100} %: ${most.toFixed(2)}`]
      : [];
  });
  const large = sizes.flatMap(({ what, bytes: now }) => {
    const most = (bytes[what] ?? Infinity) * (1 + sizeTolerance);
    return now > most ? [`${what}: ${now} bytes; on record, with ${sizeTolerance * 100} %: ${most.toFixed(0)}`] : [];
  });
  const steep = growth
    .filter(({ exponent }) => exponent > steepest)
    .map(({ name, exponent }) => `${name}: grows with the power of ${exponent.toFixed(2)}`);
  return [...slow, ...large, ...steep];
}
