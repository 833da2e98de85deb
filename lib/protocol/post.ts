import { Observable, throwError, type Subscriber } from 'rxjs';
import { isRecord } from '../core/json/json.js';
import { causes, notAResponse } from './connectionError.js';
import { interrupted } from './untilFinish.js';

export interface PostRequest {
  readonly provider: string;
  /** Absolute; relative where the environment's `fetch` accepts that. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined for a GET, which requests the rest of a response. */
  readonly body: string | undefined;
  readonly accept: string;
  /** When the headers have arrived: whether the response is the requested stream. */
  readonly onHeaders?: ((isStream: boolean) => void) | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly failures: RequestFailures;
}

export interface RequestFailures {
  connection(request: PostRequest, thrown: unknown): Error;
  status(provider: string, response: Response, bytes: Observable<Uint8Array>): Observable<never>;
  contentType(provider: string, response: Response, bytes: Observable<Uint8Array>, accept: string): Observable<never>;
}

/** An async iterator would abort a silent server only with its next chunk. `decodeFrames` removes secrets. */
export function post(request: PostRequest): Observable<Uint8Array> {
  return new Observable<Uint8Array>(startExchange.bind(undefined, request));
}

function startExchange(request: PostRequest, out: Subscriber<Uint8Array>): void {
  if (out.closed) return;
  const exchange = new Exchange(request, out);
  out.add(exchange.abort.bind(exchange)); // before the request: a custom fetch may unsubscribe
  exchange.start();
}

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

  /** Not after a failure: undici's AbortError ended the process, and an abort took a tenth of a small request. */
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
  // A custom fetch may throw, or return anything. Redirects would get the conversation and the key's header.
  return new Promise((resolve) =>
    resolve(fetch(url, { ...content, headers: sentHeaders, signal, redirect: 'manual' })),
  );
}

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

/** Servers label streams loosely: only what is clearly something else is rejected. One JSON document is a line. */
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

/** A synchronous subscriber sets the pace. `onEnd` is called before the notification of a natural end. */
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

  /** `then`: under zone.js, native `await` leaves the zone. `Promise.resolve` gives it a promise that it knows. */
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

export function cancelStream(stream: Pick<ReadableStream, 'cancel'> | null): void {
  stream?.cancel().catch(() => undefined);
}
