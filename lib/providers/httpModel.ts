import { defer, identity } from 'rxjs';
import type { Observable } from 'rxjs';
import { requireCapabilities } from '../core/capabilities.js';
import type { Chunk } from '../core/chunk.js';
import { ConfigurationError } from '../core/errors.js';
import { repairHistory } from '../core/history.js';
import type { Capabilities, Model, Request } from '../core/model.js';
import { decodeFrames } from '../protocol/decodeFrames.js';
import { encodeOnce } from '../protocol/encodeOnce.js';
import { idleTimeout } from '../protocol/idleTimeout.js';
import type { IdleTimeoutOptions } from '../protocol/idleTimeout.js';
import { post } from '../protocol/post.js';
import type { PostRequest } from '../protocol/post.js';
import { secretsOf } from '../protocol/redact.js';
import { joinUrl, mergeHeaders, mergeJson } from '../protocol/request.js';
import { catchBeforeFirst, retryBeforeFirst } from '../protocol/retry.js';
import type { RetryOptions } from '../protocol/retry.js';
import type { Wire, WireRequest } from '../protocol/wire.js';
import { capabilityTable } from './shared/capabilityTable.js';
import { extractThinking } from './shared/thinkTags.js';

/** What every model over HTTP can be told. */
export interface ModelOptions {
  /** Default: the provider's environment variable, read when a request is made. */
  readonly apiKey?: string | undefined;
  /** Where the API is. Default: the provider's own. A query is kept, trailing slashes do not matter, and it may be relative to the page. */
  readonly baseUrl?: string | undefined;
  /** Sent with each request; they override ours, the authorization too. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Makes the requests. Default: the global `fetch`, looked up at each request. Node's own gives up after five minutes without an answer. */
  readonly fetch?: typeof fetch | undefined;
  /** How long the server may be silent: `first`, until the first byte (default: no limit); `each`, from then on (default: 120000 ms; false: no limit). */
  readonly timeout?: IdleTimeoutOptions | undefined;
  /** How a request that failed before its first chunk is sent again; false: not at all. Default: 3 times, after 1, 2 and 4 s with jitter. */
  readonly retry?: RetryOptions | false | undefined;
  /** The largest event taken, in characters. Default: 16 Mi. */
  readonly maxEventBytes?: number | undefined;
  /** Whether `<think>` at the start of the text is thinking. Default: false. */
  readonly thinkTags?: boolean | undefined;
  /** What this model can do, over what is known of it: for models that we do not know. Default: nothing to add. */
  readonly capabilities?: Capabilities | undefined;
}

/** A provider's model, as data and pure functions. */
export interface HttpModelDefinition {
  /** The provider's name. */
  readonly provider: string;
  /** The model's name. */
  readonly name: string;
  /** Where the API is, unless the options say otherwise. */
  readonly baseUrl: string;
  /** The environment variable of the key. Absent: no key is asked for, and only one from the options is sent. */
  readonly apiKey?: { readonly variable: string } | undefined;
  /** The headers that carry the key. Default: `authorization: Bearer <key>`. */
  readonly authorize?: ((key: string) => Readonly<Record<string, string>>) | undefined;
  /** The dialect. */
  readonly wire: Wire;
  readonly capabilities?: Capabilities | undefined;
}

/**
 * A model over HTTP: a provider's dialect on the shared protocol.
 *
 * Each subscription to `stream(request)` reads the key, checks the history, sends a request and, as long as nothing was emitted, sends it
 * again after a passing failure, or another in its place where the wire has one for the error (`WireRequest.instead`). Unsubscribing aborts it
 * in the same tick. Nothing is done, and nothing is thrown, before the subscription.
 *
 * @param definition The provider's part.
 * @param options The user's.
 * @returns The model. Its streams error with ConfigurationError (`capability`, `apiKey`, `history`, `options`), with what the wire's `encode` and
 * `decode` throw, and with the errors of `post`, `idleTimeout` and `decodeFrames`; the key is in none of them.
 */
export function httpModel(definition: HttpModelDefinition, options: ModelOptions = {}): Model {
  const { provider, name } = definition;
  const capabilities = { ...definition.capabilities, ...options.capabilities };
  const model = { provider, name, ...(Object.keys(capabilities).length > 0 ? { capabilities } : {}) };
  return {
    ...model,
    stream: (request) =>
      defer(() => {
        requireCapabilities(model, request, capabilityTable);
        const key = keyOf(definition, options);
        const { wire } = definition;
        const send = (encoded: WireRequest): Observable<Chunk> => {
          const sent = answer(definition, options, preparedPost(definition, options, request, encoded, key));
          const { fallback: instead } = encoded;
          return instead ? sent.pipe(catchBeforeFirst((error) => sendIfAny(instead(error)))) : sent;
        };
        const sendIfAny = (encoded: WireRequest | undefined) => encoded && send(encoded);
        return send(wire.encode({ ...request, messages: repairHistory(request.messages, wire.isUnmergeable) }));
      }),
  };
}

function answer(
  { provider, wire }: HttpModelDefinition,
  options: ModelOptions,
  request: PostRequest,
): Observable<Chunk> {
  return post(request).pipe(
    idleTimeout(options.timeout),
    decodeFrames(wire, { provider, maxEventBytes: options.maxEventBytes, secrets: request.secrets }),
    options.thinkTags ? extractThinking() : identity,
    options.retry === false ? identity : retryBeforeFirst(options.retry),
  );
}

const accepted = { sse: 'text/event-stream', ndjson: 'application/x-ndjson' } as const;

function preparedPost(
  { provider, baseUrl, wire, authorize = bearer }: HttpModelDefinition,
  options: ModelOptions,
  request: Request,
  encoded: WireRequest,
  key: string | undefined,
): PostRequest {
  const accept = accepted[wire.framing];
  const over = request.providerOptions?.[provider];
  const url = joinUrl(options.baseUrl?.trim() ? options.baseUrl : baseUrl, encoded.path);
  const authorization = key === undefined ? {} : authorize(key);
  const headers = mergeHeaders(
    { accept, 'content-type': 'application/json' },
    authorization,
    encoded.headers,
    options.headers,
  );
  const body = encodeOnce(over ? mergeJson(encoded.body, over) : encoded.body);
  const secrets = [...(key === undefined ? [] : [key]), ...secretsOf(url, headers), ...(encoded.secrets ?? [])];
  return { provider, url, headers, body, accept, secrets, fetch: options.fetch };
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** The key of the options, or of the environment. None is asked for where the user's headers carry one. */
function keyOf({ provider, apiKey }: HttpModelDefinition, options: ModelOptions): string | undefined {
  const given = options.apiKey?.trim();
  if (given) return given;
  if (apiKey === undefined) return undefined;
  const found = environment()[apiKey.variable]?.trim();
  if (found) return found;
  if (secretsOf('', mergeHeaders(options.headers)).length > 0) return undefined;
  throw new ConfigurationError(
    'apiKey',
    `There is no API key for ${provider}.`,
    `Set ${apiKey.variable} or pass { apiKey }.`,
  );
}

/** The environment's variables, where there is a process (Node, Bun, Deno); a browser has none. */
function environment(): Readonly<Record<string, string | undefined>> {
  return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};
}
