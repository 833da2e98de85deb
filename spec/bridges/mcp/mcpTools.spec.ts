import { afterEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CallToolResult, ClientOptions, ListToolsResult, RequestOptions } from '@modelcontextprotocol/client';
import { InMemoryServerEventBus, createMcpHandler } from '@modelcontextprotocol/server';
import {
  ReplaySubject,
  Subject,
  concat,
  config,
  firstValueFrom,
  lastValueFrom,
  retry,
  skip,
  switchMap,
  take,
  timer,
  toArray,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../../lib/index.js';
import { mcpTools } from '../../../lib/bridges/mcp/index.js';
import { toValidNames } from '../../../lib/bridges/mcp/mcpTools.js';
import type { McpClient, McpTool, McpToolsOptions } from '../../../lib/bridges/mcp/index.js';
import type { JsonValue, ToolResultEvent } from '../../../lib/index.js';
import { toolCall, scriptedModel } from '../../../lib/testing/index.js';
import { inMemory, methods, named, newClient, newServer } from './servers.js';
import type { Answers } from './servers.js';

const signal = new AbortController().signal;
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

async function serve(answers: Answers, options?: ClientOptions) {
  const connected = await inMemory(answers, options);
  closers.push(() => connected.close());
  return connected;
}

const namesOf = (tools: readonly McpTool[]) => tools.map(({ name }) => name);
const only = async (client: McpClient, options?: McpToolsOptions): Promise<McpTool> => {
  const [tool] = await firstValueFrom(mcpTools(client, options));
  if (!tool) throw new Error('No tool is listed.');
  return tool;
};

/** The values of a source, read one by one, however fast they are emitted. */
function inOrder<T>(source: Observable<T>) {
  const all = new ReplaySubject<T>(Infinity);
  const subscription = source.subscribe(all);
  let read = 0;
  return {
    next: () => firstValueFrom(all.pipe(skip(read++))),
    end: () => lastValueFrom(all, { defaultValue: undefined }),
    subscription,
  };
}

describe('mcpTools: the list', () => {
  it('mcpTools lists all pages', async () => {
    const pages: Record<string, ListToolsResult> = {
      '': { tools: [named('a'), named('b')], nextCursor: 'second' },
      second: { tools: [named('c')], nextCursor: 'third' },
      third: { tools: [named('d')] },
    };
    const { client } = await serve({ list: (cursor = '') => pages[cursor] ?? { tools: [] } });
    expect(namesOf(await firstValueFrom(mcpTools(client)))).toEqual(['a', 'b', 'c', 'd']);
  });

  it('mcpTools lists a tool once that is on two pages', async () => {
    const { client } = await serve({
      list: (cursor) => ({ tools: [named('a')], ...(cursor ? {} : { nextCursor: 'second' }) }),
    });
    expect(namesOf(await firstValueFrom(mcpTools(client)))).toEqual(['a']);
  });

  it('mcpTools lists the tools again whenever the server announces a change', async () => {
    let tools = [named('a')];
    const { client, server } = await serve({ list: () => ({ tools }) });
    const lists = inOrder(mcpTools(client));
    expect(namesOf(await lists.next())).toEqual(['a']);
    tools = [named('a'), named('b')];
    server.sendToolListChanged();
    expect(namesOf(await lists.next())).toEqual(['a', 'b']);
    tools = [];
    server.sendToolListChanged();
    expect(namesOf(await lists.next())).toEqual([]);
    lists.subscription.unsubscribe();
  });

  it('mcpTools requests the list once more after a change during the request, and does not emit the stale response', async () => {
    const asked = new ReplaySubject<(result: ListToolsResult) => void>(Infinity);
    const { client, server, sent } = await serve({ list: () => new Promise((answer) => asked.next(answer)) });
    const lists = inOrder(mcpTools(client));
    const answer = await firstValueFrom(asked);
    for (let changes = 0; changes < 10; changes++) server.sendToolListChanged();
    await client.ping(); // what the server sent before its answer has come
    answer({ tools: [named('stale')] });
    const again = await firstValueFrom(asked.pipe(skip(1)));
    again({ tools: [named('fresh')] });
    expect(namesOf(await lists.next())).toEqual(['fresh']);
    expect(methods(sent).filter((method) => method === 'tools/list')).toHaveLength(2);
    expect(methods(sent)).not.toContain('notifications/cancelled');
    lists.subscription.unsubscribe();
  });

  it('mcpTools shares the list between subscriptions to a client, until the last one unsubscribes', async () => {
    let tools = [named('a')];
    const { client, server, sent } = await serve({ list: () => ({ tools }) });
    const first = inOrder(mcpTools(client));
    await first.next();
    const second = inOrder(mcpTools(client, { prefix: 'x_' }));
    expect(namesOf(await second.next())).toEqual(['x_a']);
    first.subscription.unsubscribe();
    tools = [named('b')];
    server.sendToolListChanged();
    expect(namesOf(await second.next())).toEqual(['x_b']);
    second.subscription.unsubscribe();
    const unheard: string[] = []; // what no handler of the client takes
    client.fallbackNotificationHandler = async ({ method }) => void unheard.push(method);
    server.sendToolListChanged();
    await client.ping();
    expect(unheard).toEqual(['notifications/tools/list_changed']);
    expect(methods(sent).filter((method) => method === 'tools/list')).toHaveLength(2);
  });

  it('mcpTools cancels the request when it is unsubscribed', async () => {
    const cancelled = new ReplaySubject<string>(1);
    const { client, server, sent } = await serve({ list: () => new Promise<never>(() => undefined) });
    server.server.setNotificationHandler('notifications/cancelled', ({ params }) =>
      cancelled.next(String(params.reason)),
    );
    const subscription = mcpTools(client).subscribe();
    await client.ping();
    const onStopped = jest.fn();
    config.onStoppedNotification = onStopped;
    subscription.unsubscribe();
    expect(await firstValueFrom(cancelled)).toBe('No longer needed.');
    await client.ping(); // the client has rejected the request by now,
    await firstValueFrom(timer(0)); // and RxJS, which reports in a timer of its own, would have reported it
    config.onStoppedNotification = null;
    expect(onStopped).not.toHaveBeenCalled();
    expect(methods(sent).slice(-2)).toEqual(['notifications/cancelled', 'ping']);
  });

  it('mcpTools returns the current tools to each run, without a request for each while there is a subscription', async () => {
    let tools = [named('a')];
    const { client, server, sent } = await serve({ list: () => ({ tools }) });
    const model = scriptedModel(() => 'Yes.');
    const answers = (question: string) =>
      mcpTools(client).pipe(
        take(1),
        switchMap((now) => createAgent({ model, tools: now }).run(question)),
      );
    const watching = inOrder(mcpTools(client));
    await watching.next();
    await firstValueFrom(concat(answers('1'), answers('2')).pipe(toArray()));
    tools = [named('b')];
    server.sendToolListChanged();
    await watching.next();
    await firstValueFrom(answers('3'));
    expect(model.requests.map((request) => request.tools?.map(({ name }) => name))).toEqual([['a'], ['a'], ['b']]);
    expect(methods(sent).filter((method) => method === 'tools/list')).toHaveLength(2);
    watching.subscription.unsubscribe();
  });

  it('mcpTools errors when the server refuses the list, and can be retried', async () => {
    let refusals = 1;
    const { client } = await serve({
      list: () => {
        if (refusals-- > 0) throw new Error('not now');
        return { tools: [named('a')] };
      },
    });
    await expect(firstValueFrom(mcpTools(client))).rejects.toThrow('not now');
    expect(namesOf(await firstValueFrom(mcpTools(client)))).toEqual(['a']);
  });

  it('mcpTools announces changes also after retries, until it is unsubscribed', async () => {
    let refusals = 2;
    let tools = [named('a')];
    const { client, server } = await serve({
      list: () => {
        if (refusals-- > 0) throw new Error('not now');
        return { tools };
      },
    });
    const lists = inOrder(mcpTools(client).pipe(retry(3)));
    expect(namesOf(await lists.next())).toEqual(['a']);
    tools = [named('b')];
    server.sendToolListChanged();
    await client.ping(); // a handler that is gone would have missed it by now
    const unheard: string[] = [];
    client.fallbackNotificationHandler = async ({ method }) => void unheard.push(method);
    expect(namesOf(await lists.next())).toEqual(['b']);
    lists.subscription.unsubscribe();
    server.sendToolListChanged();
    await client.ping();
    expect(unheard).toEqual(['notifications/tools/list_changed']);
  });

  it('mcpTools announces changes to all subscriptions, if one retries and another does not', async () => {
    let refusals = 1;
    let tools = [named('a')];
    const { client, server } = await serve({
      list: () => {
        if (refusals-- > 0) throw new Error('not now');
        return { tools };
      },
    });
    const first = inOrder(mcpTools(client).pipe(retry(3)));
    const second = inOrder(mcpTools(client));
    await expect(second.end()).rejects.toThrow('not now');
    expect(namesOf(await first.next())).toEqual(['a']);
    const third = inOrder(mcpTools(client));
    expect(namesOf(await third.next())).toEqual(['a']);
    tools = [named('b')];
    server.sendToolListChanged();
    expect(namesOf(await first.next())).toEqual(['b']);
    expect(namesOf(await third.next())).toEqual(['b']);
    first.subscription.unsubscribe();
    tools = [named('c')];
    server.sendToolListChanged();
    expect(namesOf(await third.next())).toEqual(['c']);
    third.subscription.unsubscribe();
  });

  it('mcpTools asks the server for each first subscription, whatever the client has cached', async () => {
    let tools = [named('a')];
    const { client } = await serve({ list: () => ({ tools }) }, { defaultCacheTtlMs: 60_000 });
    expect(namesOf(await firstValueFrom(mcpTools(client)))).toEqual(['a']);
    tools = [named('b')]; // the server does not announce it
    expect(namesOf(await firstValueFrom(mcpTools(client)))).toEqual(['b']);
    expect((await client.listTools()).tools).toEqual(tools); // the client's cache, which checks results, is as new
  });

  it('mcpTools errors for an unconnected client, which would answer with no tools', async () => {
    await expect(firstValueFrom(mcpTools(newClient()))).rejects.toMatchObject({
      code: 'configuration',
      subject: 'mcp',
    });
  });
});

describe('mcpTools: revision 2026-07-28', () => {
  async function modern(answers: Answers) {
    const bus = new InMemoryServerEventBus();
    const handler = createMcpHandler(() => newServer(answers), { bus });
    const client = new Client(
      { name: 'spec', version: '1.0.0' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    const cuts: (() => void)[] = []; // each ends an answer that streams, as a proxy would
    const fetch = async (url: string | URL, init?: RequestInit) => {
      const { body, status, headers } = await handler.fetch(new Request(url, init));
      const cut = new TransformStream({ start: (controller) => void cuts.push(() => controller.terminate()) });
      return new Response(body?.pipeThrough(cut), { status, headers });
    };
    await client.connect(new StreamableHTTPClientTransport(new URL('http://spec.invalid/mcp'), { fetch }));
    closers.push(async () => {
      await client.close();
      await handler.close();
    });
    return { client, handler, bus, cuts };
  }

  it('mcpTools lists the tools again at each change while it is subscribed', async () => {
    let tools = [named('a')];
    const { client, handler, bus } = await modern({ list: () => ({ tools }) });
    expect(client.getProtocolEra()).toBe('modern');
    const lists = inOrder(mcpTools(client));
    expect(namesOf(await lists.next())).toEqual(['a']);
    tools = [named('b')];
    handler.notify.toolsChanged();
    expect(namesOf(await lists.next())).toEqual(['b']);
    expect(bus.listenerCount).toBe(1);
    lists.subscription.unsubscribe();
    await client.listTools(undefined, { cacheMode: 'bypass' }); // a whole exchange later
    expect(bus.listenerCount).toBe(0);
  });

  it('mcpTools completes when the server ends the announcements', async () => {
    const { client, handler } = await modern({ list: () => ({ tools: [named('a')] }) });
    const lists = inOrder(mcpTools(client));
    await lists.next();
    await handler.close();
    expect(namesOf((await lists.end()) ?? [])).toEqual(['a']);
  });

  it('mcpTools errors when the stream of changes breaks, and announces changes again to a new subscription', async () => {
    let tools = [named('a')];
    const { client, handler, cuts } = await modern({ list: () => ({ tools }) });
    const lists = inOrder(mcpTools(client));
    await lists.next();
    tools = [named('b')];
    for (const cut of cuts) cut();
    await expect(lists.end()).rejects.toMatchObject({ code: 'connection', provider: 'mcp', retryable: true });
    const again = inOrder(mcpTools(client));
    expect(namesOf(await again.next())).toEqual(['b']);
    tools = [named('c')];
    handler.notify.toolsChanged();
    expect(namesOf(await again.next())).toEqual(['c']);
    again.subscription.unsubscribe();
  });

  it('mcpTools announces changes again after retry, when the stream of changes broke', async () => {
    let tools = [named('a')];
    const { client, handler, cuts } = await modern({ list: () => ({ tools }) });
    const lists = inOrder(mcpTools(client).pipe(retry(3)));
    await lists.next();
    tools = [named('b')];
    for (const cut of cuts) cut();
    expect(namesOf(await lists.next())).toEqual(['b']);
    tools = [named('c')];
    handler.notify.toolsChanged();
    expect(namesOf(await lists.next())).toEqual(['c']);
    lists.subscription.unsubscribe();
  });

  it('mcpTools ignores a list that the client cached while nobody was subscribed', async () => {
    let tools = [named('a')];
    const { client, handler } = await modern({ list: () => ({ tools, ttlMs: 60_000 }) });
    expect(namesOf(await firstValueFrom(mcpTools(client)))).toEqual(['a']);
    tools = [named('b')];
    handler.notify.toolsChanged();
    expect(namesOf(await firstValueFrom(mcpTools(client)))).toEqual(['b']);
  });

  it('mcpTools aborts a call at the server when it is unsubscribed', async () => {
    const started = new Subject<AbortSignal>();
    const { client } = await modern({
      list: () => ({ tools: [named('wait')] }),
      call: (_, { mcpReq }) => {
        started.next(mcpReq.signal);
        return new Promise<CallToolResult>(() => undefined);
      },
    });
    const wait = await only(client);
    const begun = firstValueFrom(started);
    const subscription = wait.execute({}, { signal }).subscribe();
    const atServer = await begun;
    subscription.unsubscribe();
    if (!atServer.aborted) await new Promise((aborted) => atServer.addEventListener('abort', aborted, { once: true }));
    expect(atServer.aborted).toBe(true);
  });
});

describe('mcpTools: a tool', () => {
  it("mcpTools calls a tool by the server's name; the model gets a valid one", async () => {
    const calls: string[] = [];
    const { client } = await serve({
      list: () => ({ tools: [named('files.read')] }),
      call: ({ name }) => {
        calls.push(name);
        return { content: [] };
      },
    });
    const read = await only(client, { prefix: 'disk/' });
    expect(read.name).toBe('disk_files_read');
    expect(read.definition.name).toBe('files.read');
    await lastValueFrom(read.execute({}, { signal }));
    expect(calls).toEqual(['files.read']);
  });

  it('mcpTools prefixes the names, so that two servers may have equal ones', async () => {
    const answers = (text: string): Answers => ({
      list: () => ({ tools: [named('now')] }),
      call: () => ({ content: [{ type: 'text', text }] }),
    });
    const [here, there] = await Promise.all([serve(answers('12:00')), serve(answers('18:00'))]);
    const tools = [await only(here.client, { prefix: 'here_' }), await only(there.client, { prefix: 'there_' })];
    const model = scriptedModel([[toolCall('there_now'), toolCall('here_now')], 'Six hours.']);
    const events = await firstValueFrom(createAgent({ model, tools }).stream('How far apart?').pipe(toArray()));
    const results = events.filter((event): event is ToolResultEvent => event.type === 'toolResult');
    expect(results.map(({ name, result }) => [name, result])).toEqual([
      ['there_now', '18:00'],
      ['here_now', '12:00'],
    ]);
  });

  it('mcpTools takes the schema from the server, without keywords that would be taken for functions', async () => {
    const inputSchema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object' as const,
      required: ['path'],
      validate: 'x',
      '~standard': { version: 1 },
      additionalProperties: false,
    };
    const { client } = await serve({ list: () => ({ tools: [{ name: 'read', title: 'Reads a file', inputSchema }] }) });
    const read = await only(client);
    expect(read.parameters).toEqual({
      type: 'object',
      properties: {},
      required: ['path'],
      additionalProperties: false,
    });
    expect(read.description).toBe('Reads a file');
  });

  it('mcpTools cancels a call at the deadline of the run, which is answered to the model', async () => {
    const started = new Subject<AbortSignal>();
    const { client } = await serve({
      list: () => ({ tools: [named('wait')] }),
      call: (_, { mcpReq }) => {
        started.next(mcpReq.signal);
        return new Promise<CallToolResult>(() => undefined);
      },
    });
    const model = scriptedModel([[toolCall('wait')], 'Too slow.']);
    const begun = firstValueFrom(started);
    const run = firstValueFrom(createAgent({ model, tools: [await only(client)], toolDeadline: 20 }).run('Wait.'));
    const atServer = await begun;
    expect((await run).messages[1]?.parts).toEqual([
      {
        type: 'toolResult',
        id: 'call_1_1',
        name: 'wait',
        error: 'The tool did not finish within 20 ms.',
        code: 'timeout',
      },
    ]);
    await client.ping();
    expect(atServer.aborted).toBe(true);
  });

  it('mcpTools cancels a call when its signal is aborted, and errors with its reason', async () => {
    const started = new Subject<AbortSignal>();
    const { client, sent } = await serve({
      list: () => ({ tools: [named('wait')] }),
      call: (_, { mcpReq }) => {
        started.next(mcpReq.signal);
        return new Promise<CallToolResult>(() => undefined);
      },
    });
    const wait = await only(client);
    const abort = new AbortController();
    const begun = firstValueFrom(started);
    const result = lastValueFrom(wait.execute({}, { signal: abort.signal }));
    await begun;
    abort.abort(new Error('enough'));
    await expect(result).rejects.toThrow('enough');
    expect(methods(sent).at(-1)).toBe('notifications/cancelled');
    await expect(lastValueFrom(wait.execute({}, { signal: abort.signal }))).rejects.toThrow('enough');
    expect(methods(sent).filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it('mcpTools errors when a call does not end in time, and cancels it', async () => {
    const { client, sent } = await serve({
      list: () => ({ tools: [named('wait')] }),
      call: () => new Promise<CallToolResult>(() => undefined),
    });
    const wait = await only(client, { timeout: 5 });
    await expect(lastValueFrom(wait.execute({}, { signal }))).rejects.toThrow('timed out');
    expect(methods(sent).at(-1)).toBe('notifications/cancelled');
  });

  it('mcpTools passes the time limits to the client; by default, progress restarts the timeout', async () => {
    const { client } = await serve({ list: () => ({ tools: [named('a')] }) });
    const asked: RequestOptions[] = [];
    client.callTool = (_, options = {}) => {
      asked.push(options);
      return Promise.resolve({ content: [] });
    };
    await lastValueFrom((await only(client)).execute({}, { signal }));
    await lastValueFrom(
      (await only(client, { timeout: 10, maxTotalTimeout: 20, resetTimeoutOnProgress: false })).execute({}, { signal }),
    );
    expect(
      asked.map(({ timeout, maxTotalTimeout, resetTimeoutOnProgress }) => [
        timeout,
        maxTotalTimeout,
        resetTimeoutOnProgress,
      ]),
    ).toEqual([
      [undefined, undefined, true],
      [10, 20, false],
    ]);
  });

  it('mcpTools emits all progress at once, also the last value before a failure', async () => {
    const { client } = await serve({ list: () => ({ tools: [named('a')] }) });
    client.callTool = (_, options = {}) => {
      options.onprogress?.({ progress: 1, total: 2 });
      options.onprogress?.({ progress: 2, total: 2 });
      return Promise.reject(new Error('broken'));
    };
    const model = scriptedModel([[toolCall('a')], 'Sorry.']);
    const events = await firstValueFrom(
      createAgent({ model, tools: [await only(client)] })
        .stream('Try.')
        .pipe(toArray()),
    );
    expect(events.flatMap((event) => (event.type === 'toolProgress' ? [event.value] : []))).toEqual([
      { progress: 1, total: 2 },
      { progress: 2, total: 2 },
    ]);
  });

  it('mcpTools errors when the connection closes during a call', async () => {
    const started = new Subject<void>();
    const { client } = await serve({
      list: () => ({ tools: [named('wait')] }),
      call: () => {
        started.next();
        return new Promise<CallToolResult>(() => undefined);
      },
    });
    const wait = await only(client);
    const begun = firstValueFrom(started);
    const result = lastValueFrom(wait.execute({}, { signal }));
    await begun;
    await client.close();
    await expect(result).rejects.toThrow('Connection closed');
  });

  it('mcpTools sends one call for each subscription, and none before', async () => {
    const { client, sent } = await serve({
      list: () => ({ tools: [named('a')] }),
      call: () => ({ content: [{ type: 'text', text: 'A' }] }),
    });
    const values = (await only(client)).execute({ n: 1 }, { signal });
    expect(methods(sent)).not.toContain('tools/call');
    expect([await lastValueFrom(values), await lastValueFrom(values.pipe(take(1)))]).toEqual(['A', 'A']);
    expect(methods(sent).filter((method) => method === 'tools/call')).toHaveLength(2);
  });

  it('mcpTools returns results that the events of a run type as JSON', async () => {
    const { client } = await serve({
      list: () => ({ tools: [named('a')] }),
      call: () => ({ content: [{ type: 'text', text: 'A' }] }),
    });
    const agent = createAgent({
      model: scriptedModel([[toolCall('a')], 'Done.']),
      tools: await firstValueFrom(mcpTools(client)),
    });
    const results: (JsonValue | undefined)[] = [];
    for (const event of await firstValueFrom(agent.stream('?').pipe(toArray()))) {
      if (event.type === 'toolResult') results.push(event.result satisfies JsonValue | undefined);
    }
    expect(results).toEqual(['A']);
  });
});

describe('toValidNames', () => {
  it('toValidNames keeps names that every provider accepts', () => {
    expect(toValidNames(['read_file', 'get-sum', '_x', 'A1'])).toEqual(['read_file', 'get-sum', '_x', 'A1']);
  });
  it('toValidNames replaces other characters, and lets names begin with a letter or _', () => {
    expect(toValidNames(['files.read', 'ns/tool name', 'über', '2fa', '-x', ''])).toEqual([
      'files_read',
      'ns_tool_name',
      '__ber',
      '_2fa',
      '_-x',
      '_',
    ]);
  });
  it('toValidNames keeps the first 64 characters', () => {
    expect(toValidNames(['a'.repeat(65)])).toEqual(['a'.repeat(64)]);
  });
  it('toValidNames numbers names that become equal; a valid name stays', () => {
    expect(toValidNames(['a.b', 'a/b', 'a_b'])).toEqual(['a_b_2', 'a_b_3', 'a_b']);
    expect(toValidNames(['a'.repeat(70), 'a'.repeat(64)])).toEqual([`${'a'.repeat(62)}_2`, 'a'.repeat(64)]);
  });
  it('toValidNames returns distinct, valid names for any names', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ maxLength: 80 })), (names) => {
        const safe = toValidNames(names);
        expect(new Set(safe).size).toBe(names.length);
        for (const name of safe) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
      }),
    );
  });
});
