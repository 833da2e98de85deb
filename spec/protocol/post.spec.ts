import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { finalize, firstValueFrom, lastValueFrom, map, materialize, repeat, retry, take, toArray } from 'rxjs';
import { post, readStream } from '../../lib/protocol/post.js';
import { observe } from '../support/observe.js';
import type { PostRequest } from '../../lib/protocol/post.js';
import { failureOf, fetchOf, requestTo, serve, signal, textOfResponse, utf8 } from './wires.js';

describe('post over real sockets', () => {
  let handler: (request: IncomingMessage, response: ServerResponse) => void;
  let local: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => (local = await serve((request, response) => handler(request, response))));
  afterAll(() => local.close());
  const stream = { 'content-type': 'text/event-stream' };

  it('post sends the request and emits the bytes of the response', async () => {
    const requests: object[] = [];
    handler = (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        requests.push({
          method: request.method,
          url: request.url,
          accept: request.headers.accept,
          key: request.headers.authorization,
          body,
        });
        response.writeHead(200, stream).write('one ');
        response.end('two');
      });
    };
    const request = requestTo({ url: `${local.url}/chat`, headers: { authorization: 'Bearer k' } });
    expect(await lastValueFrom(textOfResponse(request))).toBe('one two');
    expect(requests).toEqual([
      { method: 'POST', url: '/chat', accept: 'text/event-stream', key: 'Bearer k', body: '{"hello":"é"}' },
    ]);
  });

  it('post closes the connection when it is unsubscribed before the server has responded', async () => {
    const [requested, closed] = [signal(), signal()];
    handler = (_, response) => {
      response.on('close', closed.resolve);
      requested.resolve();
    };
    const seen = observe(post(requestTo({ url: local.url })));
    await requested.promise;
    seen.subscription.unsubscribe();
    await closed.promise;
    expect(seen).toMatchObject({ values: [], error: undefined, completed: false });
  });

  it('post closes the connection when it is unsubscribed while the server is silent during its response', async () => {
    const closed = signal();
    handler = (_, response) => {
      response.on('close', closed.resolve);
      response.writeHead(200, stream).write('one');
    };
    await firstValueFrom(post(requestTo({ url: local.url })).pipe(take(1)));
    await closed.promise;
  });

  it('post errors with an interruption when the connection is reset during the response, after its bytes', async () => {
    handler = (_, response) => {
      response.writeHead(200, stream);
      response.write('one', () => response.socket?.resetAndDestroy());
    };
    const done = signal();
    const seen = observe(post(requestTo({ url: local.url })).pipe(finalize(done.resolve)));
    await done.promise;
    expect(Buffer.concat(seen.values).toString()).toBe('one');
    expect(seen.error).toMatchObject({ code: 'stream_interrupted', retryable: true, provider: 'toy' });
  });

  it('post errors with a connection error when the connection is reset before the response', async () => {
    handler = (request) => request.socket.resetAndDestroy();
    expect(await failureOf(requestTo({ url: local.url }))).toMatchObject({ code: 'connection', retryable: true });
  });

  it('post leaves the connection to the next request when the response was read to its end', async () => {
    const sockets = new Set<unknown>();
    handler = (request, response) => {
      sockets.add(request.socket);
      response.writeHead(200, stream).end('x');
    };
    for (let n = 0; n < 6; n++) await lastValueFrom(textOfResponse(requestTo({ url: local.url })));
    // As with plain fetch: undici returns a connection to its pool some moments after the end of the body.
    expect(sockets.size).toBeLessThanOrEqual(3);
  });

  it('post sends one request for each subscriber, retry and repeat', async () => {
    let requests = 0;
    handler = (_, response) => {
      requests += 1;
      response.writeHead(requests % 2 ? 503 : 200, stream).end(`${requests}`);
    };
    const response = textOfResponse(requestTo({ url: local.url }));
    expect(await lastValueFrom(response.pipe(retry(1), repeat(2), toArray()))).toEqual(['2', '4']);
  });
});

