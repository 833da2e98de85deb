import type { FinishReason } from '../../core/chunk.js';
import { finiteNumber } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { finishReasonOf as anyReason } from '../shared/finishReasons.js';

/** What the enum `FinishReason` of the API reference has beside the words that other APIs have too. `OTHER`, `LANGUAGE`, `NO_IMAGE` are `other`. */
const filtered = /^(IMAGE_(SAFETY|PROHIBITED_CONTENT|RECITATION)|MODEL_ARMOR)$/;
const failed =
  /^(MALFORMED_(FUNCTION_CALL|RESPONSE)|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS|MISSING_THOUGHT_SIGNATURE)$/;

/** What a finish reason of the wire means. */
export function finishReasonOf(word: string): FinishReason {
  if (filtered.test(word)) return 'contentFilter';
  return failed.test(word) ? 'error' : anyReason(word);
}

/**
 * Usage as `UsageMetadata` of the API reference counts it: thoughts beside the candidates, the results of the API's own tools beside the prompt,
 * cached tokens within the prompt. Each chunk has the counts so far.
 */
export function usageFrom(counts: Record<string, unknown>): Usage {
  const [prompt, toolUse] = [finiteNumber(counts['promptTokenCount']), finiteNumber(counts['toolUsePromptTokenCount'])];
  const [candidates, thoughts] = [
    finiteNumber(counts['candidatesTokenCount']),
    finiteNumber(counts['thoughtsTokenCount']),
  ];
  return usageOf({
    input: sum(prompt, toolUse),
    output: sum(candidates, thoughts),
    total: finiteNumber(counts['totalTokenCount']),
    cachedInput: finiteNumber(counts['cachedContentTokenCount']),
    reasoning: thoughts,
  });
}

/** What is known of two counts; of neither, nothing. */
const sum = (a: number | undefined, b: number | undefined) =>
  a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
