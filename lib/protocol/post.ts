import { Observable, throwError } from 'rxjs';
import type { Subscriber } from 'rxjs';
import { isRecord } from '../core/json/json.js';
import { causes, notAResponse } from './connectionError.js';
import { interrupted } from './untilFinish.js';

/** A request whose response is streamed. */
export interface PostRequest {
  /** The model's provider, for errors. */
  readonly provider: string;
  /** Absolute; relative where the environment's `fetch` accepts that. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body; undefined for a GET, which requests the rest of a response. */
  readonly body: string | undefined;
  /**
   * The media type of the requested stream: `text/event-stream`, `application/x-ndjson`. Sent as the `accept` header,
   * unless `headers` has one.
   */
  readonly accept: string;
  /** Called when the headers have arrived, with whether the response is the requested stream. Default: nothing. */
  readonly onHeaders?: ((isStream: boolean) => void) | undefined;
  /** Default: the global `fetch`, looked up at subscription. */
  readonly fetch?: typeof fetch | undefined;
  /** Creates the errors of a request without a response, and of a response that is not the requested stream. */
  readonly failures: RequestFailures;
}

/** Explains why a request failed. A page needs no advice on providers. */
export interface RequestFailures {
  /** Creates the error for a value that `fetch` threw. */
  connection(request: PostRequest, thrown: unknown): Error;
  /** Fails for a status other than 2xx. */
  status(provider: string, response: Response, bytes: Observable<Uint8Array>): Observable<never>;
  /** Fails for another content type. */
  contentType(provider: string, response: Response, bytes: Observable<Uint8Array>, accept: string): Observable<never>;
}

/**
 * Sends a request and emits the bytes of its response as they arrive.
 *
 * Cold: every subscription is a new request. Unsubscribing aborts it in the same tick, also while the server is silent
 * or has not begun to respond (an async iterator over the body would close the connection only with the next chunk).
 * One read is emitted synchronously before the next one starts, so a synchronous subscriber sets the pace.
 *
 * Errors may contain secrets: `decodeFrames` removes them.
 *
 * @param request What to send.
 * @returns The bytes. Fails with StreamInterruptedError (the connection broke during the response), and those of
 * `failures`.
 */
export function post(request: PostRequest): Observable<Uint8Array> {
  return new Observable<Uint8Array>(startExchange.bind(undefined, request));
}

function startExchange(request: PostRequest, out: Subscriber<Uint8Array>): void {
  if (out.closed) return; // RxJS subscribes for a closed subscriber too, and a request is billed.
  const exchange = new Exchange(request, out);
  out.add(exchange.abort.bind(exchange)); // before the request: a custom fetch may unsubscribe
  exchange.start();
}

/** A request and its response. */
class Exchange {
  private readonly controller = new AbortController();
  private isOver = false;

  constructor(
    private readonly request: PostRequest,
    private readonly out: Subscriber<Uint8Array>,
  ) {}

  start(): void {
    send(this.request, this.controller.signal).then(this.receive.bind(this), this.fail.bind(this));
  }

  /**
   * A request that has failed, or whose response has ended, is not aborted. An abort after a failure ended the process:
   * undici answers a response of six content encodings with a rejection, and the abort with an uncaught AbortError.
   * After a complete response, the abort's error and listeners took a tenth of a small request's time.
   */
  abort(): void {
    if (!this.isOver) this.controller.abort();
  }

  private fail(thrown: unknown): void {
    this.isOver = true;
    this.out.error(this.request.failures.connection(this.request, thrown));
  }

  private receive(response: unknown): void {
    const { request, out } = this;
    if (!isResponse(response)) {
      out.error(notAResponse(request, response));
      return;
    }
    if (out.closed) {
      cancelStream(response.body);
      return;
    }
    try {
      read(request, response, () => (this.isOver = true)).subscribe(out);
    } catch (thrown) {
      out.error(thrown);
    }
  }
}

function send(
  { url, headers, body, accept, fetch = globalThis.fetch }: PostRequest,
  signal: AbortSignal,
): Promise<Response> {
  const hasAccept = Object.keys(headers).some((name) => name.toLowerCase() === 'accept');
  const sentHeaders = hasAccept ? headers : { accept, ...headers };
  const content = body === undefined ? { method: 'GET' } : { method: 'POST', body };
  // A custom fetch may throw, or return something that only looks like a promise. Redirects are not followed: `fetch`
  // would send the conversation and the key's header (any but `authorization`) to another host, and mostly as a GET.
  return new Promise((resolve) =>
    resolve(fetch(url, { ...content, headers: sentHeaders, signal, redirect: 'manual' })),
  );
}

