import { asyncScheduler, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { HttpError, ProtocolError, type RivuletError } from '../core/errors.js';
import { tryParseJson } from '../core/json/json.js';
import { words } from '../core/words.js';
import {
  contextLengthError,
  errorDetails,
  excerpt,
  quoted,
  isErrorDocument,
  inParentheses,
  isRetryableStatus,
  primaryCode,
  providerError,
} from './errorDetails.js';
import type { ErrorDetails } from './errorDetails.js';
import { connectionError } from './connectionError.js';
import { permanentAdvice } from './permanentErrors.js';
import type { RequestFailures } from './post.js';
import { readBeginning } from './readBeginning.js';
import { displayUrl } from './secrets.js';

/** `patterns` are messages in addition to OpenAI's; `keyAdvice` is what to do about a refused key. */
export function statusError(
  provider: string,
  response: Response,
  bytes: Observable<Uint8Array>,
  patterns?: readonly RegExp[],
  keyAdvice?: string,
): Observable<never> {
  return failWithBody(bytes, (body) => httpError(provider, response, body, patterns, keyAdvice));
}

/** A ProviderError if a 2xx body is JSON with an `error`, otherwise ProtocolError `content_type`. */
export function contentTypeError(
  provider: string,
  response: Response,
  bytes: Observable<Uint8Array>,
  accept: string,
  patterns?: readonly RegExp[],
): Observable<never> {
  return failWithBody(bytes, (body) => {
    const json = tryParseJson(body);
    if (isErrorDocument(json)) return providerError(provider, json, patterns);
    const type = response.headers.get('content-type') ?? 'no content type';
    return new ProtocolError(
      provider,
      'content_type',
      `${provider} answered ${response.status} with ${type} instead of ${accept}${quoted(body)}. ` +
        'Check baseUrl, and any proxy in between.',
      body,
    );
  });
}

const failWithBody = (bytes: Observable<Uint8Array>, toError: (body: string) => Error): Observable<never> =>
  readBeginning(bytes, (body) => throwError(() => toError(body)));

const requestIdHeaders = /* @__PURE__ */ words(
  'x-request-id request-id x-goog-request-id x-amzn-requestid apim-request-id cf-ray',
);

function httpError(
  provider: string,
  { status, statusText, headers, url }: Response,
  body: string,
  patterns: readonly RegExp[] | undefined,
  keyAdvice = 'Check the API key and its permissions.',
): RivuletError {
  const json = readJson(eventData(body));
  const { message, codes } = errorDetails(json);
  const providerCode = primaryCode(codes);
  const requestId = [...requestIdHeaders].map((name) => headers.get(name) ?? '').find((id) => id !== '');
  const reason = (message ?? (excerpt(body) || statusText || 'no explanation')).trim().replace(/\.$/, '');
  const what = `${provider} answered ${status}: ${reason}${inParentheses(providerCode)}.`;
  const known = { provider, status, body, providerCode, requestId };
  const details = { message: message ?? excerpt(body), codes };
  const advice =
    isRetryableStatus(status) && !asksToWait(headers, details) ? permanentAdvice(details, json) : undefined;
  return (
    contextLengthError(what, details, known, patterns) ??
    new HttpError(`${what} ${advice ?? nextStep(status, headers.get('location'), url, keyAdvice)}`, {
      ...known,
      retryable: advice === undefined && (shouldRetry(headers) ?? isRetryableStatus(status)),
      retryAfter: retryAfter(headers, json),
    })
  );
}

/** Daily limits of Groq and OpenAI slide, and their header has the delay (Google's body does not help). */
const asksToWait = (headers: Headers, { message }: ErrorDetails): boolean =>
  headers.has('retry-after') && /\bper day\b/i.test(message ?? '');

/** The SDKs of OpenAI and Anthropic obey this header. */
function shouldRetry(headers: Headers): boolean | undefined {
  const header = headers.get('x-should-retry');
  return header === 'true' || header === 'false' ? header === 'true' : undefined;
}

/** The text may end inside the string. */
const truncatedMessage = /"(?:message|error|detail)"\s*:\s*"((?:[^"\\]|\\.)*)/;
const truncatedCode = /"(?:code|type)"\s*:\s*"((?:[^"\\]|\\.)*)"/;

function readJson(text: string): unknown {
  const json = tryParseJson(text);
  if (json !== undefined || !/^\s*[[{]/.test(text)) return json;
  const read = (pattern: RegExp) => tryParseJson(`"${pattern.exec(text)?.[1] ?? ''}"`);
  return { error: { message: read(truncatedMessage), code: read(truncatedCode) } };
}

/** Some servers send their errors as a server-sent event. */
function eventData(body: string): string {
  const text = body.trimStart();
  const field = text.startsWith('event:') ? text.slice(text.indexOf('\n') + 1).trimStart() : text;
  return field.startsWith('data:') ? field.slice('data:'.length) : body;
}

function nextStep(status: number, location: string | null, url: string, keyAdvice: string): string {
  if (status === 401 || status === 403) return keyAdvice;
  if (status === 404 || status === 405) return `Check the model's name and baseUrl${urlInParentheses(url)}.`;
  if (status >= 500) return 'Try again later.';
  // For a redirect that was not followed, a browser reports nothing but the status 0.
  if (status < 400) return `Redirects are not followed: set baseUrl to their target${urlInParentheses(location)}.`;
  return nextSteps[status] ?? 'Change the request.';
}

const nextSteps: Readonly<Record<number, string>> = {
  402: 'Check the credit of the account.',
  408: 'Try again later.',
  409: 'Try again later.',
  413: 'Send less: a shorter history, smaller files.',
  429: 'Wait, send fewer requests at a time, or ask for a higher limit.',
};

const urlInParentheses = (url: string | null): string => inParentheses(url ? displayUrl(url) : undefined);

/** `retry-after-ms`, `Retry-After` (RFC 9110, 10.2.3), or `retryDelay` (google.rpc.RetryInfo). RxJS's clock. */
export function retryAfter(headers: Headers, json?: unknown): number | undefined {
  return (
    milliseconds(headers.get('retry-after-ms'), 1) ?? secondsOrDate(headers.get('retry-after')) ?? retryDelay(json)
  );
}

function milliseconds(text: string | null | undefined, factor: number): number | undefined {
  return text && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Math.round(Number(text) * factor) : undefined;
}

function secondsOrDate(text: string | null): number | undefined {
  const seconds = milliseconds(text, 1000);
  if (seconds !== undefined || text === null || !/[A-Za-z]/.test(text)) return seconds;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - asyncScheduler.now());
}

/** At any depth. A string that only mentions the field has its quotes escaped, and does not match. */
function retryDelay(json: unknown): number | undefined {
  return milliseconds(/"retryDelay":"([^"]*)s"/.exec(JSON.stringify(json))?.[1], 1000);
}

export const providerFailures = (patterns?: readonly RegExp[], keyAdvice?: string): RequestFailures => ({
  connection: connectionError,
  status: (provider, response, bytes) => statusError(provider, response, bytes, patterns, keyAdvice),
  contentType: (provider, response, bytes, accept) => contentTypeError(provider, response, bytes, accept, patterns),
});
