import { defer, identity, noop, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import { requireCapabilities } from '../core/capabilities.js';
import type { Chunk } from '../core/chunk.js';
import { optionsError } from '../core/errors.js';
import { isJsonObject, objectOrEmpty } from '../core/json/json.js';
import type { Capabilities, Model, ModelRequest } from '../core/model.js';
import { requireOptions, type OptionKinds } from '../core/requireOptions.js';
import { requestKinds } from '../core/requestKinds.js';
import { deferCall } from '../core/deferCall.js';
import { timeLimit } from '../core/timeLimit.js';
import { eventWithToolNames, namesOf } from '../core/toolNames.js';
import { decodeFrames } from '../protocol/decodeFrames.js';
import { encodeOnce } from '../protocol/encodeOnce.js';
import { providerFailures } from '../protocol/errorResponse.js';
import { idleTimeout, limitsFor, type HttpTimeoutOptions } from '../protocol/idleTimeout.js';
import { post, type PostRequest } from '../protocol/post.js';
import type { Redaction } from '../protocol/redact.js';
import { headerValues, secretsOf } from '../protocol/secrets.js';
import { encodingError, joinUrl, mergeHeaders, mergeJson } from '../protocol/request.js';
import { catchBeforeFirst } from '../protocol/continueAfterError.js';
import { sentBodies } from '../protocol/sentBodies.js';
import { retryRequest, type RetryOptions } from '../protocol/retryRequest.js';
import type { Wire, WireRequest } from '../protocol/wire.js';
import { adviceWithoutKey, withCredentials } from './shared/credentials.js';
import type { Credentials, CredentialSources, PerRequest } from './shared/credentials.js';
import { capabilityTable } from './shared/capabilityTable.js';
import { conversationTexts } from '../protocol/conversationTexts.js';
import type { OpenTextOptions } from './shared/openText.js';
import { placeResultFiles } from './shared/resultFiles.js';
import { createSendable, type ToSendable } from './shared/sendable.js';
import { requireSync } from '../core/options.js';

type RoutedRequest = Pick<WireRequest, 'path' | 'body'>;

/** The options of all models that use HTTP. */
export interface ModelOptions {
  /**
   * The API key, or a function that returns it for each request: the key itself, a Promise, or an Observable (its first
   * value). Default: the value of the provider's environment variable, read at each request and sent only to the
   * provider's own hosts, over https.
   */
  readonly apiKey?: PerRequest<string> | undefined;
  /**
   * The base URL of the API. A query is kept, trailing slashes are ignored, and in a browser it may be relative to the
   * page. Default: the provider's base URL.
   */
  readonly baseUrl?: string | undefined;
  /**
   * Returns the path (below `baseUrl`) and the body to send instead of those that it receives: for a cloud that serves
   * the same API under another path, or with other fields. The request that joins a `background` response again has a
   * path of its own, and only the path that is returned counts. Default: no change.
   */
  readonly route?: ((request: RoutedRequest) => RoutedRequest) | undefined;
  /**
   * Headers that are sent with each request, or a function that returns them for each one, as for `apiKey`. They
   * override all other headers; if one of them is an authorization, no other key is sent. Default: none.
   */
  readonly headers?: PerRequest<Readonly<Record<string, string>>> | undefined;
  /**
   * The function that sends the requests. Default: the global `fetch`, looked up at each request. Node's `fetch` fails
   * after five minutes without a response.
   */
  readonly fetch?: typeof fetch | undefined;
  /**
   * Limits of time, in milliseconds: `connect` until the headers of the response (default: no limit), `first` until the
   * first content (default: no limit), `body` for a silence between the headers and the first content (default: 300000;
   * false: no limit), `each` for a silence after the first content (default: 120000; false: no limit), `turn` for the
   * complete response with its retries (default: no limit). Any byte ends a silence, also that of a keep-alive.
   */
  readonly timeout?: HttpTimeoutOptions | undefined;
  /**
   * How a request that fails before its first chunk is retried; false disables retries. A `retry` chunk announces each
   * one. Default: 3 retries, after 1, 2 and 4 s with jitter.
   */
  readonly retry?: RetryOptions | false | undefined;
  /** The largest number of characters (UTF-16 units) in an event of the response. Default: 16 Mi. */
  readonly maxEventLength?: number | undefined;
  /**
   * Whether errors contain what the provider sent (`body`, `data`, `received`), which may repeat the conversation.
   * Without it they have the provider's message and code. Keys are replaced by `[key]` in either case. Default: false.
   */
  readonly debug?: boolean | undefined;
  /** The model's capabilities, which override the built-in capabilities. Default: none are overridden. */
  readonly capabilities?: Capabilities | undefined;
}

const optionKinds: OptionKinds<ModelOptions> = {
  apiKey: ['string', 'function'],
  baseUrl: 'string',
  route: 'function',
  headers: ['object', 'function'],
  fetch: 'function',
  timeout: { connect: 0, first: 0, body: [0, 'boolean'], each: [0, 'boolean'], turn: 0 },
  retry: ['boolean', { count: 0, initialDelay: 0, maxDelay: 0, jitter: 0, random: 'function' }],
  maxEventLength: 1,
  debug: 'boolean',
  capabilities: 'object',
};

/** The options of models with open weights, which many servers run. */
export type OpenModelOptions = ModelOptions & OpenTextOptions;

/** A provider's model, as data and pure functions. */
export interface HttpModelDefinition {
  readonly provider: string;
  readonly name: string;
  /** The base URL of the API; the options may replace it. */
  readonly baseUrl: string;
  /**
   * The environment variable that contains the key, and further `domains` whose hosts may receive it, besides those
   * below the host of `baseUrl`. If absent, no key is required, and a key is sent only if the options contain one.
   */
  readonly apiKey?: CredentialSources['apiKey'];
  /** The headers that contain the key. Default: `authorization: Bearer <key>`. */
  readonly authorize?: ((key: string) => Readonly<Record<string, string>>) | undefined;
  readonly wire: Wire;
  /** Converts the text of a response, for example to calls. Default: the text stays as it is. */
  readonly readText?: ((request: ModelRequest) => MonoTypeOperatorFunction<Chunk>) | undefined;
  readonly capabilities?: Capabilities | undefined;
  /** The types of the provider's own options. Default: it has none. */
  readonly ownOptions?: OptionKinds<Readonly<Record<string, unknown>>> | undefined;
}

/**
 * Creates a model that uses HTTP, from a provider's wire and the shared protocol.
 *
 * Each subscription to `stream(request)` reads the key, repairs the history and sends a request. If a transient error
 * occurs before the first chunk, the request is retried. After any other error before the first chunk, the wire's
 * `fallback` request is sent, if it has one. Unsubscribing aborts the request synchronously. Nothing happens, and
 * nothing is thrown, before the subscription.
 *
 * @param definition The provider, its wire and the model's name.
 * @param options The user's options.
 * @returns The model. Its streams fail with ConfigurationError (`capability`, `apiKey`, `history`, `options`), with the
 * errors that the wire's `encode` and `decode` throw, and with the errors of `post`, `idleTimeout` and `decodeFrames`,
 * none of which contains the key.
 */
export function httpModel(definition: HttpModelDefinition, options: ModelOptions = {}): Model {
  const { provider, name } = definition;
  const capabilities = { ...definition.capabilities, ...options.capabilities };
  const model = { provider, name, ...(Object.keys(capabilities).length > 0 ? { capabilities } : {}) };
  let isValid = false;
  const requireValid = () => {
    if (isValid) return;
    const owner = `the model of ${provider}`;
    requireOptions(owner, { name: (name as string | undefined) ?? null }, { name: 'string' });
    requireOptions(owner, options, { ...optionKinds, ...definition.ownOptions });
    isValid = true;
  };
  const toSendable = createSendable(
    // A message with options of its own is encoded alone: merged with another one, it would lose them.
    (message) => message.providerOptions?.[provider] !== undefined,
    placeResultFiles(definition.wire, capabilities),
  );
  const settings = { definition, options, model, requireValid, toSendable };
  return { ...model, stream: (request) => deferCall(openStream, settings, request) };
}

interface ModelSettings {
  readonly definition: HttpModelDefinition;
  readonly options: ModelOptions;
  readonly model: Omit<Model, 'stream'>;
  /** Checks the options at the first request: not at each one, and nothing may throw before it. */
  readonly requireValid: () => void;
  readonly toSendable: ToSendable;
}

interface HttpCall extends ModelSettings {
  readonly request: ModelRequest;
  readonly encoded: WireRequest;
}

function openStream(settings: ModelSettings, request: ModelRequest): Observable<Chunk> {
  const { definition, options, model, toSendable } = settings;
  settings.requireValid();
  requireOptions(`A request of the model of ${definition.provider}`, request, requestKinds);
  requireCapabilities(model, request, capabilityTable);
  try {
    const messages = toSendable(request.messages, request.tools);
    const encoded = definition.wire.encode({ ...request, messages });
    return send({ ...settings, request, encoded }).pipe(timeLimit('turn', options.timeout?.turn));
  } catch (thrown) {
    throw encodingError(thrown, definition.provider);
  }
}

function send(call: HttpCall): Observable<Chunk> {
  const { fallback } = call.encoded;
  if (!fallback) return streamResponse(call);
  return streamResponse(call).pipe(
    catchBeforeFirst((error) => {
      const encoded = fallback(error);
      return encoded && send({ ...call, encoded });
    }),
  );
}

function streamResponse(call: HttpCall): Observable<Chunk> {
  const { definition, options, request } = call;
  const { provider, apiKey, readText } = definition;
  const baseUrl = requireBaseUrl(options.baseUrl ?? definition.baseUrl, provider);
  const sources = { provider, vendorUrl: definition.baseUrl, apiKey, options };
  const { path, body } = createRequest(call);
  if (sentBodies.has(request.messages)) sentBodies.set(request.messages, body);
  const text = encodeOnce(body);
  const names = namesOf(request.tools);
  const named = (emit: Parameters<Wire['decode']>[0]) => (chunk: Chunk) => emit(eventWithToolNames(chunk, names));
  const wire: Wire = { ...definition.wire, decode: (emit) => definition.wire.decode(named(emit), body) };
  const open = (current: Wire, resumePath?: string) => {
    const sent = {
      url: joinUrl(baseUrl, resumePath === undefined ? path : createRequest(call, resumePath).path),
      body: resumePath === undefined ? text : undefined,
    };
    return withCredentials(sources, (credentials) =>
      readResponse(
        call,
        current,
        preparePost(call, sent, credentials, adviceWithoutKey(sources, credentials)),
        credentials,
      ),
    );
  };
  const resume = wire.resume?.(body);
  const response = resume ? defer(() => resume(wire, open, options.retry)) : open(wire);
  const read = readText ? response.pipe(readText(request)) : response;
  return options.retry === false ? read : read.pipe(retryRequest<Chunk>(options.retry, request.stop));
}

function readResponse(
  { definition: { provider }, options, request, encoded }: HttpCall,
  wire: Wire,
  sent: PostRequest,
  { key, headers }: Credentials,
): Observable<Chunk> {
  const { timeout, maxEventLength, debug } = options;
  const optionKey = typeof options.apiKey === 'string' ? options.apiKey : []; // also where a header replaces it
  let announce: (isStream: boolean) => void = noop;
  let hasContent = false;
  const redaction = (): Redaction => ({
    provider,
    secrets: [
      key ?? [],
      optionKey,
      secretsOf(sent.url, sent.headers),
      headerValues(headers),
      encoded.secrets ?? [],
    ].flat(),
    conversation: () => conversationTexts(request),
    debug,
  });
  return post({ ...sent, onHeaders: (isStream) => announce(isStream) }).pipe(
    idleTimeout(
      limitsFor(sent.fetch, timeout),
      () => hasContent,
      (listener) => (announce = listener),
    ),
    decodeFrames(wire, {
      provider,
      redaction,
      maxEventLength,
      stop: request.stop,
      onContent: () => (hasContent = true),
    }),
  );
}

function preparePost(
  { definition, options, encoded }: HttpCall,
  sent: Pick<PostRequest, 'url' | 'body'>,
  { key, headers: userHeaders }: Credentials,
  keyAdvice: string | undefined,
): PostRequest {
  const { provider, wire, authorize = bearer } = definition;
  const accept = wire.framing.mediaType;
  const headers = mergeHeaders(
    { accept, 'content-type': 'application/json' },
    key === undefined ? {} : authorize(key),
    encoded.headers,
    userHeaders,
  );
  requireSendable(headers, provider);
  const failures = providerFailures(wire.contextLengthPatterns, keyAdvice);
  return { ...sent, provider, headers, accept, fetch: options.fetch, failures };
}

function createRequest(
  { definition, options: { route = identity }, request, encoded }: HttpCall,
  path = encoded.path,
): RoutedRequest {
  const overrides = request.providerOptions?.[definition.provider];
  const body = overrides ? mergeJson(encoded.body, overrides) : encoded.body;
  const routed = requireSync('route', route({ path, body }));
  const sent = objectOrEmpty(routed);
  if (typeof sent['path'] === 'string' && isJsonObject(sent['body'])) return routed;
  throw optionsError('route returned no request.', 'Return { path, body }.');
}

/** Mostly an environment variable that is not set. The default URL would get a key that is meant for another server. */
function requireBaseUrl(baseUrl: string | undefined, provider: string): string {
  if (baseUrl !== undefined && baseUrl.trim() !== '') return baseUrl;
  throw optionsError(`The baseUrl of ${provider} is empty.`, "Pass a URL, or omit it for the provider's own.");
}

/** https://fetch.spec.whatwg.org/#forbidden-request-header; a `content-length` would wait for bytes that never come. */
const fetchHeader = /^(?:connection|content-length|expect|keep-alive|te|trailer|transfer-encoding|upgrade)$/;

function requireSendable(headers: Readonly<Record<string, string>>, provider: string): void {
  const name = Object.keys(headers).find((header) => fetchHeader.test(header));
  if (name === undefined) return;
  throw optionsError(`The header "${name}" of ${provider} is set by fetch itself.`, 'Omit it.');
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