/** A custom `fetch` may return anything. */
const isResponse = (value: unknown): value is Response =>
  isRecord(value) &&
  typeof value['status'] === 'number' &&
  isRecord(value['headers']) &&
  (value['body'] === null || (isRecord(value['body']) && 'getReader' in value['body']));

function read(request: PostRequest, response: Response, onEnd: () => void): Observable<Uint8Array> {
  const { provider, accept, onHeaders, failures } = request;
  const bytes = streamBody(provider, response.body, onEnd);
  const isStream = response.ok && isStreamType(response.headers.get('content-type'), accept);
  onHeaders?.(isStream);
  if (isStream) return bytes;
  return response.ok
    ? failures.contentType(provider, response, bytes, accept)
    : failures.status(provider, response, bytes);
}

const anyStream = /^(text\/plain|(application|binary)\/octet-stream)$/;
const lines = /^application\/(x-)?(ndjson|jsonl|jsonlines|json|stream\+json)$/;

/**
 * Whether a content type can be that of the requested stream. Servers label streams loosely (no type at all,
 * `text/plain`), so only what is clearly something else is rejected. A single JSON document is a valid stream of one
 * line.
 *
 * @param contentType The header, or null.
 * @param accept The requested media type.
 */
function isStreamType(contentType: string | null, accept: string): boolean {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === '' || type === accept || anyStream.test(type)) return true;
  return accept !== 'text/event-stream' && lines.test(type);
}

function streamBody(
  provider: string,
  body: ReadableStream<Uint8Array> | null,
  onEnd: () => void,
): Observable<Uint8Array> {
  if (body === null) {
    const what = `${provider} sent a response without a body. Check any proxy in between.`;
    return throwError(() => interrupted(provider, what));
  }
  // The signal alone is not enough: a custom `fetch` may ignore it. The stream is cancelled as well.
  return readStream(body, (thrown) => brokenConnection(provider, thrown), onEnd);
}

const brokenConnection = (provider: string, thrown: unknown) =>
  interrupted(
    provider,
    `The connection to ${provider} broke during the response: ${causes(thrown)}. Whatever arrived before was emitted.`,
  );

/**
 * Emits the values of a `ReadableStream`, each one before the next is read, so that a synchronous subscriber sets the
 * pace.
 *
 * Unsubscribing cancels the stream in the same tick, also while it is silent.
 *
 * @param stream The stream. Subscribing locks it.
 * @param toError Makes the error of whatever the stream fails with.
 * @param onEnd Called when the stream has been read to its end or has failed, before the notification. Default:
 * nothing.
 * @returns The stream's values. Completes with the stream.
 */
export function readStream<T>(
  stream: ReadableStream<T>,
  toError: (thrown: unknown) => unknown,
  onEnd?: () => void,
): Observable<T> {
  return new Observable<T>((out) => {
    const reader = new StreamReader(stream, out, toError, onEnd);
    out.add(() => reader.cancel()); // before the first read, whose subscriber may leave
    reader.readNext();
  });
}

class StreamReader<T> {
  private readonly reader: ReadableStreamDefaultReader<T>;
  private isOver = false;
  // Bound methods, and not closures, which V8 would compile again after each garbage collection.
  private readonly onRead = this.emit.bind(this);
  private readonly onError = this.fail.bind(this);

  constructor(
    stream: ReadableStream<T>,
    private readonly out: Subscriber<T>,
    private readonly toError: (thrown: unknown) => unknown,
    private readonly onEnd: (() => void) | undefined,
  ) {
    this.reader = stream.getReader();
  }

  /**
   * `then`, and not `await`: under zone.js, the code after a native `await` runs in the root zone. `Promise.resolve` is
   * free for a native promise, and gives zone.js a promise that it knows where the stream is a polyfill or of another
   * realm.
   */
  readNext(): void {
    if (this.out.closed) return;
    void Promise.resolve(this.reader.read()).then(this.onRead, this.onError);
  }

  cancel(): void {
    if (!this.isOver) cancelStream(this.reader);
  }

  private emit({ done, value }: ReadableStreamReadResult<T>): void {
    if (done) {
      this.end();
      this.out.complete();
      return;
    }
    this.out.next(value);
    this.readNext();
  }

  private fail(thrown: unknown): void {
    this.end();
    this.out.error(this.toError(thrown));
  }

  private end(): void {
    this.isOver = true;
    this.onEnd?.();
  }
}

/** Cancels a stream that nobody reads. A failure is ignored: there is no subscriber. */
export function cancelStream(stream: Pick<ReadableStream, 'cancel'> | null): void {
  stream?.cancel().catch(() => undefined);
}
