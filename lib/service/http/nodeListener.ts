import { ConfigurationError } from '../../core/errors.js';
import { isRecord } from '../../core/json/json.js';
import { reportUnhandled } from '../../core/reportUnhandled.js';
import { RunAbandonedError } from '../runs/runErrors.js';
import { onEndOfConnection } from './connections.js';

/** The members that `nodeListener` uses in a request of `node:http`, Express or Nest, or of Fastify (with `raw`). */
export type ListenedRequest = RequestHead & (IncomingStream | { readonly raw: IncomingStream });

interface RequestHead {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** Express, Fastify: the URL before a router removed its prefix. */
  readonly originalUrl?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body, if a middleware has read it (`express.json()`, `express.raw()`). */
  readonly body?: unknown;
}

interface IncomingStream {
  /** Whether something has read the body. */
  readonly readableDidRead?: boolean | undefined;
  /** Whether something has read the body to its end. An empty body is read without data. */
  readonly readableEnded?: boolean | undefined;
  on(event: 'data', listener: (bytes: Uint8Array) => void): unknown;
  on(event: 'end' | 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** The members that `nodeListener` uses in a response of `node:http`, Express or Nest, or in a reply of Fastify. */
export type ListenedResponse = NodeResponse | FastifyReply;

interface NodeResponse {
  /** Whether the connection is closed already. */
  readonly destroyed?: boolean | undefined;
  writeHead(status: number, headers: Readonly<Record<string, string | string[]>>): unknown;
  /** Returns false if the response is full. */
  write(bytes: Uint8Array): boolean;
  end(text?: string): unknown;
  destroy(error: Error): unknown;
  once(event: 'drain' | 'close', listener: () => void): unknown;
}

interface FastifyReply {
  readonly raw: NodeResponse;
  /** Leaves the response to the caller. */
  hijack(): unknown;
  getHeaders(): Readonly<Record<string, unknown>>;
}

/**
 * Converts a handler of web requests to a listener of `node:http`. It is a handler of Express, Fastify and Nest, too.
 *
 * The response is written at the speed of its reader, and a closed connection cancels the body. The `shutdown` of the
 * service that has made it breaks a connection that is not read. The headers that middleware or a hook has set are sent
 * with those of the handler.
 *
 * ```ts
 * createServer(nodeListener(agentHandler(agent))).listen(3000);
 * app.use('/api/chat', nodeListener(agentHandler(agent))); // Express, Nest
 * app.all('/api/chat', nodeListener(agentHandler(agent))); // Fastify
 * ```
 *
 * @param handler The handler. It also receives the request of the framework, which an `agentHandler` passes to the
 * option `context`. If it rejects, the error is reported to `config.onUnhandledError`, or printed, and the response is
 * 500; it is 400 to a request that is not a web request.
 * @returns The listener. It throws a ConfigurationError `options` if it is called without a response of Node.
 */
export function nodeListener(
  handler: (request: Request, incoming: ListenedRequest) => Promise<Response>,
): (request: ListenedRequest, response: ListenedResponse) => void {
  const answer = (request: Request, incoming: ListenedRequest) =>
    Promise.resolve(request)
      .then(() => handler(request, incoming))
      .catch((thrown: unknown) => {
        reportUnhandled(thrown);
        return new Response(null, { status: 500 });
      });
  return (incoming, given) => {
    const [outgoing, ownHeaders] = takeResponse(given);
    if (outgoing.destroyed) return; // the client has left already
    const closed = new Promise<void>((resolve) => {
      outgoing.once('close', resolve);
    });
    Promise.resolve(incoming)
      .then(toRequest)
      .then(
        (request) => answer(request, incoming).then((response) => discardBody(request, response)),
        () => new Response(null, { status: 400 }),
      )
      .then((response) => sendResponse(response, ownHeaders, outgoing, closed))
      // A response that Node refuses (status 0, sent already) must not end the process.
      .catch((error: unknown) => outgoing.destroy(error as Error));
  };
}

/** Takes the response from its framework, with the headers that only the framework knows. */
function takeResponse(given: Partial<FastifyReply & NodeResponse> | undefined): [NodeResponse, NodeHeaders] {
  const { raw = given } = given ?? {};
  const methods = ['writeHead', 'write', 'end', 'destroy', 'once'] as const;
  if (!raw || methods.some((name) => typeof raw[name] !== 'function'))
    throw new ConfigurationError(
      'options',
      'The listener of `nodeListener` was called with an object that is not a response of Node.',
      'Pass the response of `node:http` or Express, the reply of Fastify, or in Nest `@Res() response`.',
    );
  if (raw === given) return [raw as NodeResponse, {}];
  given?.hijack?.();
  const own = Object.entries(given?.getHeaders?.() ?? {}).filter(([, value]) => value !== undefined);
  return [raw as NodeResponse, Object.fromEntries(own) as NodeHeaders];
}

type NodeHeaders = Record<string, string | string[]>;

function toRequest(incoming: ListenedRequest): Request {
  const { method = 'GET', url = '/', originalUrl = url, body } = incoming;
  const headers = new Headers();
  for (const [name, value = []] of Object.entries(incoming.headers))
    for (const one of [value].flat()) if (!name.startsWith(':')) headers.append(name, one);
  const authority = incoming.headers[':authority']; // HTTP/2 has no `Host`
  if (typeof authority === 'string' && !headers.has('host')) headers.set('host', authority);
  const origin = 'http://localhost';
  // A path that begins with two slashes is not the name of a host.
  const target = originalUrl.startsWith('/') ? new URL(origin + originalUrl) : new URL(originalUrl, origin);
  const hasBody = method !== 'GET' && method !== 'HEAD';
  return new Request(target, {
    method,
    headers,
    ...(hasBody ? { body: toBody(body, 'raw' in incoming ? incoming.raw : incoming), duplex: 'half' } : {}),
  });
}

/** The next request of the connection comes after the body of one that was answered unread. */
function discardBody({ body }: Request, response: Response): Response {
  if (body !== response.body && body?.locked === false) body.cancel().catch(() => undefined);
  return response;
}

function toBody(body: unknown, incoming: IncomingStream): BodyInit {
  // The middleware of Express 4 also sets `{}` for a type that it does not read.
  const isUnread = incoming.readableDidRead === false && isRecord(body) && Object.keys(body).length === 0;
  if (isUnread && incoming.readableEnded) return '';
  if (body instanceof Uint8Array) return new Uint8Array(body);
  if (body !== undefined && !isUnread) return typeof body === 'string' ? body : JSON.stringify(body);
  let isCancelled = false;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      incoming.on('data', (bytes) => {
        if (isCancelled) return;
        controller.enqueue(new Uint8Array(bytes));
        incoming.pause();
      });
      incoming.on('end', () => isCancelled || controller.close());
      incoming.on('error', (error) => controller.error(error));
      incoming.pause();
    },
    pull: () => void incoming.resume(),
    cancel() {
      isCancelled = true;
      incoming.resume(); // the rest is discarded
    },
  });
}

