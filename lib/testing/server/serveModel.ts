import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { concatMap, from, fromEvent, map, ReplaySubject, takeUntil, toArray, type Observable } from 'rxjs';
import { errorText } from '../../core/errors.js';
import { parseJsonOrText } from '../../core/json/json.js';
import type { Script } from '../script.js';
import { concatBytes } from './framing.js';
import type { ServedRequest, ServedTurn, ServeOptions } from './options.js';
import { respond, type Progress } from './respond.js';
import { basePath, createResponder } from './responder.js';

/**
 * An event of a server. `request` is the index in `server.requests`. Each request ends with one of `finished` (the
 * complete response was sent), `closed` (the client disconnected before the end) and `reset` (the server destroyed the
 * socket, because an option says so or on `close()`).
 */
export interface ServerEvent {
  readonly type: 'request' | 'frame' | 'finished' | 'closed' | 'reset';
  readonly request: number;
}

/** A provider on the loopback interface. */
export interface LoopbackServer {
  /** For a model's `baseUrl`: `http://127.0.0.1:<port>/v1`. */
  readonly url: string;
  /**
   * The base URL for the models of a provider: `google('gemini-3.8-flash', { baseUrl: server.urlFor('google'), apiKey:
   * 'none' })`.
   *
   * @param provider The provider's name: `openai`, `anthropic`, ...
   * @throws ConfigurationError `provider` for a provider without a dialect. The message lists those that have one.
   */
  urlFor(provider: string): string;
  readonly port: number;
  /** The requests that were received, in order. */
  readonly requests: readonly ServedRequest[];
  /**
   * The number of connections with a request in progress. Idle connections are not counted: clients keep some for their
   * next request, and Node's `fetch` opens a spare one when a request is aborted.
   */
  readonly connections: number;
  /**
   * All events since the start: a late subscriber receives the earlier ones first. Completes when the server is closed.
   */
  readonly events: Observable<ServerEvent>;
  /** Closes all connections and stops listening. */
  close(): Promise<void>;
}

/**
 * Serves a script as a provider's HTTP API, on a port of 127.0.0.1 (default: a free one). The path of a request
 * selects the dialect: `/chat/completions`.
 *
 * ```ts
 * const server = await serveModel([[toolCall('add', { a: 1, b: 2 })], 'That makes 3.']);
 * const model = openai('gpt-6.1-terra', { baseUrl: server.url, apiKey: 'none' });
 * ```
 *
 * It refuses what the real server refuses (404, 405, 400, and 401 with the option `apiKey`), with the same error body.
 * A script that has no turn for a request, or that throws, results in a 400 with the reason.
 *
 * @param script The model's output: a list of turns, or one function of the request. Concurrent requests receive their
 * turns in order of arrival.
 * @param options Faults and other behaviour, for all requests or for single ones.
 * @returns A Promise of the listening server. Rejects if it cannot listen.
 */
export async function serveModel(script: Script<ServedTurn>, options: ServeOptions = {}): Promise<LoopbackServer> {
  const requests: ServedRequest[] = [];
  const events = new ReplaySubject<ServerEvent>(Infinity);
  const answerTo = createResponder(script, options);
  const open = new Set<ServerResponse>();
  let closing = false;

  const server = createServer((incoming, response) => {
    open.add(response);
    response.once('close', () => open.delete(response));
    read(incoming)
      .pipe(
        concatMap((received) => {
          const request = { order: requests.length, ...received };
          requests.push(request);
          const progress = watch(request.order, response, events, () => closing);
          return respond(response, answerTo(request), progress);
        }),
        takeUntil(fromEvent(response, 'close')),
      )
      .subscribe({ error: (error: unknown) => fail(response, error) });
  });

  const port = await listening(server, options.port ?? 0);
  return {
    url: `http://127.0.0.1:${port}/v1`,
    urlFor: (provider) => `http://127.0.0.1:${port}${basePath(provider)}`,
    port,
    requests,
    get connections() {
      return open.size;
    },
    events: events.asObservable(),
    async close() {
      closing = true;
      const left = [...open].map((response) => new Promise((gone) => response.once('close', gone)));
      await closed(server); // may resolve before each response has emitted `close`
      await Promise.all(left);
      events.complete();
    },
  };
}

/**
 * Serves recorded frames for any request: each string or byte array is one write, in order. The body ends after the
 * last one; with `{ reset: frames.length }` the socket is destroyed there instead.
 *
 * @param frames The frames exactly as sent, with their delimiters.
 * @param options As for `serveModel`. The content type is `text/event-stream` unless `headers` has another.
 */
export function serveFrames(
  frames: readonly (string | Uint8Array)[],
  options: Omit<ServeOptions, 'raw'> = {},
): Promise<LoopbackServer> {
  return serveModel([], { ...options, raw: frames });
}

function read(incoming: IncomingMessage): Observable<Omit<ServedRequest, 'order'>> {
  return from(incoming as AsyncIterable<Uint8Array>).pipe(
    toArray(),
    map((chunks) => ({
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
      ),
      body: parseJsonOrText(new TextDecoder().decode(concatBytes(chunks))),
    })),
  );
}

function watch(
  request: number,
  response: ServerResponse,
  events: ReplaySubject<ServerEvent>,
  closing: () => boolean,
): Progress {
  let reset = false;
  response.once('close', () =>
    events.next({ type: response.writableFinished ? 'finished' : reset || closing() ? 'reset' : 'closed', request }),
  );
  events.next({ type: 'request', request });
  return { frame: () => events.next({ type: 'frame', request }), reset: () => (reset = true) };
}

/** A client that disconnects in the middle of its request can get no response. */
function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) response.destroy();
  else
    response
      .writeHead(500, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: { message: errorText(error), type: 'loopback' } }));
}

function listening(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve()); // an error means that it was closed before
    server.closeAllConnections();
  });
}
