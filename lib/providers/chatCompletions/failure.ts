import { ProviderError } from '../../core/errors.js';
import { isRecord, textOf } from '../../core/json.js';
import type { JsonObject } from '../../core/json.js';
import { errorDetails, inBrackets, isPassing, textFields } from '../../protocol/errorDetails.js';
import { listOf } from '../shared/values.js';

/**
 * The error that a frame reports, if it does. Servers do it in many ways after a status 200: `error` as object or string at the top (OpenAI,
 * OpenRouter) or in the choice (OpenRouter), `event: error`, `{ "object": "error", ... }` (vLLM), a bare `{ "detail" }` or `{ "message", "code" }`
 * (FastAPI, gateways).
 *
 * @param provider The provider, for the error.
 * @param frame The frame, parsed.
 * @param event Its `event:` field.
 * @param choice The choice that counts, where the frame has one.
 */
export function failureIn(
  provider: string,
  frame: JsonObject,
  event: string | undefined,
  choice: JsonObject | undefined,
): ProviderError | undefined {
  const found = reportedIn(frame, choice) ?? (event === 'error' || isErrorItself(frame) ? frame : undefined);
  if (found === undefined) return undefined;
  const [own, whole] = [errorDetails(found), errorDetails(frame)];
  const codes = [...own.codes, ...whole.codes];
  const text = own.message ?? whole.message ?? JSON.stringify(found);
  return new ProviderError(provider, `${provider} reported an error in its stream: ${text}${inBrackets(codes[0])}`, {
    retryable: isPassing(codes),
    providerCode: codes[0],
    data: frame,
  });
}

function reportedIn(frame: JsonObject, choice: JsonObject | undefined): unknown {
  if (!frame['error'] && !choice?.['error'] && !frame['base_resp']) return undefined; // nearly every frame
  return [frame['error'], choice?.['error'], failedStatus(frame['base_resp'])].find(saysSomething);
}

/** MiniMax closes every answer with `base_resp: { status_code, status_msg }`; 0 is success. */
function failedStatus(status: unknown): unknown {
  return isRecord(status) && typeof status['status_code'] === 'number' && status['status_code'] !== 0 ? status : undefined;
}

/** An `error` of null, `""`, `{}` or `{ "code": 0, "message": "" }` reports nothing. */
function saysSomething(value: unknown): boolean {
  if (isRecord(value)) return Object.values(value).some(saysSomething);
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/** Whether a frame is an error through and through: it calls itself one, or it has a text for people and nothing of an answer. */
function isErrorItself(frame: JsonObject): boolean {
  if (listOf(frame['choices']).length > 0 || isRecord(frame['usage'])) return false;
  if (frame['object'] === 'error' || frame['type'] === 'error') return true;
  if (typeof frame['object'] === 'string' && frame['object'].startsWith('chat.completion')) return false;
  if (errorDetails(frame).codes.some((code) => /^(0|200|ok|success|ping)$/i.test(code))) return false; // a notice of a gateway that all is well
  return textFields.some((field) => (field.startsWith('detail') || field === 'errors' ? saysSomething : textOf)(frame[field]));
}