describe('post', () => {
  it('post sends nothing before the subscription, nor for a subscriber that is closed', () => {
    const fetch = fetchOf([]);
    const source = post(requestTo({ fetch }));
    observe(source.pipe(take(0)));
    expect(fetch.calls).toHaveLength(0);
    observe(source);
    observe(source);
    expect(fetch.calls).toHaveLength(2);
  });

  it('post aborts the request in the tick of the unsubscription', () => {
    const fetch = fetchOf([]);
    observe(post(requestTo({ fetch }))).subscription.unsubscribe();
    expect(fetch.calls[0]?.init.signal?.aborted).toBe(true);
  });

  it('post does not follow redirects, which would send the conversation and the key to another host', async () => {
    const fetch = fetchOf([]);
    observe(post(requestTo({ fetch }))).subscription.unsubscribe();
    expect(fetch.calls[0]?.init.redirect).toBe('manual');
  });

  it('post cancels the body of a fetch that ignores the signal, before and after the unsubscription', async () => {
    for (const late of [true, false]) {
      const [cancelled, pulled] = [signal(), signal()];
      const body = new ReadableStream(
        { pull: () => pulled.resolve(), cancel: () => cancelled.resolve() },
        { highWaterMark: 0 },
      );
      const answered = signal<Response>();
      const seen = observe(post(requestTo({ fetch: () => answered.promise })));
      if (late) seen.subscription.unsubscribe();
      answered.resolve(new Response(body));
      if (!late) {
        await pulled.promise;
        seen.subscription.unsubscribe();
      }
      await cancelled.promise;
      expect(seen).toMatchObject({ values: [], error: undefined, completed: false });
    }
  });

  it('post emits one read before it starts the next', async () => {
    const order: string[] = [];
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          order.push('read');
          if (order.length > 4) controller.close();
          else controller.enqueue(utf8('x'));
        },
      },
      { highWaterMark: 0 },
    );
    await lastValueFrom(
      post(requestTo({ fetch: async () => new Response(body) })).pipe(map(() => order.push('emitted'))),
    );
    expect(order).toEqual(['read', 'emitted', 'read', 'emitted', 'read']);
  });

  it('post looks the global fetch up at subscription', async () => {
    const original = globalThis.fetch;
    const source = textOfResponse(requestTo());
    globalThis.fetch = fetchOf([utf8('late')]);
    try {
      expect(await lastValueFrom(source)).toBe('late');
    } finally {
      globalThis.fetch = original;
    }
  });

  it('post accepts a stream whose content type is loose or missing', async () => {
    const read = (accept: string, type?: string) => {
      const fetch = fetchOf([utf8('ok')], type === undefined ? {} : { headers: { 'content-type': type } });
      return lastValueFrom(textOfResponse(requestTo({ accept, fetch })));
    };
    for (const type of [undefined, 'text/plain', 'application/octet-stream', 'Text/Event-Stream; charset=utf-8'])
      expect(await read('text/event-stream', type)).toBe('ok');
    for (const type of [undefined, 'text/plain', 'application/x-ndjson', 'application/jsonl', 'application/json'])
      expect(await read('application/x-ndjson', type)).toBe('ok');
  });

  it('post errors with an interruption when the response has no body', async () => {
    expect(await failureOf(requestTo({ fetch: async () => new Response(null, { status: 204 }) }))).toMatchObject({
      code: 'stream_interrupted',
    });
  });

  it.each([
    ['its own Accept', { url: 'u' }, { method: 'POST', headers: { accept: 'text/event-stream' } }],
    ['an Accept of the headers', { headers: { Accept: 'x/y' } }, { method: 'POST', headers: { Accept: 'x/y' } }],
    [
      'its own beside other headers',
      { headers: { a: 'b', accepted: 'c' } },
      { method: 'POST', headers: { accept: 'text/event-stream', a: 'b', accepted: 'c' } },
    ],
    ['an Accept among others', { headers: { a: 'b', accept: 'x/y' } }, { headers: { a: 'b', accept: 'x/y' } }],
    ['a GET without a body', { body: undefined }, { method: 'GET' }],
  ])('post sends %s', (_, request, sent) => {
    const fetch = fetchOf([]);
    observe(post(requestTo({ headers: {}, ...request, fetch })));
    expect(fetch.calls[0]?.init).toMatchObject(sent);
    if ('headers' in sent) expect(fetch.calls[0]?.init.headers).toEqual(sent.headers);
    expect('body' in (fetch.calls[0]?.init ?? {})).toBe(!('body' in request));
  });

  it.each([
    ['text/event-stream ; charset=utf-8', true],
    [' application/octet-stream', true],
    ['application/ndjson', false],
    ['text/html', false],
    ['text/plainer', false],
    ['not text/plain', false],
  ])('post with the content type %j: whether it is the requested stream: %s', async (type, isStream) => {
    const told: boolean[] = [];
    const fetch = fetchOf([utf8('ok')], { headers: { 'content-type': type } });
    await endOf(requestTo({ fetch, onHeaders: (value) => told.push(value) }));
    expect(told).toEqual([isStream]);
  });

  it.each([
    ['ends', () => new Response('x', { headers: { 'content-type': 'text/event-stream' } }), false],
    ['breaks', () => new Response(source([], 'break').stream as ReadableStream, { status: 200 }), false],
    ['is not a connection', () => Promise.reject(new Error('refused')), false],
    ['is not a response', () => ({ status: 200 }), true],
  ])('post aborts the request after its end only if fetch gave what is %s', async (_, answer, aborted) => {
    let signalOf: AbortSignal | null | undefined;
    const fetch = (async (__: unknown, init: RequestInit) => {
      signalOf = init.signal;
      return answer();
    }) as unknown as typeof globalThis.fetch;
    await endOf(requestTo({ fetch }));
    expect(signalOf?.aborted).toBe(aborted);
  });

  it.each([
    ['no headers', { status: 200, body: null }],
    ['a status that is text', { status: '200', headers: new Headers(), body: null }],
    ['a body that is text', { status: 200, ok: true, headers: new Headers(), body: 'text' }],
    ['a body that is not a stream', { status: 200, ok: true, headers: new Headers(), body: {} }],
  ])('post says that a custom fetch returned no Response: %s', async (_, response) => {
    const fetch = (async () => response) as unknown as typeof globalThis.fetch;
    expect(await failureOf(requestTo({ fetch }))).toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('instead of a Response'),
    });
  });

  it('post says what to check when a response has no body, and that the bytes before a break were emitted', async () => {
    const empty = requestTo({ fetch: async () => new Response(null, { status: 200 }) });
    expect((await failureOf(empty)).message).toContain('toy sent a response without a body. Check any proxy');
    const broken = requestTo({ fetch: async () => new Response(source([], 'break').stream as ReadableStream) });
    expect((await failureOf(broken)).message).toContain(
      'The connection to toy broke during the response: broken. Whatever arrived before was emitted.',
    );
  });

  it('post turns whatever a custom fetch throws, returns or rejects with into an error', async () => {
    const throwing = () => {
      throw new Error('no fetch today');
    };
    expect(await failureOf(requestTo({ fetch: throwing }))).toMatchObject({ code: 'connection' });
    const rejecting = () => Promise.reject(new DOMException('gone', 'AbortError'));
    expect(await failureOf(requestTo({ fetch: rejecting }))).toMatchObject({ code: 'connection' });
    const odd = (async () => ({ status: 200, body: {} })) as unknown as typeof fetch;
    expect(await failureOf(requestTo({ fetch: odd }))).toBeInstanceOf(Error);
  });
});

