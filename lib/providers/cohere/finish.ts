import type { FinishReason } from '../../core/chunk.js';
import { ProviderError } from '../../core/errors.js';
import { finiteNumber, isJsonObject, nonEmptyString, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { errorDetails, inParentheses } from '../../protocol/errorDetails.js';
import { commonFinishReason } from '../shared/finishReasons.js';

/** The finish reasons of the Chat API; the last two are those of its version 1. */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['COMPLETE', 'stop'],
  ['STOP_SEQUENCE', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['TOOL_CALL', 'toolCalls'],
  ['ERROR_LIMIT', 'length'],
  ['ERROR_TOXIC', 'contentFilter'],
] as const);

/** The finish reason for a word of the wire. Gateways pass on the words of other APIs. */
export const toFinishReason = (rawReason: string): FinishReason =>
  finishReasons.get(rawReason.toUpperCase()) ?? commonFinishReason(rawReason);

/**
 * The error that the end of a response reports, if any. `ERROR` is "an internal error" by the reference, so that a retry may
 * succeed, as after `TIMEOUT`.
 *
 * @param delta The `delta` of `message-end`.
 */
export function readError(delta: JsonObject): ProviderError | undefined {
  const rawReason = nonEmptyString(delta['finish_reason']);
  const failed = rawReason !== undefined && /^(ERROR|TIMEOUT)$/i.test(rawReason);
  if (!failed && !delta['error']) return undefined;
  const text = errorDetails(delta['error']).message ?? 'no explanation';
  return new ProviderError('cohere', `cohere reported an error in its stream: ${text}${inParentheses(rawReason)}`, {
    retryable: failed,
    providerCode: rawReason,
    data: delta,
  });
}

/**
 * The usage at the end of a response. `tokens` is what the model read and wrote; `billed_units` omit what Cohere adds to a
 * prompt.
 *
 * @param delta The `delta` of `message-end`.
 */
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
