import { ProviderError } from '../core/errors.js';
import { isRecord, textOf } from '../core/json.js';

/** What a provider's JSON says of an error. */
export interface ErrorDetails {
  /** The provider's text. */
  readonly message?: string;
  /** Its code or type: a word rather than a number, where it has both. */
  readonly code?: string;
}

/** Statuses after which the same request may succeed: time-out, conflict, too many requests, and the server's own faults. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || (status >= 500 && status <= 599);
}

/** Words that providers use, in a 200 stream, for what would have been such a status. */
const passing =
  /rate.?limit|overloaded|too.?many|unavailable|resource.?exhausted|internal|server.?error|api_error|timeout|timed.?out|deadline.?exceeded|aborted/i;

/**
 * Reads an error out of a JSON body or frame, in any of the shapes that providers use: `{ error: { message, code | type | status } }`
 * (OpenAI, Anthropic, Google, OpenRouter), the same in an array (Google), `{ error: "..." }` (Ollama), `{ message }` (Cohere, Mistral),
 * `{ detail }` (servers on FastAPI), `{ errors: [...] }`.
 *
 * @param json What was parsed.
 * @returns What it says; empty when it says nothing.
 */
export function errorDetails(json: unknown): ErrorDetails {
  if (Array.isArray(json)) return json.map(errorDetails).find(({ message }) => message !== undefined) ?? {};
  if (!isRecord(json)) return typeof json === 'string' && json !== '' ? { message: json } : {};
  const inner = [json['error'], json['message'], json['detail'], json['errors']]
    .map(errorDetails)
    .find(({ message }) => message !== undefined);
  const message = inner?.message ?? textOf(json['msg']);
  const code = inner?.code ?? codeOf(json);
  return { ...(message === undefined ? {} : { message }), ...(code === undefined ? {} : { code }) };
}

/** A word before a number: Google sends the status as `code` and its meaning as `status`. */
function codeOf(error: Record<string, unknown>): string | undefined {
  const named = [error['code'], error['type'], error['status']];
  const number = named.find((value) => typeof value === 'number');
  return named.map(textOf).find((word) => word !== undefined && word !== 'error') ?? (number === undefined ? undefined : String(number));
}

/** Whether a JSON document is an error by its own word: it has an `error` that says something, alone or as the first of an array. */
export function saysError(json: unknown): boolean {
  if (Array.isArray(json)) return saysError(json[0]);
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
  const { message, code } = errorDetails(json);
  const body: unknown = Array.isArray(json) ? json[0] : json;
  const inner = isRecord(body) && isRecord(body['error']) ? body['error'] : undefined;
  const status = [inner?.['code'], inner?.['status'], code]
    .filter((value) => typeof value === 'string' || typeof value === 'number') // an object from outside may have a `toString` that is no function
    .map(Number)
    .find((number) => Number.isInteger(number) && number >= 100 && number <= 599);
  return new ProviderError(
    provider,
    `${provider} reported an error: ${message ?? JSON.stringify(json)}${code === undefined ? '' : ` (${code})`}`,
    {
      retryable: status === undefined ? passing.test(code ?? '') : isRetryableStatus(status),
      ...(code === undefined ? {} : { providerCode: code }),
      data: json,
    },
  );
}

/** The JSON of a text, or undefined: what a server sends in place of a stream need not be JSON. */
export function parsedOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The beginning of what came, for an error message: one line of at most 200 characters. */
export function beginning(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 200)}...` : line;
}
