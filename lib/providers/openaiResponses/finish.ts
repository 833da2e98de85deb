import type { FinishReason } from '../../core/chunk.js';
import { ProviderError } from '../../core/errors.js';
import { isJsonObject, finiteNumber, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { providerError, hasErrorField } from '../../protocol/errorDetails.js';
import { provider } from './models.js';

/** How a response ended. */
export interface Ending {
  readonly reason: FinishReason;
  /** The wire's word for it. */
  readonly word: string;
}

/** The events that carry the whole response at its end. The event says how it ended, unless the response's own status does. */
const endings: ReadonlyMap<string, string> = new Map([
  ['response.completed', 'completed'],
  ['response.done', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
  ['response.cancelled', 'cancelled'],
]);

/** The reasons of `incomplete_details` (reference, "The response object"); `max_tokens` is sent by other servers. */
const cuts: ReadonlyMap<string, FinishReason> = new Map([
  ['max_output_tokens', 'length'],
  ['max_tokens', 'length'],
  ['content_filter', 'contentFilter'],
]);

/** The status of a response that is over, if the event says that it is: `completed`, `incomplete`, `failed` or `cancelled`. */
export function statusOf(type: string, response: JsonObject): string | undefined {
  const said = endings.get(type);
  const status = nonEmptyString(response['status']);
  const over = [...endings.values()].find((word) => word === status);
  return said === 'completed' ? (over ?? said) : said;
}

/** Why a response that did not fail ended. A completed one stopped for its calls, if it has any. */
export function endingOf(status: string, response: JsonObject, called: boolean): Ending {
  if (status === 'completed') return { reason: called ? 'toolCalls' : 'stop', word: status };
  const word = nonEmptyString(objectOrEmpty(response['incomplete_details'])['reason']);
  return { reason: cuts.get(word ?? '') ?? 'other', word: word ?? status };
}

/** The error of a response that failed, or was cancelled by someone. */
export function failureOf(status: string, response: JsonObject): ProviderError {
  if (hasErrorField(response)) return providerError(provider, { error: response['error'] ?? null });
  return new ProviderError(
    provider,
    `${provider} reported that the response ${status === 'failed' ? 'failed' : 'was cancelled'}, and not why.`,
    {
      retryable: false,
      providerCode: status,
      data: response,
    },
  );
}

/** Whether an event is an error: `error` by the reference, with code and message at its top; gateways send `{ error: { ... } }` without a type. */
export function isError(type: string | undefined, frame: JsonObject): boolean {
  return type === 'error' || type === 'response.error' || (type === undefined && hasErrorField(frame));
}

/** The usage of a response; none where no count is given, or all are 0, which is a placeholder: a prompt has at least one token. */
export function usageIn({ usage }: JsonObject): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const input = objectOrEmpty(usage['input_tokens_details']);
  const output = objectOrEmpty(usage['output_tokens_details']);
  const found = usageOf({
    input: finiteNumber(usage['input_tokens']),
    output: finiteNumber(usage['output_tokens']),
    total: finiteNumber(usage['total_tokens']),
    cachedInput: finiteNumber(input['cached_tokens']),
    cacheWriteInput: finiteNumber(input['cache_write_tokens']),
    reasoning: finiteNumber(output['reasoning_tokens']),
  });
  return Object.values(found).some((count) => count > 0) ? found : undefined;
}
