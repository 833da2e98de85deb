import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { catchError, ignoreElements, lastValueFrom, map, of, toArray } from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import type { Chunk } from '../../lib/core/chunk.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { createOperator } from '../../lib/core/createOperator.js';
import { providerFailures } from '../../lib/protocol/errorResponse.js';
import { post } from '../../lib/protocol/post.js';
import type { PostRequest } from '../../lib/protocol/post.js';
import { sse } from '../../lib/protocol/sse.js';
import { interrupted } from '../../lib/protocol/untilFinish.js';
import type { Frame, FrameReader, Framing, Wire } from '../../lib/protocol/wire.js';

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The bytes in pieces of this size. */
export function inPieces(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

/** Every way to cut the bytes in two. */
export function everyCut(bytes: Uint8Array): Uint8Array[][] {
  return Array.from({ length: bytes.length + 1 }, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)]);
}

/** A framing as an operator, for marble tests. */
export const framed = (framing: (emit: (frame: Frame) => void) => FrameReader): OperatorFunction<Uint8Array, Frame> =>
  createOperator<Uint8Array, Frame>((out) => {
    const reader = framing((frame) => out.next(frame));
    return {
      next: (bytes) => reader.push(bytes),
      complete() {
        reader.end();
        out.complete();
      },
    };
  });

/** A `fetch` whose response has a body of exactly these pieces, one per read. It records its calls. */
export function fetchOf(
  pieces: readonly Uint8Array[],
  init: ResponseInit = { headers: { 'content-type': 'text/event-stream' } },
) {
  const calls: { url: string; init: RequestInit }[] = [];
  const fetchPieces = (async (url: string, request: RequestInit) => {
    calls.push({ url, init: request });
    const unread = [...pieces];
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      const piece = unread.shift();
      if (piece) controller.enqueue(piece);
      else controller.close();
    };
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), init);
  }) as typeof fetch;
  return Object.assign(fetchPieces, { calls });
}

/** A server on loopback. */
export async function serve(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ url: string; server: Server; close: () => Promise<void> }> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, close };
}

/** A small wire: `{ t }` is text, `{ stop }` a finish reason, `{ end: true }` the terminal mark; `{ fail }` throws. */
export function toyWire(framing: Framing = sse): Wire {
  return {
    framing,
    encode: ({ messages }) => ({
      path: '/chat',
      body: { model: 'toy', stream: true, count: messages.length, nested: { a: 1, b: [1, 2] } },
    }),
    decode: (emit) => {
      let stop = false;
      return {
        next: (data: JsonObject) => {
          if (typeof data['t'] === 'string') emit({ type: 'text', text: data['t'] });
          if (typeof data['fail'] === 'string') throw new Error(data['fail']);
          if (data['stop'] === true) stop = true;
          return data['end'] === true ? 'end' : undefined;
        },
        end: (terminal) => {
          if (!stop && !terminal) throw interrupted('toy');
          emit({ type: 'finish', reason: stop ? 'stop' : 'unspecified' });
        },
      };
    },
  };
}

export const text = (value: string): Chunk => ({ type: 'text', text: value });
export const finish: Chunk = { type: 'finish', reason: 'stop' };

/** A promise and its resolve function: an event to wait for. */
export function signal<T = void>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}

/** A request to a toy server that does not exist, unless a fetch or URL is given. */
export const requestTo = (overrides: Partial<PostRequest> = {}): PostRequest => ({
  provider: 'toy',
  url: 'http://127.0.0.1:9/chat',
  headers: { 'content-type': 'application/json' },
  body: '{"hello":"é"}',
  accept: 'text/event-stream',
  failures: providerFailures(),
  ...overrides,
});

/** The complete text of a response. */
export const textOfResponse = (request: PostRequest): Observable<string> =>
  post(request).pipe(
    toArray(),
    map((reads) => Buffer.concat(reads).toString()),
  );

/** The fields of the errors of a request. */
export interface Failure extends Error {
  readonly code: string;
  readonly body?: string;
  readonly providerCode?: string;
  readonly retryable: boolean;
}

/** The error of a request that is expected to fail. */
export const failureOf = (request: PostRequest): Promise<Failure> =>
  lastValueFrom(
    textOfResponse(request).pipe(
      ignoreElements(),
      catchError((error: unknown) => of(error as Failure)),
    ),
  );
