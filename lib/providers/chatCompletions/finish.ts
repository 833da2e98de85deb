import { ProviderError, type RivuletError } from '../../core/errors.js';
import { asArray, finiteNumber, isJsonObject, isRecord, nonEmptyString, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { usageOf, type Usage } from '../../core/usage.js';
import {
  contextLengthError,
  errorDetails,
  errorTextFields,
  inParentheses,
  isTransient,
  primaryCode,
} from '../../protocol/errorDetails.js';
import type { Dialect } from './dialect.js';

/** Some servers write `""` or `"null"` for no reason. */
export function readRawReason(choice: JsonObject): string | undefined {
  const value = choice['finish_reason'];
  if (typeof value !== 'string') return undefined;
  const rawReason = value.trim();
  return rawReason === '' || rawReason.toLowerCase() === 'null' ? undefined : rawReason;
}

/** Also in `x_groq` (Groq) or the choice (Moonshot). Zeros are placeholders (LocalAI): a prompt has a token. */
export function readUsage(frame: JsonObject, choice: JsonObject | undefined): Usage | undefined {
  const groq = frame['x_groq'];
  if (!frame['usage'] && !groq && !choice?.['usage']) return undefined; // nearly every frame
  return [frame['usage'], objectOrEmpty(groq)['usage'], choice?.['usage']]
    .filter(isJsonObject)
    .map(toUsage)
    .find((usage) => Object.values(usage).some((count: number) => count > 0));
}

/** Cached tokens: the fields of OpenAI, DeepSeek, Moonshot and Together, and gateways to Anthropic. */
function toUsage(usage: JsonObject): Usage {
  const promptDetails = objectOrEmpty(usage['prompt_tokens_details']);
  const completionDetails = objectOrEmpty(usage['completion_tokens_details']);
  const input = firstCount(usage['prompt_tokens'], usage['input_tokens']);
  const completion = firstCount(usage['completion_tokens'], usage['output_tokens']);
  const total = finiteNumber(usage['total_tokens']);
  const reasoning = firstCount(completionDetails['reasoning_tokens'], usage['reasoning_tokens']);
  const addsReasoning = isReasoningSeparate(input, completion, reasoning, total);
  return usageOf({
    input,
    output: addsReasoning ? (completion ?? 0) + (reasoning ?? 0) : completion,
    total,
    cachedInput: firstCount(
      promptDetails['cached_tokens'],
      usage['prompt_cache_hit_tokens'],
      usage['cached_tokens'],
      usage['cache_read_input_tokens'],
    ),
    cacheWriteInput: firstCount(promptDetails['cache_write_tokens'], usage['cache_creation_input_tokens']),
    reasoning,
  });
}

function firstCount(...values: readonly unknown[]): number | undefined {
  for (const value of values) {
    const count = finiteNumber(value);
    if (count !== undefined) return count;
  }
  return undefined;
}

/** xAI excludes reasoning from completion tokens, OpenAI does not: the total or more reasoning shows it. */
function isReasoningSeparate(input = 0, completion = 0, reasoning = 0, total?: number): boolean {
  if (reasoning === 0) return false;
  return total === undefined ? reasoning > completion : total === input + completion + reasoning;
}

/** After status 200, `error` may also be in the choice (OpenRouter) or `x_groq`, or a bare `{ detail }` (FastAPI). */
export function readError(
  {
    provider,
    contextLengthPatterns,
    otherContent,
  }: Pick<Dialect, 'provider' | 'contextLengthPatterns' | 'otherContent'>,
  frame: JsonObject,
  event: string | undefined,
  choice: JsonObject | undefined,
): RivuletError | undefined {
  const reported =
    reportedError(frame, choice) ??
    otherContent?.readFailure(frame) ??
    (event === 'error' || isErrorFrame(frame) ? frame : undefined);
  if (reported === undefined) return undefined;
  const inner = errorDetails(reported);
  const outer = errorDetails(frame);
  const codes = [...inner.codes, ...outer.codes];
  const message = inner.message ?? outer.message ?? JSON.stringify(reported).slice(0, MAX_QUOTE);
  const providerCode = primaryCode(codes);
  const text = `${provider} reported an error in its stream: ${message}${inParentheses(providerCode)}`;
  const details = { provider, providerCode, data: frame };
  return (
    contextLengthError(`${text}.`, { message, codes }, details, contextLengthPatterns) ??
    new ProviderError(provider, text, { ...details, retryable: isTransient({ message, codes }, frame) })
  );
}

function reportedError(frame: JsonObject, choice: JsonObject | undefined): unknown {
  const { x_groq: groq } = frame;
  if (!frame['error'] && !choice?.['error'] && !groq) return undefined;
  return [frame['error'], choice?.['error'], objectOrEmpty(groq)['error']].find((error) => hasContent(error));
}

const MAX_QUOTE = 500;

const MAX_EMPTY_DEPTH = 8;

/** `{ "code": 0, "message": "" }` is none. Many levels are one: content may be cut off (`MAX_FRAME_DEPTH`). */
function hasContent(value: unknown, depth = 0): boolean {
  if (depth > MAX_EMPTY_DEPTH) return true;
  if (isRecord(value)) return Object.values(value).some((inner) => hasContent(inner, depth + 1));
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function isErrorFrame(frame: JsonObject): boolean {
  if (asArray(frame['choices']).length > 0 || isRecord(frame['usage'])) return false;
  const { object } = frame;
  if (object === 'error' || frame['type'] === 'error') return true;
  if (typeof object === 'string' && object.startsWith('chat.completion')) return false;
  // Some gateways send status frames that report success.
  if (errorDetails(frame).codes.some((code) => /^(0|200|ok|success|ping)$/i.test(code))) return false;
  return errorTextFields.some((field) => {
    const hasDetails = field.startsWith('detail') || field === 'errors';
    return hasDetails ? hasContent(frame[field]) : nonEmptyString(frame[field]) !== undefined;
  });
}
