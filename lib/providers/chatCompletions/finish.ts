import { ProviderError } from '../../core/errors.js';
import { isRecord, asArray, finiteNumber, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { errorDetails, inParentheses, isTransient, errorTextFields } from '../../protocol/errorDetails.js';

/** The wire's finish reason, if it is one: servers send `""` and `"null"` for none. */
export function finishWord(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const word = value.trim();
  return word === '' || word.toLowerCase() === 'null' ? undefined : word;
}

/**
 * The usage of a frame: at its top, in `x_groq` (Groq), or in the choice (Moonshot). Undefined where no count is given, or all are 0: a prompt has
 * at least one token, so zeros are a server's placeholder (LocalAI sends them with every chunk).
 */
export function usageIn(
  frame: Record<string, unknown>,
  choice: Record<string, unknown> | undefined,
): Usage | undefined {
  const groq = frame['x_groq'];
  if (!frame['usage'] && !groq && !choice?.['usage']) return undefined; // nearly every frame
  const places = [frame['usage'], objectOrEmpty(groq)['usage'], choice?.['usage']];
  return places
    .filter(isRecord)
    .map(usageFrom)
    .find((usage) => Object.values(usage).some((count) => count > 0));
}

/** Cached tokens are told of in four places: OpenAI's, DeepSeek's, Moonshot's and Together's, and that of gateways to Anthropic. */
function usageFrom(usage: Record<string, unknown>): Usage {
  const ofPrompt = objectOrEmpty(usage['prompt_tokens_details']);
  const ofCompletion = objectOrEmpty(usage['completion_tokens_details']);
  const first = (...values: unknown[]) => values.map(finiteNumber).find((value) => value !== undefined);
  const input = first(usage['prompt_tokens'], usage['input_tokens']);
  const completion = first(usage['completion_tokens'], usage['output_tokens']);
  const total = first(usage['total_tokens']);
  const reasoning = first(ofCompletion['reasoning_tokens'], usage['reasoning_tokens']);
  return usageOf({
    input,
    output: countsReasoningApart(input, completion, reasoning, total)
      ? (completion ?? 0) + (reasoning ?? 0)
      : completion,
    total,
    cachedInput: first(
      ofPrompt['cached_tokens'],
      usage['prompt_cache_hit_tokens'],
      usage['cached_tokens'],
      usage['cache_read_input_tokens'],
    ),
    cacheWriteInput: first(ofPrompt['cache_write_tokens'], usage['cache_creation_input_tokens']),
    reasoning,
  });
}

/** xAI counts reasoning beside the completion, OpenAI within it. The total tells which. */
function countsReasoningApart(input = 0, completion = 0, reasoning = 0, total?: number): boolean {
  return reasoning > 0 && (total === undefined ? reasoning > completion : total === input + completion + reasoning);
}

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
  return new ProviderError(provider, `${provider} reported an error in its stream: ${text}${inParentheses(codes[0])}`, {
    retryable: isTransient(codes),
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
  return isRecord(status) && typeof status['status_code'] === 'number' && status['status_code'] !== 0
    ? status
    : undefined;
}

/** An `error` of null, `""`, `{}` or `{ "code": 0, "message": "" }` reports nothing. */
function saysSomething(value: unknown): boolean {
  if (isRecord(value)) return Object.values(value).some(saysSomething);
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/** Whether a frame is an error through and through: it calls itself one, or it has a text for people and nothing of an answer. */
function isErrorItself(frame: JsonObject): boolean {
  if (asArray(frame['choices']).length > 0 || isRecord(frame['usage'])) return false;
  if (frame['object'] === 'error' || frame['type'] === 'error') return true;
  if (typeof frame['object'] === 'string' && frame['object'].startsWith('chat.completion')) return false;
  if (errorDetails(frame).codes.some((code) => /^(0|200|ok|success|ping)$/i.test(code))) return false; // a notice of a gateway that all is well
  return errorTextFields.some((field) =>
    (field.startsWith('detail') || field === 'errors' ? saysSomething : nonEmptyString)(frame[field]),
  );
}
