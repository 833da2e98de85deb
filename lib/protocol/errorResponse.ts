import { tryParseJson } from '../core/json/json.js';
import {
  asyncScheduler,
  catchError,
  concat,
  defer,
  EMPTY,
  ignoreElements,
  map,
  takeUntil,
  takeWhile,
  throwError,
  timer,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { HttpError, ProtocolError } from '../core/errors.js';
import {
  excerpt,
  primaryCode,
  errorDetails,
  inParentheses,
  isRetryableStatus,
  providerError,
  hasErrorField,
} from './errorDetails.js';

/** How much of a body that is not the stream is read. */
const bodyLimit = 65_536;

/** How long such a body may take, in milliseconds: the status is known already, and a server that never ends it must not hold up its error. */
const bodyPatience = 5_000;

const requestIdHeaders = [
  'x-request-id',
  'request-id',
  'x-goog-request-id',
  'x-amzn-requestid',
  'apim-request-id',
  'cf-ray',
];

/** Reads the beginning of a body, until it ends, reaches 64 KiB, breaks, or takes longer than five seconds, and errors with what comes of it. */
function failWith(bytes: Observable<Uint8Array>, errorOf: (body: string) => Error): Observable<never> {
  return defer(() => {
    const decoder = new TextDecoder();
    let text = '';
    const read = bytes.pipe(
      map((piece) => (text += decoder.decode(piece.subarray(0, bodyLimit), { stream: true })).length),
      takeWhile((length) => length < bodyLimit),
      ignoreElements(),
      catchError(() => EMPTY), // The answer is an error already, and a better one than that its text is cut.
      takeUntil(timer(bodyPatience)),
    );
    return concat(
      read,
      throwError(() => errorOf(text.slice(0, bodyLimit))),
    );
  });
}

/**
 * Turns an answer other than 2xx into its error.
 *
 * @param provider The model's provider.
 * @param response The answer; its body is read through `bytes`.
 * @param bytes The body.
 * @returns Errors with an HttpError.
 */
export function statusError(provider: string, response: Response, bytes: Observable<Uint8Array>): Observable<never> {
  return failWith(bytes, (body) => httpError(provider, response, body));
}

function httpError(provider: string, { status, statusText, headers, url }: Response, body: string): HttpError {
  const json = tryParseJson(body.replace(/^\s*(?:event:.*\s+)?data:/, '')); // some refuse with an event
  const { message, codes } = errorDetails(json);
  const providerCode = primaryCode(codes);
  const text = (message ?? (excerpt(body) || statusText || 'no explanation')).trim().replace(/\.$/, '');
  return new HttpError(
    `${provider} answered ${status}: ${text}${inParentheses(providerCode)}. ${nextStep(status, headers.get('location'), url)}`,
    {
      provider,
      status,
      body,
      retryable: isRetryableStatus(status),
      providerCode,
      requestId: requestIdHeaders.map((name) => headers.get(name) ?? '').find((id) => id !== ''),
      retryAfter: retryAfter(headers, json),
    },
  );
}

function nextStep(status: number, location: string | null, url: string): string {
  if (status === 401 || status === 403) return 'Check the API key and what it is allowed to do.';
  if (status === 402) return 'Check the credit of the account.';
  if (status === 404 || status === 405) return `Check the model's name and baseUrl${inWords(url)}.`;
  if (status === 413) return 'Send less: a shorter history, smaller files.';
  if (status === 429) return 'Wait, send less at once, or ask for a higher limit.';
  if (status >= 500 || status === 408 || status === 409) return 'Try again later.';
  // A browser shows of a redirect that was not followed only that it is one, as status 0.
  if (status < 400) return `Redirects are not followed: set baseUrl to where it leads${inWords(location)}.`;
  return 'Change the request.';
}

/** An address behind the words that speak of it, without its query; a response that a custom `fetch` made has none. */
const inWords = (url: string | null): string => (url ? ` (${url.replace(/[?#].*$/s, '')})` : '');

const anyStream = /^(text\/plain|(application|binary)\/octet-stream)$/;
const lines = /^application\/(x-)?(ndjson|jsonl|jsonlines|json|stream\+json)$/;

/**
 * Whether a content type can be that of the stream asked for. Servers label streams loosely (none at all, `text/plain`), so only what is
 * clearly something else is refused; a single JSON document is a stream of one line where lines were asked for.
 *
 * @param contentType The header, or null.
 * @param accept The media type that was asked for.
 */
export function isStreamType(contentType: string | null, accept: string): boolean {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return type === '' || type === accept || anyStream.test(type) || (accept !== 'text/event-stream' && lines.test(type));
}

/**
 * Turns a 2xx answer of another type into its error.
 *
 * @param provider The model's provider.
 * @param response The answer; its body is read through `bytes`.
 * @param bytes The body.
 * @param accept The media type that was asked for.
 * @returns Errors with a ProviderError when the body is JSON with an `error`, otherwise with a ProtocolError `content_type`.
 */
export function contentTypeError(
  provider: string,
  response: Response,
  bytes: Observable<Uint8Array>,
  accept: string,
): Observable<never> {
  return failWith(bytes, (body) => {
    const json = tryParseJson(body);
    if (hasErrorField(json)) return providerError(provider, json);
    const type = response.headers.get('content-type') ?? 'nothing';
    const what = `${provider} answered ${response.status} with ${type} instead of ${accept}: "${excerpt(body)}".`;
    return new ProtocolError(provider, 'content_type', `${what} Check baseUrl, and any proxy between.`, body);
  });
}

/**
 * How long a server asks to wait: `retry-after-ms` (OpenAI, Azure), `Retry-After` in seconds or as a date (RFC 9110, 10.2.3), or the
 * `retryDelay` in the details of Google's errors (google.rpc.RetryInfo). A date is measured by the clock of RxJS, which is virtual in its
 * `TestScheduler`.
 *
 * @param headers The answer's.
 * @param json Its body, parsed, where it is JSON.
 * @returns Milliseconds, at least 0; undefined when it asks for nothing that can be understood.
 */
export function retryAfter(headers: Headers, json?: unknown): number | undefined {
  return (
    milliseconds(headers.get('retry-after-ms'), 1) ?? inSecondsOrDate(headers.get('retry-after')) ?? inDetails(json)
  );
}

function milliseconds(text: string | null | undefined, factor: number): number | undefined {
  return text && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Math.round(Number(text) * factor) : undefined;
}

function inSecondsOrDate(text: string | null): number | undefined {
  const seconds = milliseconds(text, 1000);
  if (seconds !== undefined || text === null || !/[A-Za-z]/.test(text)) return seconds;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - asyncScheduler.now());
}

/** Wherever it stands: a text that only speaks of it would have its quotes escaped. */
function inDetails(json: unknown): number | undefined {
  return milliseconds(/"retryDelay":"([^"]*)s"/.exec(JSON.stringify(json))?.[1], 1000);
}
