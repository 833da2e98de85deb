import { type ConfigurationError, ConnectionError, errorText, optionsError } from '../core/errors.js';
import { nonEmptyString, objectOrEmpty } from '../core/json/json.js';
import { displayUrl } from './secrets.js';

interface SentRequest {
  readonly provider: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A URL or header that cannot be sent is an error of the configuration, which no retry would cure. */
export function connectionError(
  { provider, url, headers }: SentRequest,
  thrown: unknown,
): ConnectionError | ConfigurationError {
  const header = Object.entries(headers).find(([name, value]) => !isValidHeader(name, value))?.[0];
  if (header !== undefined) {
    return optionsError(
      `The header "${header}" cannot be sent to ${provider}: it contains characters that HTTP does not allow.`,
      'Check the API key and headers for line breaks and copied quotes.',
    );
  }
  const location = displayUrl(url);
  if (!isValidUrl(url)) {
    return optionsError(`${provider} cannot be reached at "${location}": not an http(s) URL.`, 'Check baseUrl.');
  }
  return new ConnectionError(
    provider,
    `No connection to ${provider} at ${location}: ${causes(thrown)}. ` +
      'Check the network, baseUrl, and any proxy in between (in a browser, CORS).',
  );
}

export const notAResponse = ({ provider }: Pick<SentRequest, 'provider'>, value: unknown): ConfigurationError =>
  optionsError(
    `The fetch option of ${provider} returned ${errorText(value)} instead of a Response.`,
    'Pass a function like the global fetch.',
  );

/** undici's reasons are in `cause` and `errors`. Only messages and codes: a cause may hold the key. */
export function causes(thrown: unknown, depth = 0): string {
  const { cause, errors, code } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as {
    cause?: unknown;
    errors?: unknown;
    code?: unknown;
  };
  const text = describeThrown(thrown);
  const message = typeof code === 'string' && !text.includes(code) ? `${text} (${code})` : text;
  if (depth === 4) return message;
  const inner = Array.isArray(errors) ? (errors as readonly unknown[]) : cause === undefined ? [] : [cause];
  return [...new Set([message, ...inner.slice(0, 4).map((error) => causes(error, depth + 1))])].join(': ');
}

/** Never the content of an object without a message. */
export function describeThrown(thrown: unknown): string {
  try {
    const isObject = typeof thrown === 'object' && thrown !== null;
    const { message, name } = objectOrEmpty(thrown);
    return isObject && !nonEmptyString(message) && !nonEmptyString(name) ? 'no message' : errorText(thrown);
  } catch {
    return errorText(thrown); // reading it may throw
  }
}

/** `fetch` names only the value of the header. Node rejects control characters that `Headers` accepts. */
function isValidHeader(name: string, value: string): boolean {
  try {
    new Headers([[name, value]]);
    return !/[^\t -~\x80-\xff]/.test(value);
  } catch {
    return false;
  }
}

/** Relative URLs are resolved against the page; without one, `fetch` rejected it for being relative. */
function isValidUrl(url: string): boolean {
  const page = (globalThis as { location?: { href?: string } }).location?.href;
  try {
    const { protocol, username, password } = new URL(url, page);
    // `localhost:11434` is a URL of the scheme `localhost`.
    return /^https?:$/.test(protocol) && username === '' && password === '';
  } catch {
    return false;
  }
}
