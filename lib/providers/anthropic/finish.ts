import type { FinishReason } from '../../core/chunk.js';
import { asArray, isRecord, finiteNumber, objectOrEmpty } from '../../core/json/json.js';
import { addUsage, sumUsages, usageOf, type Usage } from '../../core/usage.js';
import { readFinishReason } from '../shared/finishReasons.js';
import { sumOfCounts, UsageReports } from '../shared/usageReports.js';

/** platform.claude.com, "Handling stop reasons". After the pauses, the API expects the conversation again. */
export const toFinishReason = (stopReason: string): FinishReason =>
  readFinishReason(stopReason, [['paused', /^(pause_turn|compaction)$/]]);

/** The counts are cumulative. `input_tokens` excludes cached tokens; `output_tokens` includes thinking. */
export class UsageCounter {
  private readonly reports = new UsageReports(inputCounts, outputCounts);

  add(usage: unknown): void {
    if (isRecord(usage)) this.reports.add(usage);
  }

  total(): Usage {
    const { input, output } = this.reports;
    const inputTokens = sumOfCounts(...inputCounts.map((name) => input[name]));
    const outputTokens = finiteNumber(output['output_tokens']);
    // A prompt has at least one token, so a report in which all counts are 0 is a placeholder.
    if (!inputTokens && !outputTokens) return {};
    const usage = usageOf({
      input: inputTokens,
      output: outputTokens,
      reasoning: finiteNumber(objectOrEmpty(output['output_tokens_details'])['thinking_tokens']),
      ...cacheCounts(input),
    });
    return addUsage(usage, compactionUsage(output));
  }
}

const cacheCounts = (counts: Readonly<Record<string, unknown>>) => ({
  cachedInput: finiteNumber(counts['cache_read_input_tokens']),
  cacheWriteInput: finiteNumber(counts['cache_creation_input_tokens']),
  longCacheWriteInput: countAboveZero(objectOrEmpty(counts['cache_creation'])['ephemeral_1h_input_tokens']),
});

/** Few requests write to the cache for an hour: a count of 0 says nothing. */
const countAboveZero = (value: unknown): number | undefined => {
  const count = finiteNumber(value);
  return count === 0 ? undefined : count;
};

/** Summaries are billed in addition to the totals ("Compaction", on usage). Other iterations are in the totals. */
const compactionUsage = (report: Readonly<Record<string, unknown>>): Usage | undefined =>
  sumUsages(
    asArray(report['iterations'])
      .map(objectOrEmpty)
      .filter(({ type }) => type === 'compaction')
      .map((counts) =>
        usageOf({
          input: sumOfCounts(...inputCounts.map((name) => counts[name])),
          output: finiteNumber(counts['output_tokens']),
          ...cacheCounts(counts),
        }),
      ),
  );

const inputCounts = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const;
const outputCounts = ['output_tokens'] as const;