/** Waits for the end of a request, good or bad. */
const endOf = (request: PostRequest) => lastValueFrom(post(request).pipe(materialize()));

/** A stream that counts pulls and cancellations; after the values it closes, breaks or is silent. */
function source(values: readonly number[], end: 'close' | 'break' | 'silence') {
  const counts = { pulled: 0, cancelled: 0 };
  const iterator = values[Symbol.iterator]();
  const stream = new ReadableStream<number>(
    {
      pull(controller) {
        const { done, value } = iterator.next();
        counts.pulled += 1;
        if (!done) controller.enqueue(value);
        else if (end === 'break') controller.error(new Error('broken'));
        else if (end === 'close') controller.close();
      },
      cancel() {
        counts.cancelled += 1;
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, counts };
}

const toError = (thrown: unknown) => new Error(`failed: ${String(thrown)}`);

describe('readStream', () => {
  it('readStream emits the values and completes with the stream, without cancelling it', async () => {
    const { stream, counts } = source([1, 2], 'close');
    expect(await lastValueFrom(readStream(stream, toError).pipe(toArray()))).toEqual([1, 2]);
    expect(counts.cancelled).toBe(0);
  });

  it('readStream errors with the mapped error of the stream, after the values', async () => {
    const all = await lastValueFrom(readStream(source([1], 'break').stream, toError).pipe(materialize(), toArray()));
    expect(all).toMatchObject([
      { kind: 'N', value: 1 },
      { kind: 'E', error: { message: 'failed: Error: broken' } },
    ]);
  });

  it.each(['close', 'break'] as const)('readStream does not cancel a stream after its %s', async (end) => {
    const { stream } = source([1], end);
    const reader = stream.getReader();
    const cancel = jest.spyOn(reader, 'cancel');
    const ended: number[] = [];
    const read = readStream({ getReader: () => reader } as unknown as typeof stream, toError, () => ended.push(1));
    await lastValueFrom(read.pipe(materialize()));
    expect(cancel).not.toHaveBeenCalled();
    expect(ended).toEqual([1]);
  });

  it('readStream cancels the stream in the tick of the unsubscription, and reads no further', async () => {
    const { stream, counts } = source([1, 2, 3], 'close');
    expect(await lastValueFrom(readStream(stream, toError).pipe(take(1)))).toBe(1);
    expect(counts).toEqual({ pulled: 1, cancelled: 1 });
    const silent = source([], 'silence');
    readStream(silent.stream, toError).subscribe().unsubscribe();
    expect(silent.counts.cancelled).toBe(1);
  });
});
