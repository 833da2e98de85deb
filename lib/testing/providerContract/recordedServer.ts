export interface ReceivedRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
  aborted: boolean;
}

export interface BodyOptions {
  /** In bytes: where the body is cut into reads. Default: one read. */
  readonly cuts?: readonly number[];
  /** Happens after the last byte. Default: the end. */
  readonly then?: 'end' | 'reset' | 'silence';
}

export interface RecordedServer {
  readonly fetch: typeof fetch;
  readonly requests: readonly ReceivedRequest[];
}

export function recordedServer(respond: (request: ReceivedRequest, number: number) => Response): RecordedServer {
  const requests: ReceivedRequest[] = [];
  return {
    requests,
    fetch(input, init) {
      const request: ReceivedRequest = {
        url: input instanceof Request ? input.url : String(input),
        headers: new Headers(init?.headers),
        body: typeof init?.body === 'string' ? init.body : '',
        aborted: false,
      };
      init?.signal?.addEventListener('abort', () => (request.aborted = true));
      requests.push(request);
      return Promise.resolve(respond(request, requests.length));
    },
  };
}

export function recordedResponse(
  body: Uint8Array,
  contentType: string,
  request: ReceivedRequest,
  { cuts = [], then = 'end' }: BodyOptions = {},
): Response {
  const ends = [...cuts, body.length];
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      let start = 0;
      for (const end of ends) {
        if (end > start) controller.enqueue(body.slice(start, end));
        start = Math.max(start, end);
      }
      if (then === 'end') controller.close();
    },
    // Called when all bytes are read: an error would discard what was not.
    pull(controller) {
      if (then === 'reset') controller.error(new TypeError('terminated'));
    },
    cancel() {
      request.aborted = true;
    },
  });
  return new Response(stream, { headers: { 'content-type': contentType } });
}
