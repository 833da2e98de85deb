import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { agUiHandler } from '../../lib/agUi.js';
import { conversation } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { nodeListener } from '../../lib/service/http/nodeListener.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { createServers, protocols } from '../support/services.js';
import { mapStore } from '../support/stores.js';
import { ignorePrintedErrors } from '../support/printedErrors.js';

ignorePrintedErrors();

const { listen, serve, close } = createServers();
afterEach(close);

const send = (url: string, body: unknown, headers: Readonly<Record<string, string>>) =>
  fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });

describe('a client that changes the arguments of a call', () => {
  const paid: unknown[] = [];
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    needsApproval: true,
    execute: (args) => (paid.push(args), 'paid'),
  });
  const agent = () =>
    createAgent({ model: scriptedModel([[toolCall('pay', { amount: 5 }, 'c1')], 'Done.']), tools: [pay] });
  afterEach(() => void paid.splice(0));

  it.each([
    [undefined, 200, [{ amount: 900 }]],
    [false, 400, []],
  ])('agentHandler with allowEdits %s answers %i', async (allowEdits, status, expected) => {
    const { headers } = protocols.agentHandler;
    const url = await serve(agentHandler(agent(), { browser: { allowEdits } }));
    const resume = crypto.randomUUID();
    await (await send(url, { input: 'Pay.' }, { ...headers(), 'x-run-id': resume })).text();
    const decide = (decision: object) => send(url, { resume, decisions: { c1: decision } }, headers());
    const edited = await decide({ approve: true, arguments: { amount: 900 } });
    const text = await edited.text();
    expect([edited.status, paid]).toEqual([status, expected]);
    expect(text.includes('Approve or deny the call as it is')).toBe(status === 400);
    if (status === 400) await (await decide({ approve: true })).text();
    expect(paid).toHaveLength(1);
  });

  it('agentHandler with allowEdits false refuses all decisions if one changes its call', async () => {
    const { headers } = protocols.agentHandler;
    const url = await serve(agentHandler(agent(), { browser: { allowEdits: false } }));
    const resume = crypto.randomUUID();
    await (await send(url, { input: 'Pay.' }, { ...headers(), 'x-run-id': resume })).text();
    const decisions = { c1: { approve: true, arguments: { amount: 900 } }, c2: { approve: true } };
    expect((await send(url, { resume, decisions }, headers())).status).toBe(400);
    expect(paid).toEqual([]);
  });

  it.each([
    [undefined, 200, [{ amount: 900 }]],
    [false, 400, []],
  ])('agUiHandler with allowEdits %s answers %i', async (allowEdits, status, expected) => {
    const { headers } = protocols.agUiHandler;
    const url = await serve(agUiHandler(agent, { browser: { allowEdits } }));
    const request = { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Pay.' }] };
    const first = await (await send(url, request, headers())).text();
    expect(first.includes('editedArgs')).toBe(allowEdits !== false);
    const payload = { approved: true, editedArgs: { amount: 900 } };
    const resume = [{ interruptId: 'c1', status: 'resolved', payload }];
    const edited = await send(url, { ...request, resume }, headers());
    await edited.text();
    expect([edited.status, paid]).toEqual([status, expected]);
  });

  it('agUiHandler keeps the waiting approval if a tool of the client has the name of the tool', async () => {
    const { headers } = protocols.agUiHandler;
    const store = mapStore();
    const shared = agent();
    const url = await serve(agUiHandler(() => shared, { store }));
    const request = { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Pay.' }] };
    await (await send(url, request, headers())).text();
    const tools = [{ name: 'pay', description: 'Mine.', parameters: {} }];
    const answer = { id: 'a', role: 'tool', toolCallId: 'c1', content: 'paid' };
    for (const messages of [request.messages, [...request.messages, answer]])
      expect(await (await send(url, { ...request, messages, tools }, headers())).text()).toContain('must answer all');
    expect(paid).toEqual([]);
    const resume = [{ interruptId: 'c1', status: 'resolved', payload: true }];
    expect(await (await send(url, { ...request, resume }, headers())).text()).toContain('Done.');
    expect(paid).toHaveLength(1);
  });
});

describe('a connection that breaks between the headers and the first event', () => {
  it('is opened again by remoteAgent, and the run starts once', async () => {
    const model = scriptedModel(['Hello.']);
    const listener = nodeListener(agentHandler(createAgent({ model })));
    let requests = 0;
    const url = await listen((request, response) => {
      if (++requests > 1) {
        listener(request, response);
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      response.write(': \n', () => response.destroy());
    });
    const chat = conversation(remoteAgent(url, { retryDelay: 1 }));
    const ended = firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'failed' || requests === 2)));
    const shown = firstValueFrom(
      chat.view$.pipe(filter(({ status, exchanges }) => exchanges.length > 0 && ['idle', 'failed'].includes(status))),
    );
    chat.send('Hi');
    await ended;
    expect(JSON.stringify(await shown)).toContain('Hello.');
    expect([requests, model.requests.length]).toEqual([2, 1]);
  });
});
