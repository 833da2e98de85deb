import type { FinishReason } from '../../core/chunk.js';
import { numberOf } from '../../core/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { byWord, finishReasonOf as anyReason } from '../shared/finishWords.js';

/** The enum `FinishReason` of the API reference. What is in it and not here (`LANGUAGE`, `OTHER`, `IMAGE_OTHER`, `NO_IMAGE`) is `other`. */
const reasons = /* @__PURE__ */ byWord({
  stop: ['STOP'],
  length: ['MAX_TOKENS'],
  contentFilter: [
    'SAFETY',
    'RECITATION',
    'BLOCKLIST',
    'PROHIBITED_CONTENT',
    'SPII',
    'IMAGE_SAFETY',
    'IMAGE_PROHIBITED_CONTENT',
    'IMAGE_RECITATION',
    'MODEL_ARMOR',
  ],
  error: ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS', 'MISSING_THOUGHT_SIGNATURE', 'MALFORMED_RESPONSE'],
});

/** What a finish reason of the wire means: its own words first, then those of other APIs. */
export const finishReasonOf = (word: string): FinishReason => reasons.get(word) ?? anyReason(word);

/**
 * Usage as `UsageMetadata` of the API reference counts it: thoughts beside the candidates, the results of the API's own tools beside the prompt,
 * cached tokens within the prompt. Each chunk has the counts so far.
 */
export function usageFrom(counts: Record<string, unknown>): Usage {
  const [prompt, toolUse] = [numberOf(counts['promptTokenCount']), numberOf(counts['toolUsePromptTokenCount'])];
  const [candidates, thoughts] = [numberOf(counts['candidatesTokenCount']), numberOf(counts['thoughtsTokenCount'])];
  return usageOf({
    input: sum(prompt, toolUse),
    output: sum(candidates, thoughts),
    total: numberOf(counts['totalTokenCount']),
    cachedInput: numberOf(counts['cachedContentTokenCount']),
    reasoning: thoughts,
  });
}

/** What is known of two counts; of neither, nothing. */
const sum = (a: number | undefined, b: number | undefined) => (a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0));
