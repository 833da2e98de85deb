import { finiteNumber } from '../../core/json/json.js';

/** The reports of one response from which its usage is read. */
export interface UsageReports {
  /** Adds a report, in order of arrival. */
  add(report: Readonly<Record<string, unknown>>): void;
  /** The last report with input counts, and the last one with output counts; empty objects if there is none. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: Readonly<Record<string, unknown>>;
}

/**
 * Keeps the last report of the input and of the output, for APIs whose counts are cumulative. A later report replaces
 * all counts of its group, because counts of two reports may overlap: a server reports 100 tokens and 55,096 cached
 * ones first, and 181 tokens without cached ones at the end. A report whose counts are all 0 replaces nothing, because
 * compatible servers fill later reports with zeros.
 *
 * @param inputCounts The names of the input counts.
 * @param outputCounts The names of the output counts.
 */
export function createUsageReports(inputCounts: readonly string[], outputCounts: readonly string[]): UsageReports {
  let input: UsageReports['input'] | undefined;
  let output: UsageReports['output'] | undefined;
  return {
    add(report) {
      if (replaces(report, inputCounts, input)) input = report;
      if (replaces(report, outputCounts, output)) output = report;
    },
    get input() {
      return input ?? {};
    },
    get output() {
      return output ?? {};
    },
  };
}

function replaces(report: UsageReports['input'], names: readonly string[], earlier: object | undefined): boolean {
  const counts = names.map((name) => finiteNumber(report[name])).filter((count) => count !== undefined);
  return counts.some((count) => count > 0) || (counts.length > 0 && earlier === undefined);
}

/** Adds the counts that are known; undefined if all are unknown. */
export function sumOfCounts(...counts: readonly unknown[]): number | undefined {
  const known = counts.map(finiteNumber).filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}
