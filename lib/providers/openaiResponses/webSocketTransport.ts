import { asyncScheduler, Subscription } from 'rxjs';
import { isRecord, nonEmptyString, objectOrEmpty, parseJsonOrText } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';

/** The part of a WebSocket that the transport uses. Those of browsers, Node, Bun, Deno and the package `ws` have it. */
export interface WebSocketLike {
  send(data: string): void;
  close(): void;
  /** The handlers of its events, which the transport sets. Their types differ from one environment to another. */
  onopen: unknown;
  onmessage: unknown;
  onerror: unknown;
  onclose: unknown;
}

/** A class of WebSockets that sends headers when it connects. */
export type WebSocketClass = new (
  url: string,
  options: { readonly headers: Readonly<Record<string, string>> },
) => WebSocketLike;

/** Options of `webSocketTransport`. */
export interface WebSocketTransportOptions {
  /** How long a connection without a request is kept, in milliseconds. Default: 60000. */
  readonly idle?: number | undefined;
  /** Sends all other requests: those of `background` responses. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** A transport of the Responses API, for the option `fetch` of `openaiResponses`. */
export interface WebSocketTransport {
  /** Sends a request over a WebSocket, and returns its events as the body of a response. */
  readonly fetch: typeof fetch;
  /** Closes all connections. A response that is being received fails. */
  close(): void;
}

/** OpenAI closes a connection after 60 minutes (its guide "WebSocket Mode"); an older one begins no other response. */
const MAX_AGE = 3_300_000;

/**
 * Sends the requests of `openaiResponses` over WebSockets that stay open between the turns of a run.
 *
 * A connection has one response at a time: concurrent requests open several. The next turn prefers the connection that
 * has its previous response. Errors, retries and timeouts are those of HTTP: a connection that breaks is a request that
 * was interrupted, and an error that the server sends first has its status. Unsubscribing closes the connection, which
 * is the only way to end a response.
 *
 * ```ts
 * import WebSocket from 'ws'; // or the global one of Node 22, Bun or Deno
 *
 * const sockets = webSocketTransport(WebSocket);
 * const model = openaiResponses('gpt-6.1-terra', { fetch: sockets.fetch });
 * ```
 *
 * Source: OpenAI's guide "WebSocket Mode", and the types of its SDK (7.57).
 *
 * @param webSocket The class. Browsers cannot use it, since theirs sends no key.
 * @param options `idle` in milliseconds (default: 60000), `fetch` for all other requests.
 * @returns The transport. Call `close` before a process ends: open connections keep it alive.
 */
export function webSocketTransport(
  webSocket: WebSocketClass,
  { idle = 60_000, fetch: fetchOther = globalThis.fetch }: WebSocketTransportOptions = {},
): WebSocketTransport {
  const connections = new Set<Connection>();

  const connectionFor = (address: string, headers: Readonly<Record<string, string>>, previous: unknown): Connection => {
    const key = JSON.stringify([address, headers]);
    const free = [...connections].filter((connection) => connection.key === key && connection.isFree);
    const known = free.find(({ lastResponse }) => lastResponse !== undefined && lastResponse === previous) ?? free[0];
    if (known) return known;
    const socket = new webSocket(address.replace(/^http/, 'ws'), { headers });
    const created = new Connection(key, socket, idle, () => connections.delete(created));
    connections.add(created);
    return created;
  };

  return {
    fetch: (input, init) => {
      const body = init?.method === 'POST' ? requestBody(init.body) : undefined;
      if (!body) return fetchOther(input, init);
      const headers = Object.fromEntries(new Headers(init?.headers));
      const { accept: _, 'content-type': __, ...sent } = headers;
      const connection = connectionFor(addressOf(input), sent, body['previous_response_id']);
      return connection.request(body, init?.signal ?? undefined);
    },
    close: () => {
      for (const connection of connections) connection.close();
    },
  };
}

const addressOf = (input: string | URL | Request): string => (input instanceof Request ? input.url : input.toString());

/** The body of a request that a WebSocket can send; undefined for any other. */
function requestBody(body: unknown): JsonObject | undefined {
  const { stream, background, ...fields } = objectOrEmpty(typeof body === 'string' ? parseJsonOrText(body) : undefined);
  return stream === true && background !== true ? fields : undefined;
}

/** A response that is being received. */
interface Exchange {
  /** Receives an event. Returns whether it was the last one. */
  next(text: string): boolean;
  fail(reason: Error): void;
}

/** A connection, with one response at a time. */
class Connection {
  /** The id of the last response, which the server still has in memory for this connection. */
  lastResponse: string | undefined;
  private exchange: Exchange | undefined;
  private isClosed = false;
  private readonly opened: Promise<void>;
  private readonly until = asyncScheduler.now() + MAX_AGE;
  private idleTimer = Subscription.EMPTY;

