import { afterEach, describe, expect, it } from '@jest/globals';
import { lastValueFrom, Subject, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent.js';
import { agUiHandler } from '../../lib/bridges/agUi/index.js';
import { uiChatHandler } from '../../lib/bridges/aiSdkUi/index.js';
import { userMessage } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/agentHandler.js';
import { memoryStore } from '../../lib/service/memoryStore.js';
import type { OwnerData } from '../../lib/service/ownerData.js';
import type { RunStore } from '../../lib/service/runStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { shutDown } from '../support/services.js';
import { lateStore, mapStore } from '../support/stores.js';

type Handler = ((request: Request) => Promise<Response>) & OwnerData;

const handlers: Handler[] = [];
afterEach(() => handlers.splice(0).forEach(shutDown));

const users = {
  context: (request: Request) => request.headers.get('authorization') ?? '',
  owner: (user: string) => user,
};
const post = (handler: Handler, user: string, body: unknown, id: string = crypto.randomUUID()) =>
  handler(
    new Request('http://service.test', {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', 'x-run-id': id, authorization: user },
    }),
  );
const exported = (handler: OwnerData, owner: string) => lastValueFrom(handler.exportData(owner).pipe(toArray()));
const deleted = (handler: OwnerData, owner: string) =>
  lastValueFrom(handler.deleteData(owner), { defaultValue: undefined });

const stores: readonly (readonly [string, () => RunStore])[] = [
  ['in memory', () => memoryStore()],
  ['that answers late', () => lateStore()],
];

describe('the data of an owner', () => {
  it.each(stores)('is exported and deleted with a store %s, and that of others stays', async (_, createStore) => {
    const store = createStore();
    const handler = agentHandler(createAgent({ model: scriptedModel(() => 'Hello.') }), { ...users, store });
    handlers.push(handler);
    for (const user of ['ann', 'bob', 'ann']) await (await post(handler, user, { input: `I am ${user}.` })).text();
    const records = await exported(handler, 'ann');
    expect(records).toHaveLength(2);
    expect(JSON.stringify(records)).toContain('I am ann.');
    expect(JSON.stringify(records)).toContain('Hello.');
    expect(JSON.stringify(records)).not.toContain('bob');
    await deleted(handler, 'ann');
    expect(await exported(handler, 'ann')).toEqual([]);
    expect(await exported(handler, 'bob')).toHaveLength(1);
    await deleted(handler, 'nobody');
  });

  it('has all pages of a long list', async () => {
    const store = memoryStore();
    const handler = agentHandler(createAgent({ model: scriptedModel([]) }), { ...users, store });
    for (let n = 0; n < 110; n++) {
      const record = { id: `run ${n}`, owner: 'ann', state: 'ended', attempt: 1 } as const;
      await lastValueFrom(store.put({ ...record, input: [userMessage(`Prompt ${n}`)] }, 0));
    }
    const prompts = (await exported(handler, 'ann')).map((entry) => JSON.stringify(entry));
    expect(prompts).toHaveLength(110);
    expect(prompts[109]).toContain('Prompt 109');
    await deleted(handler, 'ann');
    expect(await exported(handler, 'ann')).toEqual([]);
  });

  it.each([true, false])('includes a run that goes on, which is stopped (here: %s)', async (isHere) => {
    const ended = new Subject<string>();
    let aborted = false;
    const work = tool({
      name: 'work',
      description: 'Works.',
      execute: (_, { signal }) => {
        signal.addEventListener('abort', () => (aborted = true));
        return ended;
      },
    });
    const store = mapStore();
    const create = () => {
      const model = scriptedModel([[toolCall('work')], 'Done.']);
      const handler = agentHandler(createAgent({ model, tools: [work] }), { ...users, store, checkpoints: true });
      handlers.push(handler);
      return handler;
    };
    const handler = create();
    const response = await post(handler, 'ann', { input: 'Work.' });
    await deleted(isHere ? handler : create(), 'ann');
    if (!isHere) ended.next('worked'); // its next write finds no record
    if (!isHere) ended.complete();
    await response.text();
    expect(aborted).toBe(isHere);
    expect(store.records.size).toBe(0);
  });

  it('is exported and deleted by the services of AG-UI and of useChat, too', async () => {
    const agent = createAgent({ model: scriptedModel(() => 'Hello.') });
    const agUi = agUiHandler(() => agent, users);
    const input = { threadId: 't', runId: 'r', state: {}, tools: [], context: [], forwardedProps: {} };
    await (await post(agUi, 'ann', { ...input, messages: [{ id: 'm', role: 'user', content: 'I am Ann.' }] })).text();
    const chat = uiChatHandler(agent, users);
    handlers.push(chat);
    const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'I am Ann.' }] };
    await (await post(chat, 'ann', { id: 'c', messages: [message], trigger: 'submit-message' })).text();
    for (const handler of [agUi, chat]) {
      await deleted(handler, 'ann');
      expect(await exported(handler, 'ann')).toEqual([]);
    }
  });
});
