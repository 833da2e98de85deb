import { afterEach, describe, expect, it } from '@jest/globals';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Client } from '@modelcontextprotocol/client';
import { WebStandardStreamableHTTPServerTransport, type McpServer } from '@modelcontextprotocol/server';
import { filter, firstValueFrom, lastValueFrom, ReplaySubject, Subject, take, tap, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { CallAnswers } from '../../../lib/core/approval.js';
import type { ResultEvent, RunEvent } from '../../../lib/core/event.js';
import { mcpTools, type McpTool } from '../../../lib/tools/mcp/index.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { createServers } from '../../support/services.js';
import { named, newClient, newServer } from './servers.js';

const servers = createServers();
const clients: Client[] = [];
const sessionServers: McpServer[] = [];
afterEach(async () => {
  await Promise.all([...clients.splice(0), ...sessionServers.splice(0)].map((end) => end.close()));
  servers.close();
});

interface ServerOptions {
  /** The body of the response to a request of a lost session. */
  readonly text?: string;
  readonly asks?: boolean;
  /** The body of a response 400 to a call that was executed. */
  readonly failure?: string;
  /** What a call waits for, by its number. */
  readonly wait?: (call: number) => Promise<unknown> | undefined;
}

/** A server that forgets its sessions when it is started again, and answers a call of one with a status. */
async function startServer(
  status: number,
  { text = 'Session not found', asks = false, failure, wait }: ServerOptions = {},
) {
  const calls: string[] = [];
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const names = ['note'];
  const streams = new ReplaySubject<string>(Infinity);
  const announce = new Subject<void>();
  let opened = 0;
  let isAway = false;
  const open = async (request: Request) => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => `s${++opened}`,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    const server = newServer({
      list: () => ({ tools: names.map(named) }),
      call: async (_, { mcpReq }) => {
        // eslint-disable-next-line @typescript-eslint/no-deprecated -- servers use it
        if (asks) await mcpReq.elicitInput({ message: 'Really?', requestedSchema: { type: 'object', properties: {} } });
        const number = calls.push(`call ${calls.length + 1}`);
        await wait?.(number);
        return { content: [{ type: 'text', text: 'noted' }] };
      },
    });
    await server.connect(transport);
    sessionServers.push(server);
    announce.subscribe(() => server.sendToolListChanged());
    return transport.handleRequest(request);
  };
  const url = await servers.serve(async (request) => {
    if (isAway) return new Response(null, { status: 503 });
    const id = request.headers.get('mcp-session-id');
    if (id === null) return open(request);
    const known = sessions.get(id);
    if (!known) return new Response(text, { status });
    const executed = failure !== undefined && (await request.clone().text()).includes('tools/call');
    const response = await known.handleRequest(request);
    if (request.method === 'GET') streams.next(id);
    if (!executed) return response;
    await response.text();
    return new Response(failure, { status: 400 });
  });
  return {
    calls,
    opened: () => opened,
    restart: () => sessions.clear(),
    away: (value: boolean) => (isAway = value),
    /** Announces it to the sessions that have a stream for it. */
    addTool: async (name: string, session: string) => {
      await firstValueFrom(streams.pipe(filter((id) => id === session)));
      names.push(name);
      announce.next();
    },
    connect: async () => {
      const client = newClient(asks ? { capabilities: { elicitation: { form: {} } } } : {});
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      clients.push(client);
      return client;
    },
  };
}

const callOf = async (tool: McpTool | undefined) =>
  tool && lastValueFrom(tool.execute({}, { signal: new AbortController().signal }));

const agentWith = async (connect: () => Promise<Client>) => {
  const tools = await firstValueFrom(mcpTools(connect));
  const model = scriptedModel(({ messages }) =>
    messages.length === 1 ? [toolCall('note', {}, 'c1'), toolCall('note', {}, 'c2')] : 'Done.',
  );
  return createAgent({ model, tools });
};
const resultsOf = async (agent: Awaited<ReturnType<typeof agentWith>>, onQuestion?: (id: string) => void) => {
  const answers = new ReplaySubject<CallAnswers>(2);
  const answer = (event: RunEvent) => {
    if (event.type !== 'nested' || event.event.type !== 'toolWaiting') return;
    onQuestion?.(event.id);
    answers.next({ results: { [`${event.id}/${event.event.id}`]: {} } });
  };
  const result = await lastValueFrom(agent.stream('Note it, twice.', { answers }).pipe(tap(answer)));
  const { messages } = (result as ResultEvent).result;
  return messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'toolResult' ? [part.error ?? part.result] : [])),
  );
};

