import { finiteNumber } from '../../core/json/json.js';

type Report = Readonly<Record<string, unknown>>;

const noReport: Report = {};

/** Counts may overlap, so a later report replaces its group; zeros are placeholders. */
export class UsageReports {
  input = noReport;
  output = noReport;

  constructor(
    private readonly inputCounts: readonly string[],
    private readonly outputCounts: readonly string[],
  ) {}

  add(report: Report): void {
    if (replaces(report, this.inputCounts, this.input)) this.input = report;
    if (replaces(report, this.outputCounts, this.output)) this.output = report;
  }
}

function replaces(report: Report, names: readonly string[], earlier: Report): boolean {
  let hasCounts = false;
  for (const name of names) {
    const count = finiteNumber(report[name]);
    if (count !== undefined && count > 0) return true;
    hasCounts ||= count !== undefined;
  }
  return hasCounts && earlier === noReport;
}

export function sumOfCounts(...counts: readonly unknown[]): number | undefined {
  const known = counts.map(finiteNumber).filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}
