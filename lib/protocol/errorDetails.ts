import { ContextLengthError, type ContextLengthDetails } from '../core/contextLengthError.js';
import { ProviderError, type RivuletError } from '../core/errors.js';
import { isRecord, objectOrEmpty, nonEmptyString, tryParseJson } from '../core/json/json.js';
import { normalizeCode, permanentAdvice } from './permanentErrors.js';

export interface ErrorDetails {
  /** The provider's message, followed by the upstream's where a gateway forwards it (OpenRouter's `metadata.raw`). */
  readonly message: string | undefined;
  readonly codes: readonly string[];
}

export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || (status >= 500 && status <= 599);
}

/** Parts of the codes of errors that arrive within a stream, where the status is 200, and may be gone later. */
const transientCodes = [
  'ratelimit',
  'overloaded',
  'toomany',
  'unavailable',
  'resourceexhausted',
  'internal',
  'servererror',
  'apierror',
  'timeout',
  'timedout',
  'deadlineexceeded',
  'aborted',
];

export function isTransient(error: ErrorDetails, json?: unknown): boolean {
  if (permanentAdvice(error, json) !== undefined) return false;
  const codes = error.codes.map(normalizeCode);
  return codes.some((code) => transientCodes.some((part) => code.includes(part)) || isRetryableStatus(Number(code)));
}

export const errorTextFields = [
  'error',
  'message',
  'detail',
  'details',
  'error_message',
  'error_msg',
  'status_msg',
  'msg',
  'errors',
  'base_resp', // MiniMax
] as const;

/** OpenAI, Anthropic, Google (also in an array), Ollama (a text), Cohere, Mistral (`message`), FastAPI (`detail`). */
export function errorDetails(json: unknown): ErrorDetails {
  if (Array.isArray(json)) return firstWithMessage(json);
  if (!isRecord(json)) return { message: nonEmptyString(json), codes: [] };
  const { message, codes } = firstWithMessage(errorTextFields.map((field) => json[field]));
  const metadata = objectOrEmpty(json['metadata']);
  const raw = nonEmptyString(metadata['raw']);
  const { code, status, status_code, statusCode, type } = json;
  const text = raw === undefined || message === undefined ? (message ?? raw) : `${message}: ${raw}`;
  const ownCodes = [code, status, status_code, statusCode, type, metadata['error_type']];
  return { message: shorten(withPlace(text, json)), codes: [...codes, ...ownCodes.flatMap(codeText)] };
}

/** The place in the request, which some errors have in a field of its own: OpenAI's `param`, FastAPI's `loc`. */
function withPlace(message: string | undefined, { param, loc }: Readonly<Record<string, unknown>>) {
  const place = Array.isArray(loc) ? loc.join('.') : param;
  const isNew = message !== undefined && typeof place === 'string' && /\d/.test(place) && !message.includes(place);
  return isNew ? `${message} (at ${place})` : message;
}

const MAX_MESSAGE_LENGTH = 1000;

