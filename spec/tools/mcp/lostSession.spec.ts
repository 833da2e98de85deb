import { afterEach, describe, expect, it } from '@jest/globals';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Client } from '@modelcontextprotocol/client';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { firstValueFrom, lastValueFrom, ReplaySubject, tap } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { CallAnswers } from '../../../lib/core/approval.js';
import type { ResultEvent, RunEvent } from '../../../lib/core/event.js';
import { mcpTools } from '../../../lib/tools/mcp/index.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { createServers } from '../../support/services.js';
import { named, newClient, newServer } from './servers.js';

const servers = createServers();
const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  servers.close();
});

/** A server that forgets its sessions when it is started again, and answers a call of one with a status. */
async function startServer(status: number, { asks = false } = {}) {
  const calls: string[] = [];
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  let opened = 0;
  let isAway = false;
  const open = async (request: Request) => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => `s${++opened}`,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    const server = newServer({
      list: () => ({ tools: [named('note')] }),
      call: async (_, { mcpReq }) => {
        // eslint-disable-next-line @typescript-eslint/no-deprecated -- servers use it
        if (asks) await mcpReq.elicitInput({ message: 'Really?', requestedSchema: { type: 'object', properties: {} } });
        calls.push(`call ${calls.length + 1}`);
        return { content: [{ type: 'text', text: 'noted' }] };
      },
    });
    await server.connect(transport);
    return transport.handleRequest(request);
  };
  const url = await servers.serve((request) => {
    if (isAway) return Promise.resolve(new Response(null, { status: 503 }));
    const id = request.headers.get('mcp-session-id');
    if (id === null) return open(request);
    const known = sessions.get(id);
    return known ? known.handleRequest(request) : Promise.resolve(new Response('Session not found', { status }));
  });
  return {
    calls,
    opened: () => opened,
    restart: () => sessions.clear(),
    away: (value: boolean) => (isAway = value),
    connect: async () => {
      const client = newClient(asks ? { capabilities: { elicitation: { form: {} } } } : {});
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      clients.push(client);
      return client;
    },
  };
}

const agentWith = async (connect: () => Promise<Client>) => {
  const tools = await firstValueFrom(mcpTools(connect));
  const model = scriptedModel(({ messages }) =>
    messages.length === 1 ? [toolCall('note', {}, 'c1'), toolCall('note', {}, 'c2')] : 'Done.',
  );
  return createAgent({ model, tools });
};
const resultsOf = async (agent: Awaited<ReturnType<typeof agentWith>>) => {
  const answers = new ReplaySubject<CallAnswers>(2);
  const answer = (event: RunEvent) => {
    if (event.type === 'nested' && event.event.type === 'toolWaiting')
      answers.next({ results: { [`${event.id}/${event.event.id}`]: {} } });
  };
  const result = await lastValueFrom(agent.stream('Note it, twice.', { answers }).pipe(tap(answer)));
  const { messages } = (result as ResultEvent).result;
  return messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'toolResult' ? [part.error ?? part.result] : [])),
  );
};

describe('mcpTools over HTTP: a session that the server has lost', () => {
  it.each([404, 400])('is opened again once after %d, and each call is executed once', async (status) => {
    const { calls, opened, restart, connect } = await startServer(status);
    const agent = await agentWith(connect);
    expect(await resultsOf(agent)).toEqual(['noted', 'noted']);
    restart();
    expect(await resultsOf(agent)).toEqual(['noted', 'noted']);
    expect([calls.length, opened()]).toEqual([4, 2]);
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
    const { signal } = new AbortController();
    await expect(lastValueFrom(note!.execute({}, { signal }))).rejects.toMatchObject({ status: 404 });
    expect(opened()).toBe(1);
  });
});
