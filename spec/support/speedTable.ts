import { formatNumber } from '../checks/bench/report.js';
import type { CaseReport, Measured, Report } from '../checks/bench/report.js';

const rivulet = 'Rivulet';

/** A limit of the project, and the result. */
interface LimitResult {
  readonly what: string;
  readonly found: string;
  readonly met: boolean;
}

/** The tables of the guide; the README of the benchmark has all of them. */
const mainTables = ["CPU time, OpenAI's wire", "CPU time, Anthropic's wire"];

/** Returns the figures of the benchmark for the guide. */
export function speedSummary(report: Report): string {
  const limits = limitsOf(report);
  return joined([
    circumstances(report),
    ...mainTables.map((title) => tableOf(title, report.cases)),
    bundles(report),
    `${limits.filter(({ met }) => met).length} of the project's ${limits.length} limits are met. ` +
      '[spec/checks/bench](../spec/checks/bench/README.md) lists those that are missed, and has the tables of latency, memory and growth.',
  ]);
}

/** Returns all figures of the benchmark. */
export function speedTables(report: Report): string {
  const tables = [...new Set(report.cases.flatMap(({ place }) => (place ? [place[0]] : [])))];
  const missed = limitsOf(report).filter(({ met }) => !met);
  return joined([
    circumstances(report),
    ...tables.map((title) => tableOf(title, report.cases)),
    ...(report.growth.length > 0 ? [growthOf(report)] : []),
    elsewhere(report),
    missed.length === 0
      ? 'No limit is missed.'
      : `Limits that are missed:\n\n${missed.map(({ what, found }) => `- ${what}: ${found}`).join('\n')}`,
  ]);
}

/** Replaces the figures between their markers in a document. */
export function withSpeed(document: string, figures: string): string {
  return document.replace(
    /(<!-- speed -->\n)[\s\S]*?(\n<!-- end -->)/,
    (_, begin: string, end: string) => begin + figures + end,
  );
}

const joined = (texts: readonly string[]) => texts.filter((text) => text !== '').join('\n\n');

const limitsOf = (report: Report): readonly LimitResult[] => [
  ...promisedRatios(report),
  ...aheadOfPeers(report),
  ...promisedGrowth(report),
];

const all = (values: readonly string[]) => [...new Set(values)].join(', ');
const parts = ({ cases, growth }: Report): readonly Measured[] => [...cases, ...growth];

function circumstances(report: Report): string {
  const versions = Object.entries(report.versions).map(([name, version]) => `${name} ${version}`);
  const [dates, commits] = [all(parts(report).map(({ date }) => date)), all(parts(report).map(({ commit }) => commit))];
  const loads = parts(report).map(({ load }) => load);
  const load = `load ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}`;
  return `Measured ${dates} at ${commits}, on ${report.machine} (${load}), Node ${report.node}; ${versions.join(', ')}.`;
}

/** Returns a table with a row for each case and a column for each library. */
function tableOf(table: string, cases: readonly CaseReport[]): string {
  const rows = cases.filter(({ place }) => place?.[0] === table);
  const titles = [...new Set(rows.flatMap(({ scores }) => scores.map(({ title }) => title)))];
  const libraries = titles.filter((title) => !title.startsWith('floor'));
  const head = [table, 'floor', ...libraries.map((title) => (title === rivulet ? `**${title}**` : title)), 'limit'];
  const lines = rows.map((one) => [
    one.place?.[1] ?? '',
    `${formatNumber(one.scores[0]?.value ?? NaN)} ${one.unit === 'CPU ms' ? 'ms' : one.unit}`,
    ...libraries.map((title) => cell(title, one)),
    one.limit?.toFixed(2) ?? '',
  ]);
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Formats a ratio to the floor, and for Rivulet the range of the processes. */
function cell(title: string, { scores }: CaseReport): string {
  const score = scores.find((one) => one.title === title);
  if (score?.failure !== undefined) return `out: ${score.failure}`;
  if (score?.ratio === undefined || !score.spread) return '';
  const ratio = score.ratio.toFixed(2);
  return title === rivulet ? `**${ratio}** (${score.spread.map((end) => end.toFixed(2)).join(' to ')})` : ratio;
}

function growthOf({ growth }: Report): string {
  const rows = growth.map(({ name, exponent, limit, points }) => [
    name,
    `${points[0]?.[0]} to ${points.at(-1)?.[0]}`,
    exponent.toFixed(2),
    limit?.toFixed(2) ?? '',
  ]);
  const head = ['Growth of CPU time', 'sizes', 'exponent (1 is linear)', 'limit'];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function elsewhere({ cases }: Report): string {
  const unplaced = cases
    .filter(({ place }) => !place)
    .map((one) => `${one.name}: ${ratioOf(one)?.toFixed(2)} times ${one.scores[0]?.title}'s`);
  return unplaced.map((sentence) => `${upper(sentence)}.`).join(' ');
}

function bundles({ sizes }: Report): string {
  const rows = sizes.map(({ what, bytes }) => `| ${what} | ${(bytes / 1000).toFixed(1)} |`);
  return ['| Bundle for a browser, without rxjs and zod | KB, minified and gzipped |', '| --- | --- |', ...rows].join(
    '\n',
  );
}

const upper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const isPeer = ({ title }: { readonly title: string }) => !title.startsWith('floor') && !title.startsWith(rivulet);
const isRivulet = ({ title }: { readonly title: string }) => title.startsWith(rivulet);

/** Returns the ratio of Rivulet: the largest, if Rivulet has several (partial objects of output and of arguments). */
function ratioOf({ scores }: CaseReport): number | undefined {
  const ratios = scores.filter(isRivulet).map(({ ratio = Infinity }) => ratio);
  return ratios.length === 0 ? undefined : Math.max(...ratios);
}

const promisedRatios = ({ cases }: Report): readonly LimitResult[] =>
  cases.flatMap((one) => {
    if (one.limit === undefined) return [];
    const ratio = ratioOf(one) ?? Infinity;
    return [{ what: one.name, found: `${ratio.toFixed(2)} instead of ${one.limit}`, met: ratio <= one.limit }];
  });

const aheadOfPeers = ({ cases }: Report): readonly LimitResult[] =>
  cases.flatMap((one) => {
    const [best] = one.scores
      .filter((score, place) => place > 0 && isPeer(score) && score.ratio !== undefined)
      .sort((a, b) => (a.ratio ?? 0) - (b.ratio ?? 0));
    if (!best) return [];
    const ratio = one.scores.find(({ title }) => title === rivulet)?.ratio ?? Infinity; // on the Node of the peers
    const what = `${one.name}, against ${best.title}`;
    return [{ what, found: `${ratio.toFixed(2)} against ${best.ratio?.toFixed(2)}`, met: ratio < (best.ratio ?? 0) }];
  });

const promisedGrowth = ({ growth }: Report): readonly LimitResult[] =>
  growth.flatMap(({ name, exponent, limit }) =>
    limit === undefined
      ? []
      : [
          {
            what: `growth of ${name}`,
            found: `${exponent.toFixed(2)} instead of ${limit}`,
            met: Number(exponent.toFixed(2)) <= limit,
          },
        ],
  );