const shorten = (text: string | undefined): string | undefined =>
  text !== undefined && text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH)}...` : text;

const MAX_CODE_LENGTH = 200;

function codeText(code: unknown): readonly string[] {
  if (typeof code === 'number') return [String(code)];
  return typeof code === 'string' && code !== '' && code !== 'error' ? [code.slice(0, MAX_CODE_LENGTH)] : [];
}

const firstWithMessage = (values: readonly unknown[]): ErrorDetails =>
  values.map(errorDetails).find(({ message }) => message !== undefined) ?? { message: undefined, codes: [] };

/** A word rather than a number: Google sends the status as `code` and its meaning as `status`. */
export const primaryCode = (codes: readonly string[]): string | undefined =>
  codes.find((code) => !/^\d+$/.test(code)) ?? codes[0];

/** The values of an `error` field that report no error: some builds of Ollama send an empty text. */
const absentErrors: ReadonlySet<unknown> = new Set([undefined, null, false, '']);

export function hasErrorField(json: unknown): boolean {
  if (Array.isArray(json)) return hasErrorField(json[0]);
  return isRecord(json) && !absentErrors.has(json['error']);
}

/** It has an `error`, MiniMax's `base_resp`, or only a message with its code. */
export function isErrorDocument(json: unknown): boolean {
  if (hasErrorField(json)) return true;
  if (!isRecord(json)) return false;
  const { message, codes } = errorDetails(isRecord(json['base_resp']) ? json['base_resp'] : json);
  return message !== undefined && codes.some((code) => !/^(?:0|200|ok|success)$/i.test(code));
}

/** `error: {...}`, as llama.cpp wrote it until September 2025 (ggml-org/llama.cpp#16109). */
function errorField(text: string): unknown {
  const value = /^error: ?(.+)$/m.exec(text)?.[1];
  return value === undefined ? undefined : { error: tryParseJson(value) ?? value };
}

/** The text may be JSON, or contain the field of an error; undefined if there is none. */
export function textError(provider: string, text: string, patterns?: readonly RegExp[]): RivuletError | undefined {
  const json = tryParseJson(text) ?? errorField(text);
  return hasErrorField(json) ? providerError(provider, json, patterns) : undefined;
}

/**
 * The error that a provider reported in a response with status 200.
 *
 * @param provider The model's provider.
 * @param json The frame or body, parsed.
 * @param patterns The messages of a context that is too long, in addition to OpenAI's. Default: none.
 * @returns An error with the provider's message and code; retryable when the code is transient (overload, rate limit,
 * 5xx). A ContextLengthError when the provider reports that the context is too long.
 */
export function providerError(provider: string, json: unknown, patterns?: readonly RegExp[]): RivuletError {
  const details = errorDetails(json);
  const { message, codes } = details;
  const providerCode = primaryCode(codes);
  const text = `${provider} reported an error: ${message ?? 'no explanation'}${inParentheses(providerCode)}`;
  return (
    contextLengthError(`${text}.`, details, { provider, providerCode, data: json }, patterns) ??
    new ProviderError(provider, text, { retryable: isTransient(details, json), providerCode, data: json })
  );
}

/** The statuses of a context that is too long. Undefined: the error arrived within a stream. */
const contextLengthStatuses: readonly (number | undefined)[] = [undefined, 400, 413, 422];

/** `text` is what the provider reported; `patterns` are messages in addition to OpenAI's. */
export function contextLengthError(
  text: string,
  { message = '', codes }: ErrorDetails,
  details: ContextLengthDetails,
  patterns?: readonly RegExp[],
): ContextLengthError | undefined {
  const { status } = details;
  const hasCode = codes.some(isContextLengthCode);
  // A limit of tokens per minute is reported in similar words, with status 413 or 429 and the code of a rate limit.
  if (status === 429 || (!hasCode && (isTransient({ message, codes }) || !contextLengthStatuses.includes(status))))
    return undefined;
  const context = readContextLength(message, codes, patterns);
  return context && new ContextLengthError(text, { ...details, ...context });
}

export const inParentheses = (text: string | undefined): string => (text === undefined ? '' : ` (${text})`);

/** One line of at most 200 characters; of a page, its title. Empty for JSON: it may be the request. */
export function excerpt(text: string): string {
  const beginning = withoutMarkup(text.slice(0, 4000)).slice(0, 1000).replace(/\s+/g, ' ').trim();
  if (/^[[{]|\{ ?"/.test(beginning)) return '';
  return beginning.length > 200 ? `${beginning.slice(0, 200)}...` : beginning;
}

function withoutMarkup(text: string): string {
  if (!/^\s*</.test(text)) return text;
  const title = /<title[^>]*>([^<]+)/i.exec(text)?.[1];
  return title ?? text.replace(/<(style|script)\b.*?(?:<\/\1>|$)/gis, ' ').replace(/<[^>]*(?:>|$)/g, ' ');
}

export function quoted(text: string): string {
  const beginning = excerpt(text);
  return beginning === '' ? '' : `: "${beginning}"`;
}

interface ContextLength {
  readonly limit?: number | undefined;
  readonly tokens?: number | undefined;
}

/** In lower case, without separators. */
const contextLengthCodes: readonly string[] = [
  'contextlengthexceeded', // OpenAI, Azure, Groq, Cerebras: github.com/ChatGPTNextWeb/NextChat/issues/625
  'exceedcontextsizeerror', // llama.cpp: github.com/ggml-org/llama.cpp/pull/15780
];

const contextLengthMessages: readonly RegExp[] = [
  // OpenAI: github.com/webtimemachine/wtm2/issues/579
  /maximum context length is (?<limit>[\d,]+) tokens(?:\. However, your messages resulted in (?<tokens>[\d,]+))?/,
  // OpenAI Responses: github.com/dyad-sh/dyad/issues/1672
  /input exceeds the context window of this model/,
];

/** `patterns` of other servers (`contextLengthPatterns`) are tried first. */
export function readContextLength(
  message: string,
  providerCodes: readonly string[],
  patterns: readonly RegExp[] = [],
): ContextLength | undefined {
  for (const pattern of [...patterns, ...contextLengthMessages]) {
    const match = pattern.exec(message);
    if (match) return { limit: number(match.groups?.['limit']), tokens: number(match.groups?.['tokens']) };
  }
  return providerCodes.some(isContextLengthCode) ? {} : undefined;
}

const isContextLengthCode = (code: string): boolean =>
  contextLengthCodes.includes(code.toLowerCase().replace(/[^a-z]/g, ''));

const number = (digits: string | undefined): number | undefined =>
  digits === undefined ? undefined : Number(digits.replaceAll(',', ''));
