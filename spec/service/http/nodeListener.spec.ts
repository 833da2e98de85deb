import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { Agent, createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { nodeListener } from '../../../lib/service/http/nodeListener.js';
import type { ListenedRequest, ListenedResponse } from '../../../lib/service/http/nodeListener.js';
import { ignorePrintedErrors } from '../../support/printedErrors.js';

ignorePrintedErrors();

/** Sends one request to a handler on a real socket. */
async function send(
  handler: (request: Request) => Promise<Response>,
  init: RequestInit = {},
  change?: (request: ListenedRequest) => ListenedRequest,
) {
  const listener = nodeListener(handler);
  const server = createServer((request, response) => listener(change?.(request) ?? request, response)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat?x=1`;
  try {
    const response = await fetch(url, init);
    return { status: response.status, headers: response.headers, text: await response.text() };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** A response that records what is written, and is full after each write. */
function fullResponse() {
  const written: number[] = [];
  const listeners: Record<string, () => void> = {};
  const log = { destroyed: undefined as Error | undefined, ended: false };
  const response: ListenedResponse = {
    writeHead: () => undefined,
    write: (bytes) => {
      written.push(bytes.length);
      return false;
    },
    end: () => (log.ended = true),
    destroy: (error) => (log.destroyed = error),
    once: (event, listener) => (listeners[event] = listener),
  };
  return { response, written, log, emit: (event: string) => listeners[event]?.() };
}

const getRequest: ListenedRequest = {
  headers: {},
  on: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};
/** The request that a handler receives, for what Node or a framework has of one. */
function received(incoming: object): Promise<Request> {
  const { response } = fullResponse();
  return new Promise((resolve) => {
    const handler = (request: Request) => (resolve(request), Promise.resolve(new Response(null)));
    nodeListener(handler)({ ...getRequest, ...incoming }, response);
  });
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('nodeListener', () => {
  it('nodeListener passes the method, the URL, the headers and the body, and answers with the response', async () => {
    const answer = await send(
      async (request) => {
        const { method, url, headers } = request;
        const body = await request.text();
        return Response.json(
          {
            method,
            path: new URL(url).pathname + new URL(url).search,
            header: headers.get('x-test'),
            length: body.length,
          },
          { status: 201, headers: { 'x-answer': 'yes' } },
        );
      },
      { method: 'POST', headers: { 'x-test': 'Ä'.normalize('NFD').slice(0, 1) }, body: 'é'.repeat(300_000) },
    );
    expect(answer.status).toBe(201);
    expect(answer.headers.get('x-answer')).toBe('yes');
    expect(JSON.parse(answer.text)).toEqual({ method: 'POST', path: '/api/chat?x=1', header: 'A', length: 300_000 });
  });

  it('nodeListener passes a body that a middleware has parsed, and the URL before a router changed it', async () => {
    const answer = await send(
      async (request) => new Response(`${new URL(request.url).pathname} ${await request.text()}`),
      { method: 'POST', body: 'raw' },
      (request) => Object.assign(request, { body: { input: 'a' }, originalUrl: '/original' }),
    );
    expect(answer.text).toBe('/original {"input":"a"}');
  });

  it('nodeListener passes a text that a middleware has read as it is', async () => {
    expect(await (await received({ method: 'POST', body: 'raw "text"' })).text()).toBe('raw "text"');
  });

  it.each<[string, string, (request: ListenedRequest) => ListenedRequest]>([
    ['{}, of a middleware that has not read it', '{"input":"hi"}', (request) => Object.assign(request, { body: {} })],
    ['{}, of one that has', '{}', (request) => Object.assign(request, { body: {} })],
    ['a Buffer', '{"input":"é"}', (request) => Object.assign(request, { body: Buffer.from('{"input":"é"}') })],
  ])('nodeListener takes a body that is %s', async (_, expected, change) => {
    const didRead = (request: ListenedRequest) => {
      const changed = change(request);
      Object.defineProperty(request, 'readableDidRead', { value: expected === '{}' });
      return changed;
    };
    const echo = async (request: Request) => new Response(await request.text());
    expect((await send(echo, { method: 'POST', body: '{"input":"hi"}' }, didRead)).text).toBe(expected);
  });

  it('nodeListener does not wait for an empty body that a middleware has read to its end', async () => {
    const listener = nodeListener(async (request) => new Response(`[${await request.text()}]`));
    const server = createServer((request, response) => {
      void text(request).then(() => listener(Object.assign(request, { body: {} }), response));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    expect(await (await fetch(url, { method: 'POST', body: '' })).text()).toBe('[]');
    server.closeAllConnections();
    server.close();
  });

  it('nodeListener takes a request without a method and a URL for GET /', async () => {
    const { method, url } = await received({});
    expect([method, url]).toEqual(['GET', 'http://localhost/']);
  });

  it.each(['GET', 'HEAD'])('nodeListener passes no body with %s', async (method) => {
    expect((await received({ method, body: 'text' })).body).toBeNull();
  });

  it('nodeListener passes each value of a header, and none of the names of HTTP/2 that begin with a colon', async () => {
    const headers = { 'x-a': ['1', '2'], 'x-none': undefined, ':authority': 'h2.example', ':path': '/' };
    expect(Object.fromEntries((await received({ headers })).headers)).toEqual({ 'x-a': '1, 2', host: 'h2.example' });
  });

  it('nodeListener takes the header `host` for the name, if there is one', async () => {
    const nameFor = async (headers: object) => (await received({ headers })).headers.get('host');
    expect(await nameFor({ host: 'a.example', ':authority': 'b.example' })).toBe('a.example');
    expect(await nameFor({ 'x-a': '1' })).toBeNull();
  });

  it('nodeListener fails the body of a request whose connection breaks', async () => {
    const broken = new Error('aborted');
    const on = (event: string, listener: (error: Error) => void) => event === 'error' && listener(broken);
    await expect((await received({ method: 'POST', on })).text()).rejects.toBe(broken);
  });

  it('nodeListener discards the rest of a body that its handler has cancelled', async () => {
    const listeners: Record<string, (bytes?: Uint8Array) => void> = {};
    let isFlowing = false;
    const request = await received({
      method: 'POST',
      on: (event: string, listener: () => void) => (listeners[event] = listener),
      pause: () => (isFlowing = false),
      resume: () => (isFlowing = true),
    });
    await request.body?.cancel();
    listeners['data']?.(new Uint8Array(1));
    listeners['end']?.();
    expect(isFlowing).toBe(true);
  });

  it('nodeListener writes no header for cookies if there are none', async () => {
    const { response } = fullResponse();
    const heads: object[] = [];
    nodeListener(() => Promise.resolve(new Response(null, { headers: { 'x-a': '1' } })))(getRequest, {
      ...response,
      writeHead: (_, headers) => heads.push(headers),
    });
    await settled();
    expect(heads).toEqual([{ 'x-a': '1' }]);
  });

  it('nodeListener answers 500 if the handler rejects or throws', async () => {
    expect((await send(() => Promise.reject(new Error('broken')))).status).toBe(500);
    const throwing = () => {
      throw new Error('broken');
    };
    expect((await send(throwing)).status).toBe(500);
  });

  it('nodeListener reports what the handler throws, and goes on', async () => {
    const { error } = console;
    const printed: unknown[] = [];
    console.error = (thrown: unknown) => printed.push(thrown);
    const bug = new TypeError('undefined is not a function');
    try {
      await send(() => Promise.reject(bug));
    } finally {
      console.error = error;
    }
    expect(printed).toEqual([bug]);
  });

  it.each([
    undefined,
    null,
    {},
    { raw: {} },
    { raw: undefined, send: () => undefined },
    { writeHead: () => undefined },
  ])('nodeListener throws an error that says what to pass if the response is %j', (response) => {
    const listen = nodeListener(() => Promise.resolve(new Response(null)));
    expect(() => listen(getRequest, response as unknown as ListenedResponse)).toThrow(
      /not a response of Node. Pass .* in Nest `@Res\(\) response`/,
    );
  });

  it('nodeListener takes the request and the reply of Fastify, and passes the request on', async () => {
    const { response } = fullResponse();
    const heads: unknown[] = [];
    const seen: unknown[] = [];
    const raw = { ...response, writeHead: (...head: unknown[]) => heads.push(head) };
    let isHijacked = false;
    const reply = {
      raw,
      hijack: () => (isHijacked = true),
      getHeaders: () => ({ 'x-limit': '9', 'content-type': 'text/html', 'x-none': undefined }),
    };
    const request = {
      ...{ method: 'POST', url: '/chat', headers: {}, body: { a: 1 }, user: 'ann' },
      raw: getRequest,
    };
    const handler = async (web: Request, incoming: ListenedRequest) => {
      seen.push(await web.json(), incoming);
      return new Response(null, { headers: { 'content-type': 'text/plain' } });
    };
    nodeListener(handler)(request, reply);
    await settled();
    expect([isHijacked, seen]).toEqual([true, [{ a: 1 }, request]]);
    expect(heads).toEqual([[200, { 'x-limit': '9', 'content-type': 'text/plain' }]]);
  });

  it.each(['//[', '//other.example/api', '/a b'])('nodeListener takes %s for a path', async (url) => {
    const answer = await send(
      (request) => Promise.resolve(new Response(request.url)),
      {},
      (request) => Object.assign(request, { url }),
    );
    expect(answer.text).toBe(`http://localhost${url.replace(' ', '%20')}`);
  });

  it.each([{ url: 'http://[' }, { method: 'TRACE' }])('nodeListener answers 400 to %j', async (change) => {
    const ok = () => Promise.resolve(new Response('ok'));
    expect((await send(ok, {}, (request) => Object.assign(request, change))).status).toBe(400);
  });

  it('nodeListener sends each cookie', async () => {
    const headers = new Headers([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ]);
    const answer = await send(() => Promise.resolve(new Response('x', { headers })));
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  it('nodeListener breaks the connection for a response that Node refuses', async () => {
    await expect(send(() => Promise.resolve(Response.error()))).rejects.toThrow('fetch failed');
  });

  it('nodeListener cancels the body if something else has answered', async () => {
    let cancel: () => void = () => undefined;
    const isCancelled = new Promise<void>((resolve) => (cancel = resolve));
    const listener = nodeListener(() => Promise.resolve(new Response(new ReadableStream({ cancel }))));
    const server = createServer((incoming, outgoing) => {
      listener(incoming, outgoing);
      outgoing.writeHead(503).end('timeout');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect([response.status, await response.text()]).toEqual([503, 'timeout']);
    await isCancelled;
    server.closeAllConnections();
    server.close();
  });

  it('nodeListener answers a request without a body and a response without a body', async () => {
    expect(await send(() => Promise.resolve(new Response(null, { status: 204 })))).toMatchObject({
      status: 204,
      text: '',
    });
  });

  it('nodeListener reads the body of a response at the speed of its reader', async () => {
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        pulled++;
        controller.enqueue(new Uint8Array(1000));
      },
    });
    const { response, written, emit } = fullResponse();
    nodeListener(() => Promise.resolve(new Response(body)))(getRequest, response);
    await settled();
    expect(written).toEqual([1000]);
    expect(pulled).toBeLessThanOrEqual(2);
    emit('drain');
    await settled();
    expect(written).toEqual([1000, 1000]);
  });

  it('nodeListener cancels the body when the connection closes', async () => {
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({ cancel: () => void (isCancelled = true) });
    const { response, log, emit } = fullResponse();
    nodeListener(() => Promise.resolve(new Response(body)))(getRequest, response);
    await settled();
    emit('close');
    await settled();
    expect(isCancelled).toBe(true);
    expect(log.destroyed).toBeUndefined();
  });

  it('nodeListener cancels the body if the client left before the response', async () => {
    let isCancelled = false;
    let respond: (response: Response) => void = () => undefined;
    const body = new ReadableStream<Uint8Array>({ cancel: () => void (isCancelled = true) });
    const { response, emit } = fullResponse();
    nodeListener(() => new Promise((resolve) => (respond = resolve)))(getRequest, response);
    await settled();
    emit('close');
    respond(new Response(body));
    await settled();
    expect(isCancelled).toBe(true);
  });

  it('nodeListener does not call the handler if the client has left already', async () => {
    let calls = 0;
    const { response } = fullResponse();
    nodeListener(() => Promise.resolve(new Response(String(++calls))))(getRequest, { ...response, destroyed: true });
    await settled();
    expect(calls).toBe(0);
  });

  it('nodeListener breaks a connection whose body fails, and continues with the next one', async () => {
    const failing = () => new ReadableStream({ pull: (controller) => controller.error(new Error('broken')) });
    await expect(send(() => Promise.resolve(new Response(failing())))).rejects.toThrow(/fetch failed|terminated/);
    await settled();
    expect((await send(() => Promise.resolve(new Response('next')))).text).toBe('next');
  });

  it('nodeListener breaks the connection if the body fails', async () => {
    const broken = new Error('broken');
    const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(broken) });
    const { response, log } = fullResponse();
    nodeListener(() => Promise.resolve(new Response(body)))(getRequest, response);
    await settled();
    expect(log).toEqual({ destroyed: broken, ended: false });
  });

  it('nodeListener stops reading a body that its handler does not want', async () => {
    const listener = nodeListener(async (request) => {
      await request.body?.cancel();
      return new Response('enough', { status: 413 });
    });
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const outgoing = httpRequest({ port, host: '127.0.0.1', method: 'POST' });
    outgoing.end('x'.repeat(1_000_000));
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(413);
    expect(await text(response)).toBe('enough');
    server.closeAllConnections();
    server.close();
  });

  it.each([1, 100_000, 900_000])('nodeListener discards %d bytes that its handler did not read', async (size) => {
    const server = createServer(nodeListener(() => Promise.resolve(new Response(null, { status: 403 })))).listen(0);
    await once(server, 'listening');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const { port } = server.address() as AddressInfo;
    const ask = async (): Promise<number | undefined> => {
      const sent = httpRequest({ port, agent, method: 'POST' });
      sent.end('x'.repeat(size));
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      await text(response);
      return response.statusCode;
    };
    expect([await ask(), await ask()]).toEqual([403, 403]); // on one connection
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
});