  constructor(
    readonly key: string,
    private readonly socket: WebSocketLike,
    private readonly idle: number,
    private readonly onClose: () => void,
  ) {
    this.opened = new Promise((resolve) => (socket.onopen = () => resolve()));
    socket.onmessage = ({ data }: { readonly data: unknown }) => this.receive(String(data));
    socket.onerror = (event: unknown) => this.end(messageOf(event));
    socket.onclose = (event: unknown) => this.end(messageOf(event));
  }

  get isFree(): boolean {
    return !this.isClosed && !this.exchange;
  }

  /** Sends a request. The Promise resolves with the first event, as that of `fetch` does with the status. */
  request(body: JsonObject, signal: AbortSignal | undefined): Promise<Response> {
    this.idleTimer.unsubscribe();
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.exchange?.fail(signal?.reason as Error);
        this.close();
      };
      signal?.addEventListener('abort', abort, { once: true });
      const release = () => signal?.removeEventListener('abort', abort);
      this.exchange = createExchange(resolve, reject, release, () => this.close());
      if (signal?.aborted) abort();
      this.opened.then(
        () => this.send(body),
        () => undefined,
      );
    });
  }

  close(): void {
    this.end('It was closed.');
    this.socket.close();
  }

  private send(body: JsonObject): void {
    if (!this.isClosed) this.socket.send(JSON.stringify({ ...body, type: 'response.create' }));
  }

  private receive(text: string): void {
    if (!this.exchange?.next(text)) return;
    this.exchange = undefined;
    this.lastResponse = responseId(text);
    if (asyncScheduler.now() > this.until || text.includes('websocket_connection_limit_reached')) this.close();
    else this.idleTimer = asyncScheduler.schedule(() => this.close(), this.idle);
  }

  private end(reason: string): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.idleTimer.unsubscribe();
    this.onClose();
    const { exchange } = this;
    this.exchange = undefined; // it may still receive what had arrived
    exchange?.fail(new TypeError(`The WebSocket ended. ${reason}`));
  }
}

/** The events that end a response. A text that contains one of these names may have it anywhere. */
const mayEnd = /"(?:response\.(?:completed|failed|incomplete)|error)"/;
const lastEvents: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.failed',
  'response.incomplete',
  'error',
]);

function createExchange(
  resolve: (response: Response) => void,
  reject: (reason: Error) => void,
  release: () => void,
  onCancel: () => void,
): Exchange {
  const encoder = new TextEncoder();
  let body: ReadableStreamDefaultController<Uint8Array> | undefined;
  const begin = (): void => {
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        body = controller;
      },
      cancel: onCancel,
    });
    resolve(new Response(stream, { headers: { 'content-type': 'text/event-stream' } }));
  };
  return {
    next(text) {
      const event = !body || mayEnd.test(text) ? objectOrEmpty(parseJsonOrText(text)) : {};
      const isLast = lastEvents.has(event['type']);
      if (isLast) release();
      if (!body && event['type'] === 'error') {
        resolve(errorResponse(event));
        return true;
      }
      if (!body) begin();
      body?.enqueue(encoder.encode(`data: ${text.replace(/[\r\n]+/g, ' ')}\n\n`));
      if (isLast) body?.close();
      return isLast;
    },
    fail(reason) {
      release();
      const status = Number(/\bresponse: (\d{3})$/.exec(reason.message)?.[1]); // the package `ws`, of the handshake
      if (body) body.error(reason);
      else if (status >= 400) resolve(Response.json({ error: { message: reason.message } }, { status }));
      else reject(reason);
    },
  };
}

/** The statuses of errors that are sent without one. A new connection has no limit yet. */
const statuses: Readonly<Record<string, number>> = {
  rate_limit_exceeded: 429,
  server_error: 500,
  websocket_connection_limit_reached: 503,
};

/** The response that an HTTP server would send for an error before anything else. */
function errorResponse(event: JsonObject): Response {
  const { type: _, status, error, ...fields } = event;
  const details = isRecord(error) ? error : fields;
  const known = statuses[nonEmptyString(details['code']) ?? ''] ?? 400;
  return Response.json({ error: details }, { status: typeof status === 'number' && status >= 400 ? status : known });
}

const responseId = (text: string): string | undefined =>
  nonEmptyString(objectOrEmpty(objectOrEmpty(parseJsonOrText(text))['response'])['id']);

/** What an `error` or a `close` event says. */
function messageOf(event: unknown): string {
  const { message, reason, code } = isRecord(event) ? event : {};
  return (
    nonEmptyString(message) ??
    nonEmptyString(reason) ??
    (code === undefined ? '' : `Its code is ${JSON.stringify(code)}.`)
  );
}
