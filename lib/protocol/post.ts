import { defer, Observable, throwError } from 'rxjs';
import { ConfigurationError, ConnectionError, errorText, StreamInterruptedError } from '../core/errors.js';
import { isRecord } from '../core/json/json.js';
import { isStreamType, contentTypeError, statusError } from './errorResponse.js';
import { redactErrors, redactThrown } from './redact.js';

/** A request whose answer is streamed. */
export interface PostRequest {
  /** The model's provider, for errors. */
  readonly provider: string;
  /** Absolute; relative where the environment's `fetch` takes that. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The media type of the stream asked for: `text/event-stream`, `application/x-ndjson`. Sent as the `accept` header, unless `headers` has one. */
  readonly accept: string;
  /** Default: the global one, looked up at subscription. */
  readonly fetch?: typeof fetch | undefined;
  /** What must appear in no error: each is replaced by `[key]`. */
  readonly secrets: readonly string[];
}

/**
 * Sends a request and emits its answer's bytes as they arrive.
 *
 * Cold: every subscription is a new request. Unsubscribing aborts it in the same tick, also while the server is silent or has not begun to
 * answer (an async iterator over the body would close the connection only with the next piece). One read is emitted synchronously before
 * the next is asked for, so a synchronous reader sets the pace.
 *
 * @param post What to send.
 * @returns The bytes. Errors with ConfigurationError `options` (a URL or header that cannot be sent), ConnectionError (no answer),
 * StreamInterruptedError (the connection broke within it), HttpError (a status other than 2xx), ProtocolError `content_type` or
 * ProviderError (2xx, but not a stream).
 */
export function post(post: PostRequest): Observable<Uint8Array> {
  const { secrets, provider } = post;
  return new Observable<Uint8Array>((out) => {
    if (out.closed) return; // RxJS subscribes for a closed reader too, and a request is billed.
    const controller = new AbortController();
    let read = false;
    // An answer that was read to its end has nothing to abort: the abort's error and listeners took a tenth of a small request's time.
    out.add(() => read || controller.abort());
    const fail = (thrown: unknown) => out.error(redactThrown(thrown, secrets, provider));
    const ended = () => (read = true);
    send(post, controller.signal).then(
      (response) => {
        if (!isResponse(response)) fail(noResponse(post, response));
        else if (out.closed) leave(response.body);
        else
          defer(() => answer(post, response, ended))
            .pipe(redactErrors(secrets, provider))
            .subscribe(out);
      },
      (thrown: unknown) => fail(noConnection(post, thrown)),
    );
  });
}

function send(
  { url, headers, body, accept, fetch = globalThis.fetch }: PostRequest,
  signal: AbortSignal,
): Promise<Response> {
  const sent = Object.keys(headers).some((name) => name.toLowerCase() === 'accept') ? headers : { accept, ...headers };
  // A custom fetch may throw, or give something that only looks like a promise. Redirects are not followed: `fetch` would take the conversation and
  // the key's header (all but `authorization`) to another host, and mostly make a GET of the POST.
  return new Promise((resolve) =>
    resolve(fetch(url, { method: 'POST', headers: sent, body, signal, redirect: 'manual' })),
  );
}

function answer({ provider, accept }: PostRequest, response: Response, ended: () => void): Observable<Uint8Array> {
  const bytes = bytesOf(provider, response.body, ended);
  if (!response.ok) return statusError(provider, response, bytes);
  return isStreamType(response.headers.get('content-type'), accept)
    ? bytes
    : contentTypeError(provider, response, bytes, accept);
}

function bytesOf(provider: string, body: ReadableStream<Uint8Array> | null, ended: () => void): Observable<Uint8Array> {
  // The signal alone is not enough: a custom `fetch` may ignore it. The stream is cancelled as well.
  return body === null
    ? throwError(() => withoutBody(provider))
    : readStream(body, (thrown) => interrupted(provider, thrown), ended);
}

/** What a custom `fetch` gave may be anything. */
const isResponse = (given: unknown): given is Response =>
  isRecord(given) && 'body' in given && typeof given['status'] === 'number';

const noResponse = ({ provider }: PostRequest, given: unknown) =>
  new ConfigurationError(
    'options',
    `The fetch of ${provider}'s options gave no Response but ${errorText(given)}.`,
    'Pass a function like the global fetch.',
  );