function sendResponse(
  response: Response,
  ownHeaders: NodeHeaders,
  outgoing: NodeResponse,
  closed: Promise<void>,
): void {
  const { status, headers, body } = response;
  const ending = onEndOfConnection(response, () => outgoing.destroy(new RunAbandonedError()));
  void closed.then(() => ending.unsubscribe());
  const reader = body?.getReader();
  // The client may have left before there was a response. Cancelling a failed body rejects.
  if (reader) closed.then(() => reader.cancel()).catch(() => undefined);
  outgoing.writeHead(status, { ...ownHeaders, ...toNodeHeaders(headers) });
  if (!reader) {
    outgoing.end();
    return;
  }
  const send = ({ done, value }: ReadableStreamReadResult<Uint8Array>) => {
    if (done) outgoing.end();
    else if (outgoing.write(value)) sendNext();
    else outgoing.once('drain', sendNext);
  };
  // A body that fails breaks the connection, so that the client does not mistake a part of it for all of it.
  const sendNext = () =>
    void reader
      .read()
      .then(send)
      .catch((error: unknown) => outgoing.destroy(error as Error));
  sendNext();
}

/** Converts headers for Node. Each cookie is a header of its own. */
function toNodeHeaders(headers: Headers): NodeHeaders {
  const cookies = headers.getSetCookie();
  return { ...Object.fromEntries(headers), ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}) };
}
