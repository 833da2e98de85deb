/** The members that `nodeListener` uses in a request of `node:http`, Express or Nest. */
export interface ListenedRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** Express: the URL before a router removed its prefix. */
  readonly originalUrl?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body, if a middleware has read it (`express.json()`). */
  readonly body?: unknown;
  on(event: 'data', listener: (bytes: Uint8Array) => void): unknown;
  on(event: 'end' | 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** The members that `nodeListener` uses in a response of `node:http`. */
export interface ListenedResponse {
  /** Whether the connection is closed already. */
  readonly destroyed?: boolean | undefined;
  writeHead(status: number, headers: Readonly<Record<string, string | string[]>>): unknown;
  /** Returns false if the response is full. */
  write(bytes: Uint8Array): boolean;
  end(text?: string): unknown;
  destroy(error: Error): unknown;
  once(event: 'drain' | 'close', listener: () => void): unknown;
}

/**
 * Converts a handler of web requests to a listener of `node:http`. It is a handler of Express and Nest, too.
 *
 * The response is written at the speed of its reader, and a closed connection cancels the body.
 *
 * ```ts
 * createServer(nodeListener(agentHandler(agent))).listen(3000);
 * app.use('/api/chat', nodeListener(agentHandler(agent))); // Express, Nest
 * ```
 *
 * @param handler The handler. If it rejects, the response is 500; it is 400 to a request that is not a web request.
 * @returns The listener.
 */
export function nodeListener(
  handler: (request: Request) => Promise<Response>,
): (request: ListenedRequest, response: ListenedResponse) => void {
  const answer = (request: Request) =>
    Promise.resolve(request)
      .then(handler)
      .catch(() => new Response(null, { status: 500 }));
  return (incoming, outgoing) => {
    if (outgoing.destroyed) return; // the client has left already
    const closed = new Promise<void>((resolve) => {
      outgoing.once('close', resolve);
    });
    Promise.resolve(incoming)
      .then(toRequest)
      .then(
        (request) => answer(request).then((response) => discardBody(request, response)),
        () => new Response(null, { status: 400 }),
      )
      .then((response) => sendResponse(response, outgoing, closed))
      // A response that Node refuses (status 0, sent already) must not end the process.
      .catch((error: unknown) => outgoing.destroy(error as Error));
  };
}

function toRequest(incoming: ListenedRequest): Request {
  const { method = 'GET', url = '/', originalUrl = url } = incoming;
  const headers = new Headers();
  for (const [name, value = []] of Object.entries(incoming.headers))
    for (const one of [value].flat()) if (!name.startsWith(':')) headers.append(name, one);
  const authority = incoming.headers[':authority']; // HTTP/2 has no `Host`
  if (typeof authority === 'string' && !headers.has('host')) headers.set('host', authority);
  const origin = 'http://localhost';
  // A path that begins with two slashes is not the name of a host.
  const target = originalUrl.startsWith('/') ? new URL(origin + originalUrl) : new URL(originalUrl, origin);
  const hasBody = method !== 'GET' && method !== 'HEAD';
  return new Request(target, { method, headers, ...(hasBody ? { body: toBody(incoming), duplex: 'half' } : {}) });
}

/** The next request of the connection comes after the body of one that was answered unread. */
function discardBody({ body }: Request, response: Response): Response {
  if (body !== response.body && body?.locked === false) body.cancel().catch(() => undefined);
  return response;
}

function toBody(incoming: ListenedRequest): BodyInit {
  const { body } = incoming;
  if (body !== undefined) return typeof body === 'string' ? body : JSON.stringify(body);
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

function sendResponse({ status, headers, body }: Response, outgoing: ListenedResponse, closed: Promise<void>): void {
  const reader = body?.getReader();
  // The client may have left before there was a response. Cancelling a failed body rejects.
  if (reader) closed.then(() => reader.cancel()).catch(() => undefined);
  outgoing.writeHead(status, toNodeHeaders(headers));
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
function toNodeHeaders(headers: Headers): Record<string, string | string[]> {
  const cookies = headers.getSetCookie();
  return { ...Object.fromEntries(headers), ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}) };
}
