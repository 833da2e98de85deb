import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import {
  concat,
  config,
  finalize,
  firstValueFrom,
  lastValueFrom,
  NEVER,
  of,
  Subject,
  take,
  tap,
  throwError,
  timer,
  toArray,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { TimeoutError } from '../../../lib/core/timeoutError.js';
import type { StreamEvent } from '../../../lib/core/event.js';
import { fromServerSentEvents, RemoteRunError } from '../../../lib/transport/fromServerSentEvents.js';
import { nodeListener } from '../../../lib/service/http/nodeListener.js';
import { createResponse, runResponse } from '../../../lib/service/http/runResponse.js';
import type { RunFormat, RunResponseOptions } from '../../../lib/service/http/runResponse.js';
import { shareRun } from '../../../lib/service/runs/shareRun.js';
import type { SharedRun } from '../../../lib/service/runs/sharedRun.js';
import { countedSource, observe } from '../../support/observe.js';
import { contentOf, exampleEvents, exampleRun } from '../../support/runs.js';

const other = (type: string): StreamEvent => ({ type });
const text = (value: string): StreamEvent => ({ type: 'text', text: value }) as StreamEvent;
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Serves requests on a real socket, and returns the URL. */
async function serve(
  handler: (request: IncomingMessage, response: ServerResponse, count: number) => void,
): Promise<string> {
  let count = 0;
  const server = createServer((request, response) => handler(request, response, ++count));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/run`;
}

const receive = (url: string, options: Parameters<typeof fromServerSentEvents>[2] = {}): Promise<StreamEvent[]> =>
  lastValueFrom(fromServerSentEvents<StreamEvent>(url, {}, { retryDelay: 1, ...options }).pipe(toArray()));

/** Sends a run as a response of `node:http`. */
const sendRun = (
  run: SharedRun | Observable<StreamEvent>,
  response: ServerResponse,
  options: RunResponseOptions = {},
): void => nodeListener(() => Promise.resolve(runResponse(run, options)))(response.req, response);

const after = ({ headers }: IncomingMessage) => headers['last-event-id'] as string | undefined;

describe('a run over a real socket', () => {
  it('runResponse sends headers that no proxy buffers or stores, and those of the application', () => {
    const { headers } = runResponse(of(other('a')), { headers: { 'x-a': '1', 'cache-control': 'private' } });
    expect(Object.fromEntries(headers)).toEqual({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'private',
      'x-accel-buffering': 'no',
      'x-a': '1',
    });
    expect(runResponse(of(other('a'))).headers.get('cache-control')).toBe('no-cache, no-transform');
  });

  it('runResponse sends nothing for a checkpoint, and the interval of reconnection once', async () => {
    const checkpoint = { type: 'checkpoint', checkpoint: {} } as StreamEvent;
    const events = of(checkpoint, other('a'), other('b'));
    const [plain, shared] = await Promise.all([events, shareRun(events)].map((run) => runResponse(run).text()));
    expect(plain?.match(/^data: .*$/gm)).toEqual(shared?.match(/^data: .*$/gm));
    expect(plain).not.toContain('checkpoint');
    expect(plain).not.toMatch(/^retry: .*\ndata: .*"type"/m);
    expect(shared).not.toMatch(/^id: 1$/m);
    expect(plain).not.toMatch(/^id: /m);
    expect(plain?.match(/"type":"a"|"type":"b"/g)).toEqual(['"type":"a"', '"type":"b"']);
    expect(shared).toMatch(/^id: 2$/m);
  });

  it('runResponse and fromServerSentEvents deliver the events of a run', async () => {
    const url = await serve((_, response) => sendRun(exampleRun(), response));
    const received = await receive(url);
    expect(contentOf(received)).toEqual(asJson(contentOf(exampleEvents())));
  });

  it('runResponse delivers the same events without a socket', async () => {
    const fetch = () => Promise.resolve(runResponse(exampleRun()));
    const received = await receive('http://web.test/run', { fetch });
    expect(contentOf(received)).toEqual(asJson(contentOf(exampleEvents())));
  });

  it('fromServerSentEvents sends the id that it is given, whatever headers the application adds', async () => {
    const id = '0123456789abcdef0123456789abcdef';
    let received: unknown;
    const url = await serve((request, response) => {
      received = request.headers['x-run-id'];
      sendRun(exampleRun(), response);
    });
    await lastValueFrom(fromServerSentEvents<StreamEvent>(url, { id, headers: { 'X-Run-Id': 'other' } }));
    expect(received).toBe(id);
  });

  it('fromServerSentEvents gives up on a server that repeats an event for ever', async () => {
    let requests = 0;
    const url = await serve((_, response, count) => {
      requests = count;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('id: 1\ndata: {"type":"a"}\n\n');
    });
    await expect(receive(url, { retries: 3 })).rejects.toMatchObject({ code: 'stream_interrupted' });
    expect(requests).toBe(4);
  });

  it.each([
    '{"type":"message"}',
    '{"type":"text"}',
    '{"type":"message","message":{"role":"model","parts":[null]}}',
    '{"type":"message","message":{"role":"model","parts":[{"type":"text","range":5}]}}',
  ])('fromServerSentEvents reports %s, which only looks like an event', async (data) => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${data}\n\n`);
    });
    await expect(receive(url)).rejects.toMatchObject({ code: 'protocol', reason: 'frame' });
  });

  it('fromServerSentEvents makes one request, and none after the end of the run', async () => {
    let requests = 0;
    const url = await serve((_, response, count) => {
      requests = count;
      sendRun(exampleRun(), response);
    });
    await receive(url);
    expect(requests).toBe(1);
  });

  it('fromServerSentEvents connects again after a cut at any event, without a loss or a repetition', async () => {
    const run = shareRun(exampleRun());
    const runIds = new Set<unknown>();
    const url = await serve((request, response) => {
      runIds.add(request.headers['x-run-id']);
      const write = response.write.bind(response) as (chunk: Uint8Array, written?: () => void) => boolean;
      let writes = 0; // the connection breaks after the start and the second event
      const cut = (chunk: Uint8Array) =>
        ++writes === 3 ? write(chunk, () => response.destroy()) && false : write(chunk);
      Object.assign(response, { write: cut });
      sendRun(run, response, { after: after(request) });
    });
    const received = await receive(url);
    expect(contentOf(received)).toEqual(asJson(contentOf(exampleEvents())));
    expect(runIds.size).toBe(1);
  });

  it('fromServerSentEvents does not ask again when a plain run breaks: its events have no id', async () => {
    let requests = 0;
    const url = await serve((_, response, count) => {
      requests = count;
      sendRun(concat(of(other('a')), NEVER), response);
      setImmediate(() => response.write('', () => response.destroy()));
    });
    await expect(receive(url)).rejects.toMatchObject({ code: 'stream_interrupted' });
    expect(requests).toBe(1);
  });

  it('runResponse begins at once, so that a break before the first event repeats no plain run', async () => {
    const breakAfterFirstWrite = (response: ServerResponse) => {
      const write = response.write.bind(response) as (chunk: Uint8Array, written: () => void) => boolean;
      Object.assign(response, { write: (chunk: Uint8Array) => write(chunk, () => response.destroy()) });
    };
    let requests = 0;
    const plain = await serve((__, response, count) => {
      requests = count;
      breakAfterFirstWrite(response);
      sendRun(NEVER, response);
    });
    await expect(receive(plain)).rejects.toMatchObject({ code: 'stream_interrupted' });
    expect(requests).toBe(1);

    const source = new Subject<StreamEvent>();
    const run = shareRun(source);
    const shared = await serve((__, response, count) => {
      if (count === 1) breakAfterFirstWrite(response);
      sendRun(run, response);
      if (count === 1) return;
      source.next(other('a'));
      source.complete();
    });
    expect(await receive(shared)).toEqual([other('a')]);
  });

  it('fromServerSentEvents gives up on a server that begins and breaks for ever', async () => {
    let requests = 0;
    const run = shareRun(NEVER);
    const url = await serve((request, response, count) => {
      requests = count;
      sendRun(run, response, { after: after(request) });
      setImmediate(() => response.destroy());
    });
    await expect(receive(url, { retries: 3 })).rejects.toMatchObject({ retryable: true });
    expect(requests).toBe(4);
    run.unsubscribe();
  });

  it('fromServerSentEvents reports a failed run with what the server tells, and does not ask again', async () => {
    let requests = 0;
    const url = await serve((_, response, count) => {
      requests = count;
      sendRun(
        concat(
          of(other('a')),
          throwError(() => new TimeoutError('each', 5)),
        ),
        response,
      );
    });
    const error: unknown = await receive(url).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RemoteRunError);
    expect(error).toMatchObject({ code: 'timeout', retryable: false, message: 'The answer took too long.' });
    expect(requests).toBe(1);
  });

  it('runResponse tells a browser nothing about an error of the server', async () => {
    const secret = new Error('connect ECONNREFUSED postgres://admin:hunter2@db');
    const url = await serve((_, response) =>
      sendRun(
        throwError(() => secret),
        response,
      ),
    );
    const body = await (await fetch(url, { method: 'POST' })).text();
    expect(body).toBe(
      'event: hello\ndata: {"heartbeat":15000}\n\n' +
        'event: start\nretry: 2147483647\ndata: {}\n\n' +
        'event: failed\nretry: 2147483647\ndata: {"code":"internal","message":"The run failed.","retryable":false}\n\n',
    );
  });

  it('fromServerSentEvents reports a status, and retries one that may pass', async () => {
    const forbidden = await serve((_, response) => response.writeHead(403).end('no'));
    await expect(receive(forbidden)).rejects.toMatchObject({
      code: 'http',
      status: 403,
      message: 'You are not allowed to do this (status 403).',
    });
    const busy = await serve((_, response, count) => {
      if (count < 3) response.writeHead(503).end('busy');
      else sendRun(exampleRun(), response);
    });
    expect(await receive(busy)).toHaveLength(exampleEvents().length);
  });

  it('fromServerSentEvents gives up after its retries, and counts them again after progress', async () => {
    let requests = 0;
    const url = await serve((_, response, count) => {
      requests = count;
      response.destroy();
    });
    await expect(receive(url, { retries: 3 })).rejects.toMatchObject({ code: 'connection' });
    expect(requests).toBe(4);
  });

  it('runResponse stops a plain run when the client leaves, and only leaves a shared run', async () => {
    const tornDown = new Subject<string>();
    const run = (name: string) => concat(of(other(name)), NEVER).pipe(finalize(() => tornDown.next(name)));
    const shared: SharedRun = shareRun(run('shared'));
    const url = await serve((_, response, count) => sendRun(count === 1 ? shared : run('plain'), response));
    const left = firstValueFrom(tornDown);
    await firstValueFrom(fromServerSentEvents<StreamEvent>(url));
    await firstValueFrom(fromServerSentEvents<StreamEvent>(url));
    expect(await left).toBe('plain');
    expect(shared.status).toBe('running');
    shared.unsubscribe();
  });

  it('runResponse leaves nothing behind for clients that vanish: no subscription, timer or connection', async () => {
    const CLIENTS = 50;
    const plain = new Subject<StreamEvent>();
    const source = new Subject<StreamEvent>();
    const abandoned = new Subject<void>();
    const shared: SharedRun = shareRun(source.pipe(finalize(() => abandoned.next())), { grace: 0 });
    const closed = new Subject<void>();
    const allClosed = lastValueFrom(closed.pipe(take(CLIENTS)));
    const server = createServer((request, response) => {
      response.on('close', () => closed.next());
      sendRun(request.url === '/plain' ? plain : shared, response, { heartbeat: 60_000 });
    }).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const sockets = Array.from({ length: CLIENTS }, (_, index) => {
      const socket = connect(port, '127.0.0.1');
      socket.write(`GET /${index % 2 ? 'plain' : 'shared'} HTTP/1.1\r\nhost: a\r\n\r\n`);
      return socket;
    });
    await Promise.all(sockets.map((socket) => once(socket, 'data'))); // the responses have begun
    plain.next(text('a'));
    source.next(text('a'));
    expect([plain.observed, source.observed, timers() - before > CLIENTS / 2]).toEqual([true, true, true]);
    const isAbandoned = firstValueFrom(abandoned, { defaultValue: undefined });
    for (const socket of sockets) socket.resetAndDestroy();
    await Promise.all([allClosed, isAbandoned]);
    const connections = await new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
    expect([plain.observed, source.observed, shared.status, connections]).toEqual([false, false, 'abandoned', 0]);
    // A timer that each kind of client left would be half of them; fetch and jest have one or two of their own.
    expect(timers() - before).toBeLessThan(CLIENTS / 2);
  });

  it('runResponse keeps nothing for a slow reader: what waits is merged in the log of the run', async () => {
    const source = new Subject<StreamEvent>();
    const { body } = runResponse(shareRun(source), { heartbeat: false });
    const long = 'x'.repeat(20_000); // more than the body buffers
    for (const value of [long, ...Array<string>(1000).fill('ab')]) source.next(text(value));
    source.complete();
    const chunks: string[] = [];
    for await (const bytes of body ?? []) chunks.push(new TextDecoder().decode(bytes));
    expect(chunks.map((chunk) => chunk.length)).toEqual([
      expect.any(Number),
      expect.any(Number),
      expect.any(Number),
      expect.any(Number),
    ]);
    expect(chunks[2]).toContain('abab');
    expect(chunks[3]).toContain('event: end');
  });

  it('runResponse sends the end after an event that filled the body', async () => {
    expect(await runResponse(of(text('x'.repeat(20_000)))).text()).toContain('event: end');
  });

  it('runResponse sends no comments to a reader that does not read', () => {
    jest.useFakeTimers();
    try {
      const source = new Subject<StreamEvent>();
      const { body } = runResponse(source, { heartbeat: 1000 });
      source.next(text('x'.repeat(20_000)));
      const enqueue = jest.spyOn(ReadableStreamDefaultController.prototype, 'enqueue');
      jest.advanceTimersByTime(10_000);
      expect(enqueue).not.toHaveBeenCalled();
      enqueue.mockRestore();
      body?.cancel().catch(() => undefined);
    } finally {
      jest.useRealTimers();
    }
  });

  it('runResponse counts a slow reader as a subscriber of the run', () => {
    new TestScheduler(() => undefined).run(({ flush }) => {
      const source = new Subject<StreamEvent>();
      const run: SharedRun = shareRun(source, { grace: 10 });
      const { body } = runResponse(run, { heartbeat: false });
      source.next(text('x'.repeat(20_000)));
      flush();
      expect(run.status).toBe('running');
      body?.cancel().catch(() => undefined);
      flush();
      expect(run.status).toBe('abandoned');
    });
  });

  it('nodeListener starts nothing for a client that has left already', async () => {
    const { count, source } = countedSource(() => other('a'));
    const url = await serve((_, response) => {
      response.destroy();
      setImmediate(() => sendRun(source, response));
    });
    await fetch(url).catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(count.subscribed).toBe(0);
  });

  it('runResponse reports an event that is not JSON to its reader, and serves the others', async () => {
    const source = new Subject<StreamEvent>();
    const run = shareRun(source);
    const response = runResponse(run, { heartbeat: false });
    const { values } = observe(run.events$);
    source.next({ type: 'a', value: 1n } as StreamEvent);
    source.next(other('b'));
    expect(await response.text()).toContain('event: failed\n');
    expect(values).toHaveLength(2);
    run.unsubscribe();
  });

  it('runResponse ends the response although describeError fails', async () => {
    const describeError = () => {
      throw new Error('no description');
    };
    const run = throwError(() => new Error('broken'));
    expect(await runResponse(run, { describeError }).text()).toContain('event: failed\n');
  });

  it('runResponse reports a Last-Event-ID that is not of the run', async () => {
    const url = await serve((request, response) =>
      sendRun(shareRun(exampleRun()), response, { after: after(request) }),
    );
    const body = await (await fetch(url, { method: 'POST', headers: { 'last-event-id': '99' } })).text();
    expect(body).toContain('event: failed\n');
  });

  it('runResponse sends comments while a run is silent', async () => {
    const url = await serve((_, response) => sendRun(NEVER, response, { heartbeat: 1 }));
    const { body } = await fetch(url);
    const secondChunk = async (stream: ReadableStream<Uint8Array> | null) => {
      const reader = stream?.getReader();
      await reader?.read(); // the start
      const { value } = (await reader?.read()) ?? {};
      await reader?.cancel(); // the response would send comments for ever
      return new TextDecoder().decode(value);
    };
    expect(await secondChunk(body)).toContain(': keep-alive\n\n');
    const response = runResponse(NEVER, { heartbeat: 1 });
    expect(await secondChunk(response.body)).toContain(': keep-alive\n\n');
  });

  it('runResponse reads a run at the speed of its body, and stops it when the body is cancelled', async () => {
    let emitted = 0;
    let tornDown = false;
    const source = new Subject<StreamEvent>();
    const response = runResponse(source.pipe(tap(() => emitted++), finalize(() => (tornDown = true)))); // prettier-ignore
    for (let i = 0; i < 10_000; i++) source.next(text('x'.repeat(100)));
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(first?.value?.length).toBeLessThan(5000);
    await reader?.cancel();
    expect([emitted, tornDown]).toEqual([10_000, true]);
  });

  it('an answer that is not a run is an error that names its beginning', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('data: hello\n\n');
    });
    await expect(receive(url)).rejects.toMatchObject({ code: 'protocol', received: 'hello' });
  });

  it('a subscriber that has enough closes the connection', async () => {
    const closed = new Subject<void>();
    const url = await serve((_, response) => {
      response.on('close', () => closed.next());
      sendRun(concat(of(other('a'), other('b')), NEVER), response);
    });
    const end = firstValueFrom(closed, { defaultValue: undefined });
    await lastValueFrom(fromServerSentEvents<StreamEvent>(url).pipe(take(2)));
    await end;
  });
});

