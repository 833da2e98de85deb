import type { FinishReason } from '../../core/chunk.js';
import { finiteNumber } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { commonFinishReason } from '../shared/finishReasons.js';
import { sumOfCounts, UsageReports } from '../shared/usageReports.js';

/** `InteractionStatus` (SDK 3.1): `incomplete` is the limit of output tokens. */
const finishReasons: ReadonlyMap<string, FinishReason> = /* @__PURE__ */ new Map([
  ['completed', 'stop'],
  ['requires_action', 'toolCalls'],
  ['incomplete', 'length'],
  ['budget_exceeded', 'length'],
  ['requires_continuation', 'paused'],
  ['failed', 'error'],
  ['cancelled', 'error'],
] as const);

const openStatuses: ReadonlySet<string> = /* @__PURE__ */ new Set(['in_progress', 'queued']);

export const toFinishReason = (status: string): FinishReason | undefined =>
  openStatuses.has(status) ? undefined : (finishReasons.get(status) ?? commonFinishReason(status));

/** In the documented example, output excludes thoughts, and input excludes the results of the API's tools. */
export class UsageCounter {
  private readonly reports = new UsageReports(inputCounts, outputCounts);

  add(counts: Record<string, unknown>): void {
    this.reports.add(counts);
  }

  total(): Usage {
    const { input, output } = this.reports;
    return usageOf({
      input: sumOfCounts(input['total_input_tokens'], input['total_tool_use_tokens']),
      output: sumOfCounts(output['total_output_tokens'], output['total_thought_tokens']),
      // A total belongs to the counts of its report.
      total: input === output ? finiteNumber(input['total_tokens']) : undefined,
      cachedInput: finiteNumber(input['total_cached_tokens']),
      reasoning: finiteNumber(output['total_thought_tokens']),
    });
  }
}

const inputCounts = ['total_input_tokens', 'total_tool_use_tokens', 'total_cached_tokens'] as const;
const outputCounts = ['total_output_tokens', 'total_thought_tokens'] as const;
