import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import {
  catchError,
  finalize,
  firstValueFrom,
  ignoreElements,
  lastValueFrom,
  map,
  of,
  repeat,
  retry,
  take,
  toArray,
} from 'rxjs';
import { post } from '../../lib/protocol/post.js';
import type { PostRequest } from '../../lib/protocol/post.js';
import { observe } from '../support/observe.js';
import { fetchOf, serve, signal, utf8 } from './wires.js';

const key = 'sk-s3cret/+"quoted"';
const requestTo = (over: Partial<PostRequest> = {}): PostRequest => ({
  provider: 'toy',
  url: 'http://127.0.0.1:9/chat',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: '{"hello":"é"}',
  accept: 'text/event-stream',
  secrets: [key],
  ...over,
});
const textOf = (request: PostRequest) =>
  post(request).pipe(
    toArray(),
    map((pieces) => Buffer.concat(pieces).toString()),
  );
const failureOf = (request: PostRequest) =>
  lastValueFrom(
    textOf(request).pipe(
      ignoreElements(),
      catchError((error: unknown) => of(error as Failure)),
    ),
  );
/** What the errors tell, whichever it is. */
interface Failure extends Error {
  readonly code: string;
  readonly body?: string;
  readonly providerCode?: string;
  readonly retryable: boolean;
}
const answering = (body: string, init: ResponseInit) => requestTo({ fetch: fetchOf([utf8(body)], init) });