describe('the body of a response', () => {
  const checkpoint = { type: 'checkpoint', checkpoint: {} } as StreamEvent;
  const silent: RunFormat = { start: () => '', event: () => '', failure: () => '', end: () => 'end' };

  it('contains no empty part for an event that sends nothing', async () => {
    const reader = runResponse(of(checkpoint, other('a'))).body?.getReader();
    const lengths: number[] = [];
    for (let part = await reader?.read(); part?.value; part = await reader?.read()) lengths.push(part.value.length);
    expect(lengths).toHaveLength(3); // the start, the event, the end
    expect(Math.min(...lengths)).toBeGreaterThan(0);
  });

  it('has each event once if the protocol sends nothing at the start', async () => {
    const source = new Subject<StreamEvent>();
    const format: RunFormat = { ...silent, event: ({ event }) => event.type };
    const text = createResponse(shareRun(source), format, { heartbeat: false }).text();
    await new Promise((resolve) => setImmediate(resolve)); // until the reader waits
    source.next(other('a'));
    source.next(other('b'));
    source.complete();
    expect(await text).toBe('abend');
  });

  it('is full at 16384 bytes: nothing more is read before its reader continues', () => {
    let read = 0;
    const event = () => {
      read += 1;
      return 'x'.repeat(16_384);
    };
    createResponse(shareRun(of(other('a'), other('b'), other('c'))), { ...silent, event }, { heartbeat: false });
    expect(read).toBe(1);
  });

  it('reads nothing after an event that cannot be sent', async () => {
    let read = 0;
    const event = () => {
      read += 1;
      throw new Error('no JSON');
    };
    const unhandled: unknown[] = [];
    config.onUnhandledError = (error) => unhandled.push(error);
    try {
      const format = { ...silent, event, failure: () => 'failed' };
      const response = createResponse(shareRun(of(other('a'), other('b'))), format, { heartbeat: false });
      expect(await response.text()).toBe('failed');
      await lastValueFrom(timer(0)); // RxJS reports an error later
      expect([read, unhandled]).toEqual([1, []]);
    } finally {
      config.onUnhandledError = null;
    }
  });

  it('has a comment when nothing was sent for the time of a heartbeat, whatever the run emitted', async () => {
    let response: Response | undefined;
    new TestScheduler(() => undefined).run(({ cold, flush }) => {
      const run = cold('15ms c 9ms a 9ms |', { c: checkpoint, a: other('a') });
      response = runResponse(run, { heartbeat: 10 });
      flush();
    });
    const body = (await response?.text()) ?? '';
    expect(body.match(/keep-alive|"type":"a"/g)).toEqual(['keep-alive', 'keep-alive', '"type":"a"']);
  });
});
