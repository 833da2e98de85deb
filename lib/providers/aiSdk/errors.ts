import { of, throwError, type Observable } from 'rxjs';
import { ConfigurationError, ConnectionError, ProtocolError, ProviderError } from '../../core/errors.js';
import { finiteNumber, isRecord, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import { words } from '../../core/words.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { describeThrown } from '../../protocol/connectionError.js';
import { contextLengthError, errorDetails, providerError } from '../../protocol/errorDetails.js';
import { statusError } from '../../protocol/errorResponse.js';
import { interrupted } from '../../protocol/untilFinish.js';

/** The AI SDK's errors, recognized by name: `instanceof` fails across two copies of its package. */
const configurationErrors: Readonly<Record<string, readonly [subject: string, nextStep: string]>> = {
  AI_LoadAPIKeyError: ['apiKey', 'Pass the key to the AI SDK provider.'],
  AI_LoadSettingError: ['options', 'Pass the setting to the AI SDK provider.'],
  AI_NoSuchModelError: ['options', 'Use the name of a model that the AI SDK provider has.'],
  AI_UnsupportedFunctionalityError: ['capability', 'Omit it from the request, or use a model that supports it.'],
  AI_InvalidArgumentError: ['options', 'Change the request.'],
  AI_InvalidPromptError: ['history', 'Change the messages.'],
};

const protocolErrors: ReadonlySet<string> = new Set([
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_InvalidResponseDataError',
]);

export function callError(provider: string, thrown: unknown): Observable<never> {
  try {
    return readCallError(provider, thrown);
  } catch {
    return throwError(() => unreadableError(provider));
  }
}

function readCallError(provider: string, thrown: unknown): Observable<never> {
  const fields = isRecord(thrown) ? thrown : {};
  const status = finiteNumber(fields['statusCode']) ?? 0;
  if (status >= 300 && status <= 599) {
    const headers = pickStrings(fields['responseHeaders']);
    const body = new TextEncoder().encode(nonEmptyString(fields['responseBody']) ?? describeThrown(thrown));
    return statusError(provider, new Response(null, { status, headers }), of(body), contextLengthPatterns);
  }
  const error = knownError(provider, thrown) ?? unknownCallError(provider, thrown, fields);
  return throwError(() => error);
}

function unknownCallError(provider: string, thrown: unknown, fields: Record<string, unknown>): Error {
  const text = describeThrown(thrown);
  const { name, statusCode } = fields;
  if (name === 'AI_APICallError' && statusCode === undefined)
    return new ConnectionError(provider, `No connection to ${provider}: ${text}. Check the network and the base URL.`, {
      cause: thrown,
    });
  const problem = statusCode === undefined ? 'could not be called' : 'reported an error';
  return reportedError(provider, `${provider} ${problem}: ${text}`, thrown, fields);
}

export function streamError(provider: string, thrown: unknown): Error {
  try {
    const problem =
      `The stream of ${provider} broke during the response: ${describeThrown(thrown)}. ` +
      'Whatever arrived before was emitted.';
    return knownError(provider, thrown) ?? interrupted(provider, problem, { cause: thrown });
  } catch {
    return unreadableError(provider);
  }
}

const unreadableError = (provider: string) =>
  new ProviderError(provider, `${provider} threw a value that cannot be read. Update its AI SDK provider.`, {
    retryable: false,
  });

export const noStream = (provider: string) =>
  new ProviderError(
    provider,
    `\`doStream\` of ${provider} returned no ReadableStream that can be read. Update its AI SDK provider.`,
    { retryable: false },
  );

export function partError(provider: string, error: unknown): Error {
  const recognized = knownError(provider, error);
  if (recognized) return recognized;
  if (!(error instanceof Error)) return providerError(provider, { error }, contextLengthPatterns);
  const fields = error as ErrorFields;
  return reportedError(provider, `${provider} reported an error: ${describeThrown(error)}`, error, fields);
}

/** The error for what a provider reported. An `APICallError` has the parsed body of the response as `data`. */
function reportedError(provider: string, text: string, thrown: unknown, { isRetryable, data }: ErrorFields): Error {
  const { codes } = errorDetails(data);
  const details = { provider, data };
  return (
    contextLengthError(`${text}.`, { message: describeThrown(thrown), codes }, details, contextLengthPatterns) ??
    new ProviderError(provider, text, { retryable: isRetryable === true, ...omitUndefined({ data }) })
  );
}

interface ErrorFields {
  readonly isRetryable?: unknown;
  readonly data?: unknown;
}

const libraryCodes: ReadonlySet<unknown> = /* @__PURE__ */ words(`
  configuration connection context_length http protocol provider rate_limit stream_interrupted text_too_long timeout
`);

export function isRivuletError(thrown: unknown): boolean {
  try {
    const { code, retryable } = thrown as { readonly code?: unknown; readonly retryable?: unknown };
    return thrown instanceof Error && libraryCodes.has(code) && typeof retryable === 'boolean';
  } catch {
    return false; // reading it may throw
  }
}

/** Also errors of this library: an AI SDK model may wrap one of its models. Undefined for any other error. */
function knownError(provider: string, thrown: unknown): Error | undefined {
  if (!(thrown instanceof Error)) return undefined;
  if (isRivuletError(thrown)) return thrown;
  const { name } = thrown;
  const [subject, nextStep] = configurationErrors[name] ?? [];
  if (subject !== undefined && nextStep !== undefined)
    return new ConfigurationError(subject, `${provider}: ${thrown.message}`, nextStep);
  if (!protocolErrors.has(name)) return undefined;
  // The message has the event, and so what the model wrote.
  const received = nonEmptyString((thrown as { readonly text?: unknown }).text) ?? thrown.message;
  const problem =
    `${provider} sent an event that its AI SDK provider cannot read (${name}). ` +
    'Check its base URL, and any proxy in between.';
  return new ProtocolError(provider, 'frame', problem, received.slice(0, 1000));
}

export const pickStrings = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(isRecord(value) ? value : {}).filter(
      (field): field is [string, string] => typeof field[1] === 'string',
    ),
  );
