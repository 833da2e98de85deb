import { afterEach, describe, expect, it } from '@jest/globals';
import { Observable, Subject, filter, firstValueFrom, lastValueFrom, map, repeat, take, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { userMessage } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import type { ToolContext } from '../../lib/core/tool.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { toolCall } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer } from '../../lib/testing/server/index.js';

// Runs over real HTTP on loopback. Every wait is for an event of the server or the run.
describe('over real sockets', () => {
  const servers: LoopbackServer[] = [];
  const serve = async (...args: Parameters<typeof serveModel>) => {
    const server = await serveModel(...args);
    servers.push(server);
    return server;
  };
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });

  const model = (server: LoopbackServer) =>
    openaiChat('gpt-test', { apiKey: 'sk-secret', baseUrl: server.url, retry: false });
  const happened = (server: LoopbackServer, type: string, request: number) =>
    firstValueFrom(server.events.pipe(filter((event) => event.type === type && event.request === request)));

  it('unsubscribing closes the connection while the model is silent, before and after its first chunk', async () => {
    for (const silent of [0, 3]) {
      const server = await serve(['Hello world'], { silent });
      const subscription = model(server)
        .stream({ messages: [userMessage('Hi')] })
        .subscribe();
      await happened(server, 'request', 0);
      if (silent > 0) await happened(server, 'frame', 0);
      subscription.unsubscribe();
      await happened(server, 'closed', 0);
      expect(server.connections).toBe(0);
    }
  });

  it('unsubscribing while a tool runs aborts its signal, unsubscribes it, and emits nothing more', async () => {
    const server = await serve([[toolCall('slow')], 'never']);
    let context: ToolContext | undefined;
    let left = false;
    const events: string[] = [];
    const running = new Subject<void>();
    const slow = tool({
      name: 'slow',
      description: '',
      execute: (_, given) =>
        new Observable<string>(() => {
          context = given;
          queueMicrotask(() => running.next());
          return () => (left = true);
        }),
    });
    const subscription = createAgent({ model: model(server), tools: [slow] })
      .stream('go')
      .subscribe(({ type }) => events.push(type));
    await firstValueFrom(running);
    expect({ left, aborted: context?.signal.aborted }).toEqual({ left: false, aborted: false });
    subscription.unsubscribe();
    expect({ left, aborted: context?.signal.aborted }).toEqual({ left: true, aborted: true });
    expect(events).toEqual(['metadata', 'toolCall', 'message', 'toolStart']);
    expect(server.requests).toHaveLength(1);
  });

  it('the connection of a turn is closed before the request of the next turn', async () => {
    const f = tool({ name: 'f', description: '', execute: () => 1 });
    const server = await serve([[toolCall('f')], [toolCall('f')], 'done']);
    await lastValueFrom(createAgent({ model: model(server), tools: [f] }).run('go'));
    const order = await firstValueFrom(
      server.events.pipe(
        filter(({ type }) => type === 'request' || type === 'finished'),
        map(({ type, request }) => `${type} ${request}`),
        take(6),
        toArray(),
      ),
    );
    expect(order).toEqual(['request 0', 'finished 0', 'request 1', 'finished 1', 'request 2', 'finished 2']);
  });

  it('the request of the next turn waits for a server that sends [DONE] and keeps the connection open', async () => {
    const f = tool({ name: 'f', description: '', execute: () => 1 });
    // Role, call, arguments, finish and [DONE], then silence, which the drain timeout of one second ends.
    const server = await serve([[toolCall('f')], 'done'], {
      forRequest: (request) => (request.order === 0 ? { silent: 99 } : undefined),
    });
    const result = await lastValueFrom(createAgent({ model: model(server), tools: [f] }).run('go'));
    expect(result.text).toBe('done');
  });

  it('each subscriber and each repetition sends a request', async () => {
    const server = await serve(() => 'Hi');
    const stream = model(server).stream({ messages: [userMessage('Hi')] });
    const text = stream.pipe(
      filter((chunk): chunk is Extract<Chunk, { type: 'text' }> => chunk.type === 'text'),
      map((chunk) => chunk.text),
      toArray(),
    );
    expect(await Promise.all([lastValueFrom(text), lastValueFrom(text)])).toEqual([['Hi'], ['Hi']]);
    expect(server.requests).toHaveLength(2);
    await lastValueFrom(text.pipe(repeat(2)));
    expect(server.requests).toHaveLength(4);
  });

  it('a connection reset is an error after the text that arrived', async () => {
    const server = await serve(['Hello world'], { reset: 2 });
    const seen: Chunk[] = [];
    const error = await new Promise<unknown>((resolve) =>
      model(server)
        .stream({ messages: [userMessage('Hi')] })
        .subscribe({ next: (chunk) => seen.push(chunk), error: resolve }),
    );
    expect(error).toMatchObject({ code: 'stream_interrupted', retryable: true });
    expect(seen.some(({ type }) => type === 'finish')).toBe(false);
  });

  it('a run announces the retries of each turn, and its result does not depend on them', async () => {
    const f = tool({ name: 'f', description: '', execute: () => 1 });
    const busy = { status: 429, headers: { 'retry-after': '0' } };
    const server = await serve([[toolCall('f')], 'done'], { forRequest: [busy, undefined, busy, busy] });
    const retrying = openaiChat('gpt-test', { apiKey: 'sk-secret', baseUrl: server.url });
    const events = await lastValueFrom(
      createAgent({ model: retrying, tools: [f] })
        .stream('go')
        .pipe(toArray()),
    );
    expect(events.map((event) => (event.type === 'retry' ? `retry ${event.attempt}` : event.type))).toEqual([
      ...['retry 1', 'metadata', 'toolCall', 'message', 'toolStart', 'toolResult', 'message', 'turn'],
      ...['retry 1', 'retry 2', 'metadata', 'text', 'message', 'turn', 'result'],
    ]);
    expect(events.at(-1)).toMatchObject({ result: { text: 'done', turns: 2, finishReason: 'stop' } });
  });

  it('no event contains the key or the system prompt', async () => {
    const f = tool({ name: 'f', description: '', execute: () => 1 });
    const server = await serve([['Looking.', toolCall('f')], 'done']);
    const agent = createAgent({ model: model(server), tools: [f], system: 'A secret prompt.' });
    const events = JSON.stringify(await lastValueFrom(agent.stream('go', { checkpoints: true }).pipe(toArray())));
    expect(server.requests[0]?.headers['authorization']).toBe('Bearer sk-secret');
    expect(JSON.stringify(server.requests[0]?.body)).toContain('A secret prompt.');
    expect(events).not.toContain('sk-secret');
    expect(events).not.toContain('A secret prompt.');
  });
});
