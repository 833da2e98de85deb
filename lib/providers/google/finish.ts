import type { FinishReason } from '../../core/chunk.js';
import { finiteNumber } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { commonFinishReason } from '../shared/finishReasons.js';
import { UsageReports, sumOfCounts } from '../shared/usageReports.js';

/**
 * The finish reasons for the values of the enum `FinishReason` (SDK 3.1), except `FINISH_REASON_UNSPECIFIED`. After
 * `CONTINUATION`, the API expects the same request again, with the token of the response.
 */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['SAFETY', 'contentFilter'],
  ['RECITATION', 'contentFilter'],
  ['BLOCKLIST', 'contentFilter'],
  ['PROHIBITED_CONTENT', 'contentFilter'],
  ['SPII', 'contentFilter'],
  ['IMAGE_SAFETY', 'contentFilter'],
  ['IMAGE_PROHIBITED_CONTENT', 'contentFilter'],
  ['IMAGE_RECITATION', 'contentFilter'],
  ['MODEL_ARMOR', 'contentFilter'],
  ['ESCALATION', 'contentFilter'],
  ['PUP_LIMITED_DISABLED', 'contentFilter'],
  ['MALFORMED_FUNCTION_CALL', 'error'],
  ['MALFORMED_RESPONSE', 'error'],
  ['UNEXPECTED_TOOL_CALL', 'error'],
  ['TOO_MANY_TOOL_CALLS', 'error'],
  ['MISSING_THOUGHT_SIGNATURE', 'error'],
  ['LANGUAGE', 'other'],
  ['NO_IMAGE', 'other'],
  ['IMAGE_OTHER', 'other'],
  ['CONTINUATION', 'paused'],
  ['OTHER', 'other'],
] as const);

/** Returns the finish reason for a raw finish reason. Gateways also send the raw finish reasons of other APIs. */
export const toFinishReason = (rawReason: string): FinishReason =>
  finishReasons.get(rawReason) ?? commonFinishReason(rawReason);

/**
 * Collects the token counts of one response. The counts are cumulative. According to `UsageMetadata` in the API
 * reference, `candidatesTokenCount` does not include thoughts, and `promptTokenCount` includes cached tokens but not
 * the results of the API's own tools.
 */
export class UsageCounter {
  private readonly reports = new UsageReports(inputCounts, outputCounts);

  add(counts: Record<string, unknown>): void {
    this.reports.add(counts);
  }

  total(): Usage {
    const { input, output } = this.reports;
    return usageOf({
      input: sumOfCounts(input['promptTokenCount'], input['toolUsePromptTokenCount']),
      output: sumOfCounts(output['candidatesTokenCount'], output['thoughtsTokenCount']),
      // A total belongs to the counts of its report.
      total: input === output ? finiteNumber(input['totalTokenCount']) : undefined,
      cachedInput: finiteNumber(input['cachedContentTokenCount']),
      reasoning: finiteNumber(output['thoughtsTokenCount']),
    });
  }
}

const inputCounts = ['promptTokenCount', 'toolUsePromptTokenCount', 'cachedContentTokenCount'] as const;
const outputCounts = ['candidatesTokenCount', 'thoughtsTokenCount'] as const;
