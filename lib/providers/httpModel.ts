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
import { extractTextCalls } from './shared/textCalls.js';
import { extractThinking } from './shared/thinkTags.js';

/** The options of every model over HTTP. */
export interface ModelOptions {
  /** Default: the provider's environment variable, read when a request is made. */
  readonly apiKey?: string | undefined;
  /**
   * The base URL of the API. A query is kept, trailing slashes are ignored, and it may be relative to the page.
   * Default: the provider's own.
   */
  readonly baseUrl?: string | undefined;
  /** Sent with each request; they override all others, the authorization included. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Sends the requests. Default: the global `fetch`, looked up at each request. Node's own gives up after five minutes
   * without a response.
   */
  readonly fetch?: typeof fetch | undefined;
  /**
   * How long the server may be silent: `first`, until the first byte (default: no limit); `each`, from then on
   * (default: 120000 ms; false: no limit).
   */
  readonly timeout?: IdleTimeoutOptions | undefined;
  /**
   * How a request that failed before its first chunk is retried; false: not at all. Default: 3 times, after 1, 2 and 4
   * s with jitter.
   */
  readonly retry?: RetryOptions | false | undefined;
  /** The size limit of an event, in characters. Default: 16 Mi. */
  readonly maxEventBytes?: number | undefined;
  /** Whether `<think>` at the start of the text is thinking. Default: false. */
  readonly thinkTags?: boolean | undefined;
  /**
   * Whether the model writes its tool calls as text (`<|python_tag|>{"name": ...}`), and the server passes them on as text. A
   * text is then read as calls if all of it consists of calls, each names an offered tool, and the tool choice is not `none`.
   * Default: false, except for some models of Together: a quoted document must not call a tool.
   */
  readonly textCalls?: boolean | undefined;
  /** What this model can do; overrides what is known of it. Default: nothing. */
  readonly capabilities?: Capabilities | undefined;
}

/** A provider's model, as data and pure functions. */
export interface HttpModelDefinition {
  /** The provider's name. */
  readonly provider: string;
  /** The model's name. */
  readonly name: string;
  /** The base URL of the API; the options may replace it. */
  readonly baseUrl: string;
  /** The environment variable of the key. Absent: no key is required, and only one from the options is sent. */
  readonly apiKey?: { readonly variable: string } | undefined;
  /** The headers that carry the key. Default: `authorization: Bearer <key>`. */
  readonly authorize?: ((key: string) => Readonly<Record<string, string>>) | undefined;
  /** The provider's wire. */
  readonly wire: Wire;
  readonly capabilities?: Capabilities | undefined;
}

/**
 * A model over HTTP: a provider's wire on the shared protocol.
 *
 * Each subscription to `stream(request)` reads the key, checks the history, and sends a request. As long as nothing was
 * emitted, a transient failure is retried, and another error is answered with the wire's `fallback` request if it has
 * one. Unsubscribing aborts the request in the same tick. Nothing is done, and nothing is thrown, before the
 * subscription.
 *
 * @param definition The provider's part.
 * @param options The user's part.
 * @returns The model. Its streams error with ConfigurationError (`capability`, `apiKey`, `history`, `options`), with
 * what the wire's `encode` and `decode` throw, and with the errors of `post`, `idleTimeout` and `decodeFrames`, none of
 * which contains the key.
 */
export function httpModel(definition: HttpModelDefinition, options: ModelOptions = {}): Model {
  const { provider, name, wire } = definition;
  const capabilities = { ...definition.capabilities, ...options.capabilities };
  const model = { provider, name, ...(Object.keys(capabilities).length > 0 ? { capabilities } : {}) };
  return {
    ...model,
    stream: (request) =>
      defer(() => {
        requireCapabilities(model, request, capabilityTable);
        const key = findKey(definition, options);
        const send = (encoded: WireRequest): Observable<Chunk> => {
          const chunks = streamResponse(definition, options, request, encoded, key);
          const { fallback } = encoded;
          if (!fallback) return chunks;
          return chunks.pipe(
            catchBeforeFirst((error) => {
              const other = fallback(error);
              return other && send(other);
            }),
          );
        };
        return send(wire.encode({ ...request, messages: repairHistory(request.messages, wire.isUnmergeable) }));
      }),
  };
}

/** Sends one encoded request, with its retries, and decodes the response. */
function streamResponse(
  definition: HttpModelDefinition,
  options: ModelOptions,
  request: Request,
  encoded: WireRequest,
  key: string | undefined,
): Observable<Chunk> {
  const { provider, wire } = definition;
  const { timeout, maxEventBytes, thinkTags, textCalls, retry } = options;
  const prepared = preparePost(definition, options, request, encoded, key);
  const secrets = [
    ...(key === undefined ? [] : [key]),
    ...secretsOf(prepared.url, prepared.headers),
    ...(encoded.secrets ?? []),
  ];
  return post(prepared).pipe(
    idleTimeout(timeout),
    decodeFrames(wire, { provider, maxEventBytes, secrets }),
    thinkTags ? extractThinking() : identity,
    textCalls ? extractTextCalls(request) : identity,
    retry === false ? identity : retryBeforeFirst(retry),
  );
}

const mediaTypes = { sse: 'text/event-stream', ndjson: 'application/x-ndjson' } as const;

function preparePost(
  { provider, baseUrl, wire, authorize = bearer }: HttpModelDefinition,
  options: ModelOptions,
  request: Request,
  encoded: WireRequest,
  key: string | undefined,
): PostRequest {
  const accept = mediaTypes[wire.framing];
  const url = joinUrl(options.baseUrl?.trim() ? options.baseUrl : baseUrl, encoded.path);
  const headers = mergeHeaders(
    { accept, 'content-type': 'application/json' },
    key === undefined ? {} : authorize(key),
    encoded.headers,
    options.headers,
  );
  const overrides = request.providerOptions?.[provider];
  const body = encodeOnce(overrides ? mergeJson(encoded.body, overrides) : encoded.body);
  return { provider, url, headers, body, accept, fetch: options.fetch };
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** The key from the options or the environment. None is required where the user's headers carry one. */
function findKey({ provider, apiKey }: HttpModelDefinition, options: ModelOptions): string | undefined {
  const optionKey = options.apiKey?.trim();
  if (optionKey) return optionKey;
  if (apiKey === undefined) return undefined;
  const environmentKey = environment()[apiKey.variable]?.trim();
  if (environmentKey) return environmentKey;
  if (secretsOf('', mergeHeaders(options.headers)).length > 0) return undefined;
  throw new ConfigurationError(
    'apiKey',
    `There is no API key for ${provider}.`,
    `Set ${apiKey.variable} or pass { apiKey }.`,
  );
}

/** The environment variables, where there is a process (Node, Bun, Deno); none in a browser. */
function environment(): Readonly<Record<string, string | undefined>> {
  return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};
}
