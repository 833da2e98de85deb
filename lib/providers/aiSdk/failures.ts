import { of, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { ConfigurationError, ConnectionError, errorText, ProtocolError, ProviderError } from '../../core/errors.js';
import { isRecord, finiteNumber, nonEmptyString } from '../../core/json/json.js';
import { providerError } from '../../protocol/errorDetails.js';
import { statusError } from '../../protocol/errorResponse.js';
import { interrupted } from '../../protocol/untilFinish.js';

/** The AI SDK's errors by their names: `instanceof` fails across two copies of its package. */
const configuration: Readonly<Record<string, readonly [subject: string, next: string]>> = {
  AI_LoadAPIKeyError: ['apiKey', 'Give the key to the AI SDK provider.'],
  AI_LoadSettingError: ['options', 'Give the setting to the AI SDK provider.'],
  AI_NoSuchModelError: ['options', 'Name a model that the AI SDK provider has.'],
  AI_UnsupportedFunctionalityError: ['capability', 'Leave it out of the request, or use a model that can.'],
  AI_InvalidArgumentError: ['options', 'Change the request.'],
  AI_InvalidPromptError: ['history', 'Change the messages.'],
};

const notTheStream: ReadonlySet<string> = new Set([
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_InvalidResponseDataError',
]);

/**
 * What `doStream` failed with, as one of our errors.
 *
 * @param provider The model's provider.
 * @param thrown What was thrown: mostly the AI SDK's `APICallError`, which has the status, headers and body of the answer.
 * @returns Errors with HttpError, ConnectionError (no answer), ConfigurationError, ProtocolError, or a ProviderError for anything else.
 */
export function callFailure(provider: string, thrown: unknown): Observable<never> {
  const fields = isRecord(thrown) ? thrown : {};
  const status = finiteNumber(fields['statusCode']) ?? 0;
  if (status >= 300 && status <= 599) {
    const headers = isRecord(fields['responseHeaders']) ? textsIn(fields['responseHeaders']) : {};
    const body = new TextEncoder().encode(nonEmptyString(fields['responseBody']) ?? errorText(thrown));
    return statusError(provider, new Response(null, { status, headers }), of(body));
  }
  const known = knownFailure(provider, thrown);
  if (known) return throwError(() => known);
  const text = errorText(thrown);
  const { name, statusCode, isRetryable, data } = fields;
  if (name === 'AI_APICallError' && statusCode === undefined)
    return throwError(
      () =>
        new ConnectionError(provider, `No connection to ${provider}: ${text}. Check the network and the base URL.`, {
          cause: thrown,
        }),
    );
  const details = { retryable: isRetryable === true, ...(data === undefined ? {} : { data }) };
  const what = statusCode === undefined ? 'could not be asked' : 'reported an error';
  return throwError(() => new ProviderError(provider, `${provider} ${what}: ${text}`, details));
}

/** What a stream of parts broke with, as one of our errors. */
export function readFailure(provider: string, thrown: unknown): Error {
  const what = `The stream of ${provider} broke during the response: ${errorText(thrown)}. Whatever arrived before was emitted.`;
  return knownFailure(provider, thrown) ?? interrupted(provider, what, { cause: thrown });
}

/** An `error` part, as one of our errors. Its value is whatever the provider sent or threw. */
export function partFailure(provider: string, error: unknown): Error {
  const known = knownFailure(provider, error);
  if (known) return known;
  if (!(error instanceof Error)) return providerError(provider, { error });
  const { isRetryable, data } = error as { readonly isRetryable?: unknown; readonly data?: unknown };
  const details = { retryable: isRetryable === true, ...(data === undefined ? {} : { data }) };
  return new ProviderError(provider, `${provider} reported an error: ${errorText(error)}`, details);
}

/** Errors that are meant, wherever they come from: our own (a model that adapts one of ours), and the AI SDK's by name. */
function knownFailure(provider: string, thrown: unknown): Error | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const { name, code, retryable } = thrown as Error & { readonly code?: unknown; readonly retryable?: unknown };
  if (typeof code === 'string' && typeof retryable === 'boolean') return thrown;
  const [subject, next] = configuration[name] ?? [];
  if (subject !== undefined && next !== undefined)
    return new ConfigurationError(subject, `${provider}: ${thrown.message}`, next);
  if (!notTheStream.has(name)) return undefined;
  const received = nonEmptyString((thrown as { readonly text?: unknown }).text) ?? '';
  const what = `${provider} sent an event that its AI SDK provider cannot read: ${thrown.message}. Check its base URL, and any proxy between.`;
  return new ProtocolError(provider, 'frame', what, received.slice(0, 1000));
}

const textsIn = (fields: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter((field): field is [string, string] => typeof field[1] === 'string'));
