import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './build.js';
import type { CaseReport, Growth, Report } from './report.js';

/**
 * How much worse a ratio may be than the recorded one, which was measured on a quiet machine. With ten busy processes
 * on two cores ratios were 10 to 40 % worse (the caches are shared). A regression that this must detect, a copy or a
 * parse for each delta, multiplies the ratio.
 */
const tolerance = 0.5;
/** Sizes do not depend on the machine. */
const sizeTolerance = 0.05;
/** The largest exponent of `--quick`, the slope between two sizes. Quadratic growth has 2. */
const maxExponent = 1.5;

/** The recorded ratios of Rivulet by case, and bytes by bundle. */
interface Baseline {
  readonly ratios: Readonly<Record<string, number>>;
  readonly bytes: Readonly<Record<string, number>>;
}

const file = join(root, 'spec/checks/bench/baseline.json');
const baseline = (): Baseline => JSON.parse(readFileSync(file, 'utf8')) as Baseline;

const ratioOf = ({ scores }: CaseReport) => scores[1]?.ratio;

/** Writes the ratios and sizes of a report to the baseline. */
export function accept({ cases, sizes }: Report): void {
  const ratios = Object.fromEntries(cases.map((one) => [one.name, Number((ratioOf(one) ?? NaN).toFixed(2))]));
  const bytes = Object.fromEntries(sizes.map((one) => [one.what, one.bytes]));
  writeFileSync(file, `${JSON.stringify({ ratios, bytes } satisfies Baseline, null, 2)}\n`);
}

/** Returns why a case is worse than its baseline, or undefined. A failed case, and one without a baseline, is worse. */
export function regressionOf(one: CaseReport): string | undefined {
  const failed = one.scores.find((score) => score.failure !== undefined);
  const ratio = ratioOf(one);
  if (failed || ratio === undefined) return `${one.name}: ${failed?.title}: ${failed?.failure}`;
  const known = baseline().ratios[one.name];
  if (known === undefined) return `${one.name}: has no baseline; npm run bench -- --quick --accept writes it`;
  const most = known * (1 + tolerance);
  if (ratio <= most) return undefined;
  return `${one.name}: ${ratio.toFixed(2)} times the floor; the baseline is ${known.toFixed(2)}, at most ${most.toFixed(2)}`;
}

/**
 * Returns the costs of Rivulet that grow too fast. On a busy machine the smaller size is measured with less compiled
 * code, which adds to the exponent of the floor as well.
 *
 * @param growth For each series, that of the floor and that of Rivulet.
 */
export const steep = (growth: readonly Growth[]): readonly Growth[] =>
  growth.filter(
    ({ exponent }, at) => at % 2 === 1 && exponent > maxExponent && exponent > (growth[at - 1]?.exponent ?? 0) + 0.3,
  );

/** Returns the bundles that are larger than their baseline, and the costs that grow too fast, in sentences. */
export function regressions({ sizes, growth }: Report): readonly string[] {
  const { bytes } = baseline();
  const large = sizes.flatMap(({ what, bytes: now }) => {
    const most = (bytes[what] ?? Infinity) * (1 + sizeTolerance);
    return now > most ? [`${what}: ${now} bytes; at most ${most.toFixed(0)}`] : [];
  });
  const fast = steep(growth).map(
    ({ name, exponent }) => `${name}: grows with the power of ${exponent.toFixed(2)}; at most ${maxExponent}`,
  );
  return [...large, ...fast];
}
