/** What `nodeListener` uses of a request of `node:http`, Express or Nest. */
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

/** What `nodeListener` uses of a response of `node:http`. */
export interface ListenedResponse {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
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
 * @param handler The handler. If it rejects, the response is 500.
 * @returns The listener.
 */
export function nodeListener(
  handler: (request: Request) => Promise<Response>,
): (request: ListenedRequest, response: ListenedResponse) => void {
  return (incoming, outgoing) => {
    Promise.resolve(incoming)
      .then(toRequest)
      .then(handler)
      .then(
        (response) => sendResponse(response, outgoing),
        () => outgoing.writeHead(500, {}) && outgoing.end(),
      );
  };
}

function toRequest(incoming: ListenedRequest): Request {
  const { method = 'GET', url = '/', originalUrl = url } = incoming;
  const headers = new Headers();
  for (const [name, value = []] of Object.entries(incoming.headers))
    for (const one of [value].flat()) if (!name.startsWith(':')) headers.append(name, one);
  const target = new URL(originalUrl, 'http://localhost');
  const hasBody = method !== 'GET' && method !== 'HEAD';
  return new Request(target, { method, headers, ...(hasBody ? { body: bodyOf(incoming), duplex: 'half' } : {}) });
}

function bodyOf(incoming: ListenedRequest): BodyInit {
  const { body } = incoming;
  if (body !== undefined) return typeof body === 'string' ? body : JSON.stringify(body);
  let isRead = true;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      incoming.on('data', (bytes) => {
        if (!isRead) return;
        controller.enqueue(new Uint8Array(bytes));
        incoming.pause();
      });
      incoming.on('end', () => isRead && controller.close());
      incoming.on('error', (error) => controller.error(error));
      incoming.pause();
    },
    pull: () => void incoming.resume(),
    cancel() {
      isRead = false;
      incoming.resume(); // the rest is discarded
    },
  });
}

function sendResponse({ status, headers, body }: Response, outgoing: ListenedResponse): void {
  outgoing.writeHead(status, Object.fromEntries(headers));
  if (!body) {
    outgoing.end();
    return;
  }
  const reader = body.getReader();
  const send = ({ done, value }: ReadableStreamReadResult<Uint8Array>) => {
    if (done) outgoing.end();
    else if (outgoing.write(value)) sendNext();
    else outgoing.once('drain', sendNext);
  };
  // A body that fails breaks the connection, so that the client does not take what it has for everything.
  const sendNext = () => void reader.read().then(send, (error: unknown) => outgoing.destroy(error as Error));
  outgoing.once('close', () => void reader.cancel());
  sendNext();
}
