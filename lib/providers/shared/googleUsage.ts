import { finiteNumber } from '../../core/json/json.js';
import { usageOf, type Usage } from '../../core/usage.js';
import { sumOfCounts, UsageReports } from './usageReports.js';

type CountNames = Readonly<Record<'input' | 'toolInput' | 'cachedInput' | 'output' | 'thoughts' | 'total', string>>;

/** The counts are cumulative. Output excludes thoughts; input excludes the results of the API's own tools. */
export class GoogleUsage {
  private readonly reports: UsageReports;

  constructor(private readonly names: CountNames) {
    const { input, toolInput, cachedInput, output, thoughts } = names;
    this.reports = new UsageReports([input, toolInput, cachedInput], [output, thoughts]);
  }

  add(counts: Record<string, unknown>): void {
    this.reports.add(counts);
  }

  total(): Usage {
    const { names } = this;
    const { input, output } = this.reports;
    return usageOf({
      input: sumOfCounts(input[names.input], input[names.toolInput]),
      output: sumOfCounts(output[names.output], output[names.thoughts]),
      // A total belongs to the counts of its report.
      total: input === output ? finiteNumber(input[names.total]) : undefined,
      cachedInput: finiteNumber(input[names.cachedInput]),
      reasoning: finiteNumber(output[names.thoughts]),
    });
  }
}