const withoutBody = (provider: string) =>
  new StreamInterruptedError(
    provider,
    `${provider} sent an answer without a body. Send the request again; check any proxy between.`,
  );

function interrupted(provider: string, thrown: unknown): StreamInterruptedError {
  return new StreamInterruptedError(
    provider,
    `The connection to ${provider} broke in the middle of the answer: ${causes(thrown)}. What had arrived was emitted; send the request again for a whole answer.`,
  );
}

function noConnection({ provider, url, headers }: PostRequest, thrown: unknown): ConnectionError | ConfigurationError {
  const where = url.replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//');
  const header = unsendableHeader(headers);
  if (header !== undefined) {
    return new ConfigurationError(
      'options',
      `The header "${header}" cannot be sent to ${provider}: it holds characters that HTTP does not allow.`,
      'Check the API key and headers for line breaks, quotes from a copied text, and the like.',
    );
  }
  if (!isUrl(url))
    return new ConfigurationError(
      'options',
      `${provider} cannot be reached at "${where}": this is no URL of http or https.`,
      'Check baseUrl.',
    );
  return new ConnectionError(
    provider,
    `No connection to ${provider} at ${where}: ${causes(thrown)}. Check the network, baseUrl, and any proxy between (in a browser, CORS).`,
  );
}

/** Relative URLs resolve against the page; where there is none, and `fetch` refused, the URL was the reason. */
function isUrl(url: string): boolean {
  try {
    const { protocol, username, password } = new URL(
      url,
      (globalThis as { location?: { href?: string } }).location?.href,
    );
    // `localhost:11434` is a URL of the scheme `localhost`.
    return /^https?:$/.test(protocol) && username === '' && password === '';
  } catch {
    return false;
  }
}

/**
 * What a thrown value and its causes say: undici's own text is "fetch failed", the reason stands in `cause`, and for a host of several
 * addresses in the `errors` of that. Only the text is kept: a cause as it is may hold the request, and the key in it.
 */
function causes(thrown: unknown, depth = 0): string {
  const { cause, errors, code } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as {
    cause?: unknown;
    errors?: unknown;
    code?: unknown;
  };
  const inner = Array.isArray(errors) ? (errors as readonly unknown[]) : cause === undefined ? [] : [cause];
  const own = errorText(thrown);
  const named = typeof code === 'string' && !own.includes(code) ? `${own} (${code})` : own;
  return depth === 4
    ? named
    : [...new Set([named, ...inner.slice(0, 4).map((one) => causes(one, depth + 1))])].join(': ');
}

/** `fetch` says of a bad header what stands in it; this says which. It is no trouble of the connection: a retry would not help. */
function unsendableHeader(headers: PostRequest['headers']): string | undefined {
  return Object.entries(headers).find(([name, value]) => !isSendable(name, value))?.[0];
}

function isSendable(name: string, value: string): boolean {
  try {
    new Headers([[name, value]]);
    return true;
  } catch {
    return false;
  }
}

/**
 * Emits what a `ReadableStream` gives, each value before the next is read, so that a synchronous reader sets the pace.
 *
 * Unsubscribing cancels the stream in the same tick, also while it is silent.
 *
 * @param stream The stream. It is locked at the subscription.
 * @param failure Makes the error of what the stream fails with.
 * @param ended Called when the stream has been read to its end, before the completion. Default: nothing.
 * @returns Its values. It completes with the stream, and errors with `failure` of what the stream errors with.
 */
export function readStream<T>(
  stream: ReadableStream<T>,
  failure: (thrown: unknown) => unknown,
  ended?: () => void,
): Observable<T> {
  return new Observable((out) => {
    const reader = stream.getReader();
    let read = false;
    out.add(() => read || leave(reader));
    const pump = async () => {
      while (!out.closed) {
        const { done, value } = await reader.read();
        if (done) {
          read = true;
          ended?.();
          out.complete();
        } else out.next(value);
      }
    };
    pump().catch((thrown: unknown) => out.error(failure(thrown)));
  });
}

/** Leaves a stream that nobody reads. There is nobody to tell of a failed farewell. */
export function leave(stream: Pick<ReadableStream, 'cancel'> | null): void {
  stream?.cancel().catch(() => undefined);
}
