import { parseJsonOrText } from '../../core/json/json.js';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { concatMap, from, fromEvent, map, ReplaySubject, takeUntil, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { errorText } from '../../core/errors.js';
import type { Script } from '../script.js';
import { answers, basePath } from './answers.js';
import { joined } from './framing.js';
import type { ServedRequest, ServedTurn, ServeOptions } from './options.js';
import { respond } from './respond.js';
import type { Progress } from './respond.js';

/**
 * What happens on a server. `request` is the place in `server.requests`. Each request ends with one of `finished` (the answer was sent whole),
 * `closed` (the client left before the end) and `reset` (the server broke it off, as told or because it was closed).
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
   * The base URL for the models of a provider: `google('gemini-2.5-flash', { baseUrl: server.urlFor('google'), apiKey: 'none' })`.
   *
   * @param provider The provider's name: `openai`, `anthropic`, ...
   * @throws ConfigurationError `provider` for one whose dialect is not spoken; it lists those that are.
   */
  urlFor(provider: string): string;
  readonly port: number;
  /** What it got, in order. */
  readonly requests: readonly ServedRequest[];
  /**
   * Connections with a request under way. Idle ones are not counted: clients keep some for their next request, and Node's `fetch` opens a spare one
   * when a request is aborted.
   */
  readonly connections: number;
  /** What happens, from the start: a late subscriber gets what has happened already, so nothing is missed. Completes when the server is closed. */
  readonly events: Observable<ServerEvent>;
  /** Closes all connections and stops listening. */
  close(): Promise<void>;
}

/**
 * Serves a script as a provider's HTTP API does, on a free port of 127.0.0.1. The path of a request decides the dialect: `/chat/completions`.
 *
 * ```ts
 * const server = await serveModel([[call('add', { a: 1, b: 2 })], 'That makes 3.']);
 * const model = openai('gpt-5', { baseUrl: server.url, apiKey: 'none' });
 * ```
 *
 * It objects to what the real server would object to (404, 405, 400, and 401 with the option `apiKey`), with the same error body. A script that
 * has no turn for a request, or throws, is a 400 that says so.
 *
 * @param script What the model says: a list of turns, or one function of the request. Concurrent requests get their turns in order of arrival.
 * @param options Everything that can go wrong, for all requests or for one.
 * @returns The server, listening. Rejects if it cannot listen.
 */
export async function serveModel(script: Script<ServedTurn>, options: ServeOptions = {}): Promise<LoopbackServer> {
  const requests: ServedRequest[] = [];
  const events = new ReplaySubject<ServerEvent>(Infinity);
  const answerTo = answers(script, options);
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
          const tell = watch(request.order, response, events, () => closing);
          return respond(response, answerTo(request), tell);
        }),
        takeUntil(fromEvent(response, 'close')),
      )
      .subscribe({ error: (error: unknown) => fail(response, error) });
  });

  const port = await listening(server);
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
      await closed(server); // may come before the responses have told that they are closed
      await Promise.all(left);
      events.complete();
    },
  };
}

/**
 * Serves recorded frames: each string, or bytes, is one write, in order, whatever the request. After the last the body ends; with
 * `{ reset: frames.length }` the socket is destroyed there.
 *
 * @param frames The frames, with their framing, exactly as sent.
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
    map((pieces) => ({
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
      ),
      body: parseJsonOrText(new TextDecoder().decode(joined(pieces))),
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

/** Reading a request fails when the client leaves in the middle of it: then nobody is there to be told. */
function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) response.destroy();
  else
    response
      .writeHead(500, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: { message: errorText(error), type: 'loopback' } }));
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve()); // an error says that it was closed before
    server.closeAllConnections();
  });
}
