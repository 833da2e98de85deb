import { ProviderError } from '../core/errors.js';
import { isRecord, objectOrEmpty, nonEmptyString } from '../core/json/json.js';

/** What a provider's JSON says of an error. */
export interface ErrorDetails {
  /** The provider's text; behind it the upstream's own words, where a gateway hands them on (OpenRouter's `metadata.raw`). */
  readonly message: string | undefined;
  /** Its codes and types, the innermost first. */
  readonly codes: readonly string[];
}

/** Statuses after which the same request may succeed: time-out, conflict, too many requests, and the server's own faults. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || (status >= 500 && status <= 599);
}

/** Words that providers use, in a 200 stream, for what would have been such a status. */
const passing =
  /ratelimit|overloaded|toomany|unavailable|resourceexhausted|internal|servererror|apierror|timeout|timedout|deadlineexceeded|aborted/;

/** Waiting does not fill an account, although these come with 429. */
const lasting = /insufficientquota|billing|insufficientbalance/;

/** Whether the same request may succeed later: by a status among the codes of its error, or a word that says so. */
export function isTransient(codes: readonly string[]): boolean {
  const words = codes.map((code) => code.toLowerCase().replace(/[^a-z0-9]/g, ''));
  return (
    !words.some((word) => lasting.test(word)) &&
    words.some((word) => isRetryableStatus(Number(word)) || passing.test(word))
  );
}

/** Where servers put what an error says to people: as text, or as an object or a list that says it further in. */
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
] as const;

/**
 * Reads an error out of a JSON body or frame, in any of the shapes that providers use: `{ error: { message, code | type | status } }`
 * (OpenAI, Anthropic, Google, OpenRouter), the same in an array (Google), `{ error: "..." }` (Ollama), `{ message }` (Cohere, Mistral),
 * `{ detail }` (servers on FastAPI), `{ errors: [...] }`.
 *
 * @param json What was parsed.
 * @returns What it says; empty when it says nothing.
 */
export function errorDetails(json: unknown): ErrorDetails {
  if (Array.isArray(json)) return firstThatTells(json);
  if (!isRecord(json)) return { message: nonEmptyString(json), codes: [] };
  const { message, codes } = firstThatTells(errorTextFields.map((field) => json[field]));
  const metadata = objectOrEmpty(json['metadata']);
  const raw = nonEmptyString(metadata['raw']);
  const own = [
    json['code'],
    json['status'],
    json['status_code'],
    json['statusCode'],
    json['type'],
    metadata['error_type'],
  ];
  const said = own.flatMap((code) =>
    typeof code === 'number' ? [String(code)] : code === 'error' ? [] : (nonEmptyString(code) ?? []),
  );
  return {
    message: raw === undefined || message === undefined ? (message ?? raw) : `${message}: ${raw}`,
    codes: [...codes, ...said],
  };
}

const firstThatTells = (values: readonly unknown[]): ErrorDetails =>
  values.map(errorDetails).find(({ message }) => message !== undefined) ?? { message: undefined, codes: [] };

/** The most telling code: a word before a number. Google sends the status as `code` and its meaning as `status`. */
export const primaryCode = (codes: readonly string[]): string | undefined =>
  codes.find((code) => !/^\d+$/.test(code)) ?? codes[0];

/** Whether a JSON document is an error by its own word: it has an `error` that says something, alone or as the first of an array. */
export function hasErrorField(json: unknown): boolean {
  if (Array.isArray(json)) return hasErrorField(json[0]);
  return isRecord(json) && json['error'] !== undefined && json['error'] !== null && json['error'] !== false;
}

/**
 * The error that a provider reported with a status of 200.
 *
 * @param provider The model's provider.
 * @param json The frame or body, parsed.
 * @returns An error with the provider's text and code; retryable when the code is that of a passing trouble (overload, rate limit, 5xx).
 */
export function providerError(provider: string, json: unknown): ProviderError {
  const { message, codes } = errorDetails(json);
  const providerCode = primaryCode(codes);
  return new ProviderError(
    provider,
    `${provider} reported an error: ${message ?? JSON.stringify(json)}${inParentheses(providerCode)}`,
    {
      retryable: isTransient(codes),
      providerCode,
      data: json,
    },
  );
}

/** A code behind the text that it belongs to. */
export const inParentheses = (code: string | undefined): string => (code === undefined ? '' : ` (${code})`);

/** The beginning of what came, for an error message: one line of at most 200 characters. */
export function excerpt(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 200)}...` : line;
}
