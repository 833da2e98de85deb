import type { FinishReason } from '../../core/chunk.js';
import { ProviderError, type RivuletError } from '../../core/errors.js';
import { finiteNumber, isJsonObject, nonEmptyString, objectOrEmpty, type JsonObject } from '../../core/json/json.js';
import { usageOf, type Usage } from '../../core/usage.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { contextLengthError, errorDetails, inParentheses } from '../../protocol/errorDetails.js';
import { readFinishReason } from '../shared/finishReasons.js';

export const toFinishReason = (rawReason: string): FinishReason =>
  readFinishReason(rawReason, [
    ['length', /^ERROR_LIMIT$/i],
    ['contentFilter', /^ERROR_TOXIC$/i],
  ]);

/** `ERROR` is "an internal error" (reference), so a retry may succeed, as after `TIMEOUT`. */
export function readError(delta: JsonObject): RivuletError | undefined {
  const rawReason = nonEmptyString(delta['finish_reason']);
  const failed = rawReason !== undefined && /^(ERROR|TIMEOUT)$/i.test(rawReason);
  if (!failed && !delta['error']) return undefined;
  const reported = errorDetails(delta['error']);
  const message = reported.message ?? 'no explanation';
  const text = `cohere reported an error in its stream: ${message}${inParentheses(rawReason)}`;
  const details = { provider: 'cohere', providerCode: rawReason, data: delta };
  return (
    contextLengthError(`${text}.`, reported, details, contextLengthPatterns) ??
    new ProviderError('cohere', text, { ...details, retryable: failed })
  );
}

/** `tokens` counts all that the model read and wrote; `billed_units` excludes what Cohere adds. */
export function readUsage(delta: JsonObject): Usage {
  const usage = objectOrEmpty(delta['usage']);
  const { tokens } = usage;
  if (!isJsonObject(tokens)) return {};
  return usageOf({
    input: finiteNumber(tokens['input_tokens']),
    output: finiteNumber(tokens['output_tokens']),
    cachedInput: finiteNumber(usage['cached_tokens']),
  });
}
