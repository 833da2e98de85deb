import { finiteNumber } from '../../core/json/json.js';

type Report = Readonly<Record<string, unknown>>;

const noReport: Report = {};

/**
 * A later report replaces all counts of its group, because counts of two reports may overlap: a server reports 100
 * tokens and 55,096 cached ones first, and 181 tokens without cached ones at the end. A report whose counts are all 0
 * replaces nothing, because compatible servers fill later reports with zeros.
 */
export class UsageReports {
  input = noReport;
  output = noReport;

  constructor(
    private readonly inputCounts: readonly string[],
    private readonly outputCounts: readonly string[],
  ) {}

  /** Adds a report, in order of arrival. */
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
