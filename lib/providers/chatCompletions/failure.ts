import { ProviderError } from '../../core/errors.js';
import { isRecord, textOf } from '../../core/json.js';
import type { JsonObject } from '../../core/json.js';
import { isRetryableStatus } from '../../protocol/errorDetails.js';
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
  const text = errorTextIn(found) ?? errorTextIn(frame) ?? JSON.stringify(found);
  const words = [...codesIn(found), ...codesIn(frame)];
  const code = words[0];
  const told = code === undefined ? '' : ` (code ${code})`;
  return new ProviderError(provider, `${provider} reported an error in its stream: ${text}${told}`, {
    retryable: isTransient(words),
    ...(code === undefined ? {} : { providerCode: code }),
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

const messageFields = ['message', 'detail', 'details', 'error_message', 'error_msg', 'status_msg', 'msg', 'error', 'errors'] as const;

/** Whether a frame is an error through and through: it calls itself one, or it has a text for people and nothing of an answer. */
function isErrorItself(frame: JsonObject): boolean {
  if (listOf(frame['choices']).length > 0 || isRecord(frame['usage'])) return false;
  if (frame['object'] === 'error' || frame['type'] === 'error') return true;
  if (typeof frame['object'] === 'string' && frame['object'].startsWith('chat.completion')) return false;
  if (codesIn(frame).some((code) => /^(0|200|ok|success|ping)$/i.test(code))) return false; // a notice of a gateway that all is well
  return messageFields.some((field) =>
    field.startsWith('detail') || field === 'errors' ? saysSomething(frame[field]) : textOf(frame[field]) !== undefined,
  );
}

/** What an error says to people; the upstream's own words (OpenRouter's `metadata.raw`) behind the gateway's. */
function errorTextIn(error: unknown): string | undefined {
  if (!isRecord(error)) return typeof error === 'string' ? error : undefined;
  const text = messageFields.map((field) => wordsOf(error[field])).find((words) => words !== undefined);
  const raw = isRecord(error['metadata']) ? textOf(error['metadata']['raw']) : undefined;
  return raw === undefined ? text : [text, raw].filter(Boolean).join(': ');
}

function wordsOf(value: unknown): string | undefined {
  if (isRecord(value)) return textOf(value['message']) ?? (saysSomething(value) ? JSON.stringify(value) : undefined);
  return Array.isArray(value) && value.length > 0 ? JSON.stringify(value) : textOf(value);
}

/** The codes of an error, the most telling first. */
function codesIn(error: unknown): readonly string[] {
  if (!isRecord(error)) return [];
  const metadata = isRecord(error['metadata']) ? error['metadata'] : {};
  return [error['code'], error['status'], error['status_code'], error['statusCode'], error['type'], metadata['error_type']].flatMap(
    (code) => (typeof code === 'number' ? [String(code)] : code === 'error' ? [] : (textOf(code) ?? [])),
  );
}

const transientWords = /ratelimit|toomanyrequests|overloaded|servererror|internalerror|unavailable|timeout|timedout|resourceexhausted/;
/** Waiting does not fill an account, although these come with 429. */
const lastingWords = /insufficientquota|billing|insufficientbalance/;

/** Whether the same request may succeed later: by a status among the codes, or a word that says so. */
function isTransient(codes: readonly string[]): boolean {
  const words = codes.map((code) => code.toLowerCase().replace(/[^a-z0-9]/g, ''));
  if (words.some((word) => lastingWords.test(word))) return false;
  return words.some((word) => isRetryableStatus(Number(word)) || transientWords.test(word));
}