describe('mcpTools over HTTP: a session that the server has lost', () => {
  const rpcError = (message: string, more: object = {}) =>
    JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message, ...more }, id: null });
  it.each([
    [404, 'Session not found'],
    [404, ''],
    [400, 'Session not found'],
    [400, 'Invalid session ID\n'], // mcp-go before 404
    [400, 'Invalid or missing session ID'],
    [400, rpcError('Bad Request: No valid session ID provided')], // the examples of the SDK for TypeScript, Python before 404
    [400, rpcError('Bad Request: Server not initialized')], // the SDK for TypeScript
    [400, rpcError('Bad Request: Mcp-Session-Id header is required')],
    [400, rpcError('Bad Request: Missing session ID')], // the SDK for Python
    [400, rpcError('Bad Request: Session not initialized')],
    [400, rpcError('Bad Request: No valid session ID or not an initialize request')],
    [400, rpcError('Bad Request: Missing session ID or not an initialize request')],
    [400, rpcError('Bad Request: Unknown Mcp-Session-Id header')],
    [400, rpcError('Session not found or expired.')],
    [400, '{"error":"Missing or unknown mcp-session-id"}'],
    [400, '{"error":"Session ID header is required."}'],
  ])('is opened again once after %d %j, and each call is executed once', async (status, text) => {
    const { calls, opened, restart, connect } = await startServer(status, { text });
    const agent = await agentWith(connect);
    expect(await resultsOf(agent)).toEqual(['noted', 'noted']);
    restart();
    expect(await resultsOf(agent)).toEqual(['noted', 'noted']);
    expect([calls.length, opened()]).toEqual([4, 2]);
  });

  it.each([
    '',
    'The upstream failed.',
    '{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error"}}',
    'The payment session expired after the charge.',
    'The printer is not initialized.',
    'Unknown id: session',
    'Invalid session ID of the browser: "12"',
    '{"error":"Cannot book: the session id is missing in the form"}',
    '{"error":"Failed.","call":{"message":"Session not found"}}',
    ...[
      'therapy session on monday',
      'Session not found',
      'Server not initialized',
      '","message":"Session not found"',
    ].flatMap((text) => [
      `The text "${text}" is too short.`,
      rpcError(`Invalid params: the text ${JSON.stringify(text)} is too short`),
      rpcError('Invalid params', { data: { message: text } }),
      rpcError(`${text}\nis too short`),
    ]),
  ])('is not what a 400 %j says: a call that was executed is not sent again', async (failure) => {
    const { calls, opened, connect } = await startServer(404, { failure });
    const [note] = await firstValueFrom(mcpTools(connect));
    await expect(callOf(note)).rejects.toMatchObject({ status: 400 });
    expect([calls.length, opened()]).toEqual([1, 1]);
  });

  it('is watched when it is opened again: its tools are listed, and again after a change', async () => {
    const { restart, addTool, connect } = await startServer(404);
    const lists = new ReplaySubject<readonly McpTool[]>(Infinity);
    const watching = mcpTools(connect).subscribe(lists);
    const [note] = await firstValueFrom(lists);
    restart();
    expect(await callOf(note)).toBe('noted');
    await firstValueFrom(lists.pipe(take(2), toArray()));
    await addTool('pay', 's2');
    const all = await firstValueFrom(lists.pipe(take(3), toArray()));
    expect(all.map((tools) => tools.map(({ name }) => name))).toEqual([['note'], ['note'], ['note', 'pay']]);
    watching.unsubscribe();
  });

  it('is closed, and each new one that is lost as well', async () => {
    const { restart, connect } = await startServer(404);
    const [note] = await firstValueFrom(mcpTools(connect));
    for (const open of ['-+', '--+', '---+']) {
      restart();
      expect(await callOf(note)).toBe('noted');
      expect(clients.map(({ transport }) => (transport ? '+' : '-')).join('')).toBe(open);
    }
  });

  it('is closed when its last call has ended', async () => {
    const release = new Subject<void>();
    const begun = new Subject<void>();
    const wait = (call: number) => {
      if (call > 1) return undefined;
      begun.next();
      return firstValueFrom(release);
    };
    const { restart, connect } = await startServer(404, { wait });
    const [note] = await firstValueFrom(mcpTools(connect));
    const isBegun = firstValueFrom(begun);
    const first = callOf(note);
    await isBegun;
    restart();
    expect(await callOf(note)).toBe('noted');
    expect(clients[0]?.transport).toBeDefined();
    release.next();
    expect(await first).toBe('noted');
    expect(clients.map(({ transport }) => transport !== undefined)).toEqual([false, true]);
  });

  it('is opened again for another subscription that has the same client', async () => {
    const { restart, opened, connect } = await startServer(404);
    let shared = connect();
    const subscriptions = [0, 1].map(async () => firstValueFrom(mcpTools(() => shared)));
    const [[note], [same]] = (await Promise.all(subscriptions)) as [McpTool[], McpTool[]];
    restart();
    shared = connect();
    expect([await callOf(note), await callOf(same), opened()]).toEqual(['noted', 'noted', 2]);
  });

  it.each([404, 400])('is opened again after %d for a call that asks, and its questions arrive', async (status) => {
    const { calls, opened, restart, connect } = await startServer(status, { asks: true });
    const agent = await agentWith(connect);
    for (const sessions of [1, 2, 3]) {
      expect(await resultsOf(agent)).toEqual(['noted', 'noted']);
      expect([calls.length, opened()]).toEqual([2 * sessions, sessions]);
      restart();
    }
  });

  it.each([404, 400])('fails the call whose answer it does not receive (%d), and the next is sent', async (status) => {
    const { calls, opened, restart, connect } = await startServer(status, { asks: true });
    const results = await resultsOf(await agentWith(connect), (id) => {
      if (id === 'c1') restart();
    });
    expect(results).toEqual([expect.stringContaining('did not receive the answer of a person'), 'noted']);
    expect([calls.length, opened()]).toEqual([1, 2]);
    expect(clients.map(({ transport }) => transport !== undefined)).toEqual([false, true]);
  });

  it('is an error for the model while the server is away, and is opened again later', async () => {
    const { calls, opened, restart, away, connect } = await startServer(404);
    const agent = await agentWith(connect);
    restart();
    away(true);
    const failed = await resultsOf(agent);
    expect(failed).toHaveLength(2);
    for (const error of failed) expect(error).toContain('Error POSTing');
    away(false);
    expect(await resultsOf(agent)).toEqual(['noted', 'noted']);
    expect([calls.length, opened()]).toEqual([2, 2]);
  });

  it('is not opened again for a client that is connected already', async () => {
    const { restart, opened, connect } = await startServer(404);
    const client = await connect();
    const [note] = await firstValueFrom(mcpTools(client));
    restart();
    await expect(callOf(note)).rejects.toMatchObject({ status: 404 });
    expect(opened()).toBe(1);
  });
});
