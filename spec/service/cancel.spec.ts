import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, NEVER } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation } from '../../lib/chat/conversation.js';
import type { Conversation } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { AgentHandlerOptions } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { createServers } from '../support/services.js';
import { lateStore } from '../support/stores.js';

const servers = createServers();
afterEach(() => servers.close());

/** An agent whose tool never ends. `aborted` counts the calls that were aborted. */
function searching() {
  const counts = { aborted: 0 };
  const search = tool({
    name: 'search',
    description: 'Searches.',
    execute: (_, { signal }) => {
      signal.addEventListener('abort', () => (counts.aborted += 1));
      return NEVER;
    },
  });
  const model = scriptedModel([[toolCall('search', {}, 'c1')], 'Without it.', 'Two.']);
  return { agent: createAgent({ model, tools: [search] }), counts };
}

const callOf = (chat: Conversation) =>
  chat.view.exchanges
    .flatMap(({ messages }) => messages)
    .flatMap(({ parts }) => parts)
    .find((part) => part.type === 'toolCall');
const textOf = (chat: Conversation) => JSON.stringify(chat.view.exchanges.at(-1)?.messages.at(-1)?.parts);

/** Sends a prompt, waits until its call runs, cancels it, and waits for the end. */
async function cancelIn(chat: Conversation, cancel: (id: string) => unknown) {
  const views = chat.view$.subscribe();
  chat.send('Search.');
  await firstValueFrom(chat.view$.pipe(filter(() => callOf(chat)?.status === 'running')));
  await cancel('c1');
  await firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'idle')));
  expect(callOf(chat)).toMatchObject({ status: 'cancelled', code: 'cancelled' });
  expect(textOf(chat)).toContain('Without it.');
  views.unsubscribe();
}

const serve = (options: AgentHandlerOptions<string> = {}, agent = searching().agent) =>
  servers.serve(agentHandler<string>(agent, options));

describe('conversation.cancel', () => {
  it('conversation.cancel cancels one call of a local agent, and the run continues', async () => {
    const { agent, counts } = searching();
    const chat = conversation(agent);
    await cancelIn(chat, (id) => chat.cancel(id));
    expect(counts.aborted).toBe(1);
  });

  it('conversation.cancel cancels one call at a service over a socket, and the run continues', async () => {
    const { agent, counts } = searching();
    const chat = conversation(remoteAgent(await serve({}, agent)));
    await cancelIn(chat, (id) => chat.cancel(id));
    expect(counts.aborted).toBe(1);
  });

  it('conversation.cancel keeps a query of the URL of the service', async () => {
    const chat = conversation(remoteAgent(`${await serve()}?tenant=a`));
    await cancelIn(chat, (id) => chat.cancel(id));
  });

  it('conversation.cancel ignores the id of another call', async () => {
    const { agent, counts } = searching();
    const chat = conversation(agent);
    await cancelIn(chat, (id) => {
      chat.cancel('other');
      expect(counts.aborted).toBe(0);
      chat.cancel(id);
    });
  });

  it('conversation.cancel denies a call that waits', async () => {
    const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' });
    const model = scriptedModel([[toolCall('pay', {}, 'c1')], 'Without it.']);
    const chat = conversation(createAgent({ model, tools: [pay] }));
    const views = chat.view$.subscribe();
    chat.send('Pay.');
    await firstValueFrom(chat.view$.pipe(filter(({ waiting }) => waiting.length > 0)));
    chat.cancel('c1');
    await firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'idle')));
    expect(callOf(chat)).toMatchObject({ status: 'denied', code: 'denied' });
    views.unsubscribe();
  });
});

describe('DELETE ?call=ID', () => {
  /** Starts a run, and returns how to ask an instance to cancel its call. */
  async function started(at: string, user = 'ann') {
    const run = crypto.randomUUID();
    const headers = { 'x-run-id': run, 'x-user': user, 'content-type': 'application/json' };
    const response = await fetch(at, { method: 'POST', headers, body: JSON.stringify({ input: 'Search.' }) });
    const cancel = (from: string, name = user) =>
      fetch(`${from}?call=c1`, { method: 'DELETE', headers: { 'x-run-id': run, 'x-user': name } });
    return { response, cancel };
  }
  const owned = { context: (request: Request) => request.headers.get('x-user') ?? '', owner: (user: string) => user };

  it('agentHandler cancels a call of a run that another process executes', async () => {
    const shared = { store: lateStore(), log: { ...memoryLog(), isShared: true } };
    const { agent, counts } = searching();
    const [a, b] = [await serve(shared, agent), await serve(shared, agent)];
    const { response, cancel } = await started(a);
    expect((await cancel(b)).status).toBe(204);
    const events = await response.text();
    expect(events).toContain('"code":"cancelled"');
    expect(events).toContain('"finishReason":"stop"');
    expect(counts.aborted).toBe(1);
  });

  it('agentHandler lets nobody but the owner cancel a call', async () => {
    const { agent, counts } = searching();
    const at = await serve(owned, agent);
    const { response, cancel } = await started(at);
    expect((await cancel(at, 'eve')).status).toBe(404);
    expect(counts.aborted).toBe(0);
    expect((await cancel(at)).status).toBe(204);
    await response.text();
    expect(counts.aborted).toBe(1);
  });

  it('agentHandler answers 404 for a run that it does not know', async () => {
    const at = await serve();
    const headers = { 'x-run-id': crypto.randomUUID() };
    expect((await fetch(`${at}?call=c1`, { method: 'DELETE', headers })).status).toBe(404);
  });
});