describe('postStream over real sockets', () => {
  let handler: (request: IncomingMessage, response: ServerResponse) => void;
  let local: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => (local = await serve((request, response) => handler(request, response))));
  afterAll(() => local.close());
  const stream = { 'content-type': 'text/event-stream' };

  it('sends the request and emits the bytes of the answer', async () => {
    const requests: object[] = [];
    handler = (request, response) => {
      let body = '';
      request.on('data', (piece: Buffer) => (body += piece.toString()));
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
    expect(await lastValueFrom(textOf(requestTo({ url: `${local.url}/chat` })))).toBe('one two');
    expect(requests).toEqual([
      { method: 'POST', url: '/chat', accept: 'text/event-stream', key: `Bearer ${key}`, body: '{"hello":"é"}' },
    ]);
  });

  it('closes the connection when it is left before the server has answered', async () => {
    const [asked, closed] = [signal(), signal()];
    handler = (_, response) => {
      response.on('close', closed.resolve);
      asked.resolve();
    };
    const seen = observe(post(requestTo({ url: local.url })));
    await asked.promise;
    seen.subscription.unsubscribe();
    await closed.promise;
    expect(seen).toMatchObject({ values: [], error: undefined, completed: false });
  });

  it('closes the connection when it is left while the server is silent in the middle of its answer', async () => {
    const closed = signal();
    handler = (_, response) => {
      response.on('close', closed.resolve);
      response.writeHead(200, stream).write('one');
    };
    await firstValueFrom(post(requestTo({ url: local.url })).pipe(take(1)));
    await closed.promise;
  });

  it('is an interruption when the connection is reset within the answer, after what came', async () => {
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

  it('is a connection error when the connection is reset before the answer', async () => {
    handler = (request) => request.socket.resetAndDestroy();
    expect(await failureOf(requestTo({ url: local.url }))).toMatchObject({ code: 'connection', retryable: true });
  });

  it('says why no connection came about, which fetch hides in the cause', async () => {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    const error = await failureOf(requestTo({ url: `http://127.0.0.1:${port}/chat?key=hidden` }));
    expect(error).toMatchObject({ code: 'connection', retryable: true });
    expect(error.message).toMatch(`127.0.0.1:${port}/chat`);
    expect(error.message).toMatch('ECONNREFUSED');
    expect(error.message).not.toMatch('hidden');
  });

  it('gives the error of a refusal', async () => {
    handler = (_, response) => {
      response.writeHead(401, { 'content-type': 'application/json', 'x-request-id': 'req_1' });
      response.end(
        JSON.stringify({
          error: {
            message: `Incorrect API key provided: ${key}.`,
            type: 'invalid_request_error',
            code: 'invalid_api_key',
          },
        }),
      );
    };
    const error = await failureOf(requestTo({ url: local.url }));
    expect(error).toMatchObject({
      code: 'http',
      status: 401,
      retryable: false,
      providerCode: 'invalid_api_key',
      requestId: 'req_1',
    });
    expect(error.message).toBe(
      'toy answered 401: Incorrect API key provided: [key] (invalid_api_key). Check the API key and what it is allowed to do.',
    );
  });

  it('leaves the connection to the next request when the answer was read to its end', async () => {
    const sockets = new Set<unknown>();
    handler = (request, response) => {
      sockets.add(request.socket);
      response.writeHead(200, stream).end('x');
    };
    for (let n = 0; n < 6; n++) await lastValueFrom(textOf(requestTo({ url: local.url })));
    expect(sockets.size).toBeLessThanOrEqual(3); // as with plain fetch: undici gives a connection back some moments after the body's end
  });

  it('makes a request for each subscriber, retry and repeat', async () => {
    let requests = 0;
    handler = (_, response) => {
      requests += 1;
      response.writeHead(requests % 2 ? 503 : 200, stream).end(`${requests}`);
    };
    expect(await lastValueFrom(textOf(requestTo({ url: local.url })).pipe(retry(1), repeat(2), toArray()))).toEqual([
      '2',
      '4',
    ]);
  });
});

describe('postStream', () => {
  it('sends nothing before the subscription, nor for a reader that has left', () => {
    const fetch = fetchOf([]);
    const source = post(requestTo({ fetch }));
    observe(source.pipe(take(0)));
    expect(fetch.calls).toHaveLength(0);
    observe(source);
    observe(source);
    expect(fetch.calls).toHaveLength(2);
  });

  it('aborts in the tick in which its reader leaves', () => {
    const fetch = fetchOf([]);
    observe(post(requestTo({ fetch }))).subscription.unsubscribe();
    expect(fetch.calls[0]?.init.signal?.aborted).toBe(true);
  });

  it('cancels the body of a fetch that ignores the signal, whether it came before its reader left or after', async () => {
    for (const late of [true, false]) {
      const [cancelled, read] = [signal(), signal()];
      const body = new ReadableStream(
        { pull: () => read.resolve(), cancel: () => cancelled.resolve() },
        { highWaterMark: 0 },
      );
      const answered = signal<Response>();
      const seen = observe(post(requestTo({ fetch: () => answered.promise })));
      if (late) seen.subscription.unsubscribe();
      answered.resolve(new Response(body));
      if (!late) {
        await read.promise;
        seen.subscription.unsubscribe();
      }
      await cancelled.promise;
      expect(seen).toMatchObject({ values: [], error: undefined, completed: false });
    }
  });

  it('emits one read before it asks for the next', async () => {
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

  it('looks the global fetch up when it is subscribed', async () => {
    const own = globalThis.fetch;
    const source = textOf(requestTo());
    globalThis.fetch = fetchOf([utf8('late')]);
    try {
      expect(await lastValueFrom(source)).toBe('late');
    } finally {
      globalThis.fetch = own;
    }
  });

  it.each([
    [
      'an OpenAI error',
      { error: { message: 'No such model', type: 'invalid_request_error', code: null } },
      'No such model',
      'invalid_request_error',
    ],
    [
      'an Anthropic error',
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      'Overloaded',
      'overloaded_error',
    ],
    [
      'a Google error in an array',
      [{ error: { code: 400, message: 'API key not valid', status: 'INVALID_ARGUMENT' } }],
      'API key not valid',
      'INVALID_ARGUMENT',
    ],
    ['an OpenRouter error', { error: { code: 402, message: 'Insufficient credits' } }, 'Insufficient credits', '402'],
    ['an error text', { error: 'model "x" not found' }, 'model "x" not found', undefined],
    ['a message', { id: '1', message: 'invalid api token' }, 'invalid api token', undefined],
    ['a detail', { detail: 'Not Found' }, 'Not Found', undefined],
    ['details', { detail: [{ loc: ['body'], msg: 'Field required', type: 'missing' }] }, 'Field required', 'missing'],
    ['a list of errors', { errors: [{ message: 'first' }, 'second'] }, 'first', undefined],
    ['errors as text', { errors: ['only'] }, 'only', undefined],
  ])('reads %s', async (_, json, message, providerCode) => {
    const error = await failureOf(answering(JSON.stringify(json), { status: 400 }));
    expect(error.message).toContain(`toy answered 400: ${message}`);
    expect(error.providerCode).toBe(providerCode);
    expect(error.body).toBe(JSON.stringify(json));
  });

  it('reads a refusal that was written as an event', async () => {
    for (const before of ['data: ', 'event: error\ndata:']) {
      const error = await failureOf(
        answering(`${before}{"error":{"message":"Bad model","code":"no_model"}}\n\n`, { status: 404 }),
      );
      expect(error).toMatchObject({
        providerCode: 'no_model',
        message: expect.stringContaining('404: Bad model (no_model).'),
      });
    }
  });

  it('shows the beginning of a refusal that is no JSON, or its status text, or says that there is none', async () => {
    expect((await failureOf(answering('<html>\n  Bad gateway</html>', { status: 502 }))).message).toContain(
      'toy answered 502: <html> Bad gateway</html>.',
    );
    expect((await failureOf(answering('', { status: 502, statusText: 'Bad Gateway' }))).message).toContain(
      '502: Bad Gateway.',
    );
    expect((await failureOf(answering('{}', { status: 400 }))).message).toContain('400: {}.');
    expect((await failureOf(answering('', { status: 400 }))).message).toContain('400: no explanation.');
  });

  it('says which statuses are worth another try', async () => {
    for (const status of [400, 401, 403, 404, 422, 501, 408, 409, 429, 500, 503, 529]) {
      expect((await failureOf(answering('', { status }))).retryable).toBe(
        [408, 409, 429].includes(status) || status >= 500,
      );
    }
  });

  it('reads no more than 64 KiB of a refusal, and what came of one that breaks', async () => {
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(utf8('x'.repeat(1000))) });
    expect(
      (await failureOf(requestTo({ fetch: async () => new Response(endless, { status: 500 }) }))).body,
    ).toHaveLength(64 * 1024);
    let pulls = 0;
    const pull = (controller: ReadableStreamDefaultController) =>
      pulls++ ? controller.error(new Error('reset')) : controller.enqueue(utf8('half'));
    const broken = new ReadableStream({ pull }, { highWaterMark: 0 });
    expect(await failureOf(requestTo({ fetch: async () => new Response(broken, { status: 500 }) }))).toMatchObject({
      status: 500,
      body: 'half',
    });
  });

  it('tells how long the server asks to wait', async () => {
    expect(await failureOf(answering('', { status: 429, headers: { 'retry-after': '2' } }))).toMatchObject({
      retryAfter: 2000,
    });
    expect(await failureOf(answering('', { status: 429 }))).toMatchObject({ retryAfter: undefined });
  });

  it.each([
    ['text/html', '<html>Sign in</html>'],
    ['application/json; charset=utf-8', '{"choices":[]}'],
    ['application/x-ndjson', '{}'],
    ['image/png', 'png'],
  ])('refuses %s in place of a stream, and shows it', async (type, body) => {
    const error = await failureOf(answering(body, { headers: { 'content-type': type } }));
    expect(error).toMatchObject({ code: 'protocol', reason: 'content_type', received: body, retryable: false });
    expect(error.message).toContain(body);
    expect(error.message).toContain(type);
    expect(error.message).toContain('baseUrl');
  });

  it("gives the provider's error when that came in place of a stream, with status 200", async () => {
    const error = await failureOf(
      answering('{"error":{"message":"Too busy","code":503}}', { headers: { 'content-type': 'application/json' } }),
    );
    expect(error).toMatchObject({ code: 'provider', providerCode: '503', retryable: true });
    expect(error.message).toContain('Too busy');
  });

  it('takes a stream with a loose label or none', async () => {
    const read = (accept: string, type?: string) => {
      const fetch = fetchOf([utf8('ok')], type === undefined ? {} : { headers: { 'content-type': type } });
      return lastValueFrom(textOf(requestTo({ accept, fetch })));
    };
    for (const type of [undefined, 'text/plain', 'application/octet-stream', 'Text/Event-Stream; charset=utf-8'])
      expect(await read('text/event-stream', type)).toBe('ok');
    for (const type of [undefined, 'text/plain', 'application/x-ndjson', 'application/jsonl', 'application/json'])
      expect(await read('application/x-ndjson', type)).toBe('ok');
  });

  it('is an interruption when the answer has no body', async () => {
    expect(await failureOf(requestTo({ fetch: async () => new Response(null, { status: 204 }) }))).toMatchObject({
      code: 'stream_interrupted',
    });
  });

  it('says which header or URL cannot be sent, which no retry would help, and not what stands in it', async () => {
    const header = await failureOf(
      requestTo({ headers: { authorization: 'Bearer sk-é\u2026' }, secrets: ['sk-é\u2026'] }),
    );
    expect(header).toMatchObject({ code: 'configuration', subject: 'options', retryable: false });
    expect(header.message).toContain('"authorization"');
    expect(header.message).not.toContain('sk-');
    for (const url of [
      '/api/llm/chat',
      'http://user:pw@127.0.0.1:9/',
      'not a url',
      'localhost:11434/v1/chat/completions',
    ]) {
      const error = await failureOf(requestTo({ url }));
      expect(error).toMatchObject({ code: 'configuration', retryable: false });
      expect(error.message).not.toContain('pw');
    }
  });

  it('turns whatever a custom fetch throws, gives or rejects with into an error', async () => {
    const thrown = () => {
      throw new Error('no fetch today');
    };
    expect(await failureOf(requestTo({ fetch: thrown }))).toMatchObject({ code: 'connection' });
    expect(
      await failureOf(requestTo({ fetch: () => Promise.reject(new DOMException('gone', 'AbortError')) })),
    ).toMatchObject({
      code: 'connection',
    });
    expect(await failureOf(requestTo({ fetch: (async () => ({})) as unknown as typeof fetch }))).toBeInstanceOf(Error);
  });

  it("leaves what errors are told by, and the provider's name, where a key is the same word", async () => {
    const same = await failureOf({
      ...answering('{"error":"toy http"}', { status: 404 }),
      secrets: ['toy', 'http', ''],
    });
    expect(same).toMatchObject({
      code: 'http',
      provider: 'toy',
      name: 'HttpError',
      message: expect.stringContaining('toy answered 404: toy [key].'),
    });
  });

  it('shows the key in no error: not in the text, the body, the stack or a cause', async () => {
    const repeating = [
      `Bearer ${key}`,
      key,
      encodeURIComponent(key),
      JSON.stringify({ error: { message: key } }),
      `?key=${encodeURIComponent(key)}`,
    ].join(' ');
    const cause = Object.assign(new Error(repeating), { config: { headers: { authorization: key } } });
    const body = new ReadableStream({ pull: () => Promise.reject(cause) });
    const failures = await Promise.all([
      failureOf(answering(repeating, { status: 401 })),
      failureOf(answering(JSON.stringify({ error: { message: key, code: key } }), { status: 401 })),
      failureOf(answering(repeating, { headers: { 'content-type': 'text/html' } })),
      failureOf(
        answering(JSON.stringify({ error: { message: key, deep: [{ key }] } }), {
          headers: { 'content-type': 'application/json' },
        }),
      ),
      failureOf(requestTo({ fetch: () => Promise.reject(new TypeError(repeating, { cause })) })),
      failureOf(requestTo({ fetch: async () => new Response(body) })),
    ]);
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(Error);
      const shown = `${inspect(failure, { depth: 10, showHidden: true })}${JSON.stringify(failure)}${failure.message}${failure.stack ?? ''}`;
      expect(shown).toContain('[key]');
      for (const spelling of [key, encodeURIComponent(key), 's3cret']) expect(shown).not.toContain(spelling);
    }
  });
});

describe('postStream and what a fetch may give', () => {
  const failureFrom = (fetch: unknown) =>
    new Promise<unknown>((resolve) =>
      post({
        provider: 'toy',
        url: 'http://toy.test',
        headers: {},
        body: '{}',
        accept: 'text/event-stream',
        secrets: [],
        fetch: fetch as typeof globalThis.fetch,
      }).subscribe({ error: resolve }),
    );

  it('does not follow a redirect: the conversation and the key would go to another host', async () => {
    const asked: unknown[] = [];
    const error = await failureFrom((_: unknown, init: RequestInit) => {
      asked.push(init.redirect);
      return Promise.resolve(
        new Response(null, { status: 307, headers: { location: 'https://elsewhere.test/v1?key=secret' } }),
      );
    });
    expect(asked).toEqual(['manual']);
    expect(error).toMatchObject({
      code: 'http',
      status: 307,
      message: expect.stringContaining('set baseUrl to where it leads (https://elsewhere.test/v1)'),
    });
  });

  it.each([[undefined], [null], ['text'], [{}]])('says so when it gives %j', async (given) => {
    expect(await failureFrom(() => Promise.resolve(given))).toMatchObject({
      code: 'configuration',
      subject: 'options',
    });
  });
});
