import type { FinishReason } from '../../core/chunk.js';
import { ProviderError, type RivuletError } from '../../core/errors.js';
import { finiteNumber, isJsonObject, nonEmptyString, objectOrEmpty, type JsonObject } from '../../core/json/json.js';
import { usageOf, type Usage } from '../../core/usage.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { hasErrorField, providerError } from '../../protocol/errorDetails.js';
import { provider } from './models.js';

export const endEvents: ReadonlyMap<unknown, string> = new Map([
  ['response.completed', 'completed'],
  ['response.done', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
  ['response.cancelled', 'cancelled'],
]);
const endStatuses: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

/**
 * `IncompleteDetails` (SDK openai 7.57). `steered`: the server continues by itself, so no request follows. Any other
 * reason, or none, is that of a response that was cut.
 */
const finishReasons: ReadonlyMap<string | undefined, FinishReason> = new Map([
  ['max_output_tokens', 'length'],
  ['max_tokens', 'length'],
  ['max_messages', 'limit'],
  ['content_filter', 'contentFilter'],
  ['steered', 'other'],
] as const);

/** The status in the response of a `completed` event counts more than the event. */
export function readEndStatus(eventType: string, response: JsonObject): string | undefined {
  const eventStatus = endEvents.get(eventType);
  const status = nonEmptyString(response['status']);
  return eventStatus === 'completed' && endStatuses.has(status) ? status : eventStatus;
}

export function readFinish(
  status: string,
  response: JsonObject,
  hasCalls: boolean,
  unknownCall?: string,
): { readonly reason: FinishReason; readonly rawReason: string } {
  if (status === 'completed' && !hasCalls && unknownCall !== undefined)
    return { reason: 'other', rawReason: unknownCall };
  if (status === 'completed') return { reason: hasCalls ? 'toolCalls' : 'stop', rawReason: status };
  const rawReason = nonEmptyString(objectOrEmpty(response['incomplete_details'])['reason']);
  return { reason: finishReasons.get(rawReason) ?? 'length', rawReason: rawReason ?? status };
}

export function createResponseError(status: string, response: JsonObject): RivuletError {
  if (hasErrorField(response))
    return providerError(provider, { error: response['error'] ?? null }, contextLengthPatterns);
  const problem = status === 'failed' ? 'failed' : 'was cancelled';
  return new ProviderError(provider, `${provider} reported that the response ${problem}, without a reason.`, {
    retryable: false,
    providerCode: status,
    data: response,
  });
}

/** The type is `error` (reference); gateways send `{ error: { ... } }` without a type. */
export function isErrorEvent(type: string | undefined, event: JsonObject): boolean {
  return type === 'error' || type === 'response.error' || (type === undefined && hasErrorField(event));
}

/** Zeros are a placeholder, because a prompt has at least one token. */
export function readUsage({ usage }: JsonObject): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const input = objectOrEmpty(usage['input_tokens_details']);
  const output = objectOrEmpty(usage['output_tokens_details']);
  const counts = usageOf({
    input: finiteNumber(usage['input_tokens']),
    output: finiteNumber(usage['output_tokens']),
    total: finiteNumber(usage['total_tokens']),
    cachedInput: finiteNumber(input['cached_tokens']),
    cacheWriteInput: finiteNumber(input['cache_write_tokens']),
    reasoning: finiteNumber(output['reasoning_tokens']),
  });
  return Object.values(counts).some((count) => count > 0) ? counts : undefined;
}
