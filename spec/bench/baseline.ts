import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './build.js';
import { rivulet } from './contestants.js';
import type { CaseReport, Growth, Report } from './report.js';

/**
 * By how much a ratio may be worse than the one on record, which is a quiet machine's. With ten busy processes on two cores ratios were 10 to 40 % worse (the
 * caches are shared), and a CI that fails by noise is worse than none; what this is there to catch, a copy or a parse for each delta, costs a multiple.
 */
export const tolerance = 0.5;
/** Sizes do not depend on the machine. */
const sizeTolerance = 0.05;
/** The exponent of `--quick` is the slope between two sizes: what is quadratic has 2. */
const steepest = 1.5;

/** What is on record: our ratios by case, and bytes by import. */
interface Baseline {
  readonly ratios: Readonly<Record<string, number>>;
  readonly bytes: Readonly<Record<string, number>>;
}

const file = join(root, 'spec/bench/baseline.json');
const baseline = (): Baseline => JSON.parse(readFileSync(file, 'utf8')) as Baseline;

const ratioOf = ({ scores }: CaseReport) => scores.find(({ title }) => title === rivulet.title)?.ratio;

/** Puts a report on record. */
export function accept({ cases, sizes }: Report): void {
  const ratios = Object.fromEntries(cases.map((one) => [one.name, Number((ratioOf(one) ?? NaN).toFixed(2))]));
  const bytes = Object.fromEntries(sizes.map((one) => [one.what, one.bytes]));
  writeFileSync(file, `${JSON.stringify({ ratios, bytes } satisfies Baseline, null, 2)}\n`);
}

/** In a sentence, why a case is worse than what is on record, if it is. One without an answer, with a wrong one, or without a record is. */
export function slower(one: CaseReport): string | undefined {
  const out = one.scores.find((score) => score.failure !== undefined);
  const ratio = ratioOf(one);
  if (out || ratio === undefined) return `${one.name}: ${out?.title}: ${out?.failure}`;
  const known = baseline().ratios[one.name];
  if (known === undefined) return `${one.name}: not on record; npm run bench -- --quick --accept puts it there`;
  if (ratio <= known * (1 + tolerance)) return undefined;
  return `${one.name}: ${ratio.toFixed(2)} times the floor; on record ${known.toFixed(2)}, with ${tolerance * 100} %: ${(known * (1 + tolerance)).toFixed(2)}`;
}

/** Whether a cost grows too fast. */
export const isSteep = ({ exponent }: Growth): boolean => exponent > steepest;

/** Which imports are larger than on record, and which costs grow too fast, in sentences. */
export function worse({ sizes, growth }: Report): readonly string[] {
  const { bytes } = baseline();
  const large = sizes.flatMap(({ what, bytes: now }) => {
    const most = (bytes[what] ?? Infinity) * (1 + sizeTolerance);
    return now > most ? [`${what}: ${now} bytes; on record, with ${sizeTolerance * 100} %: ${most.toFixed(0)}`] : [];
  });
  const steep = growth
    .filter(isSteep)
    .map(({ name, exponent }) => `${name}: grows with the power of ${exponent.toFixed(2)}; at most ${steepest}`);
  return [...large, ...steep];
}
