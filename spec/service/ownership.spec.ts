import { describe, expect, it } from '@jest/globals';
import { NEVER, Subject } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { tool } from '../../lib/core/tool.js';
import { agUiHandler } from '../../lib/agUi.js';
import { uiChatHandler } from '../../lib/service/uiChat/index.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import { namedId } from '../../lib/service/http/requestError.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { lateStore, mapStore } from '../support/stores.js';
import { ignorePrintedErrors } from '../support/printedErrors.js';

ignorePrintedErrors();

const url = 'http://service.test/api/chat';
const newId = () => crypto.randomUUID();
type Handler = (request: Request) => Promise<Response>;

/** A tool that pays, after a decision. It counts. */
function payment() {
  const paid: string[] = [];
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    needsApproval: true,
    execute: (_, { context }) => (paid.push(String(context)), 'paid'),
  });
  // The run waits again after the first payment, so that another checkpoint takes the place of the first.
  const model = () => scriptedModel([[toolCall('pay', {}, 'c1')], [toolCall('pay', {}, 'c2')], 'Done.']);
  return { paid, pay, agent: () => createAgent({ model: model(), tools: [pay] }) };
}

const user = (request: Request) => request.headers.get('x-user') ?? 'ann';
const owned = { context: user, owner: (name: string) => name };
const asUser = (name: string) => ({ 'x-user': name });

/** How a protocol starts a run that waits, and approves its call. */
interface Protocol {
  readonly handler: (store: RunStore, agent: ReturnType<typeof payment>['agent']) => Handler;
  readonly begin: (handler: Handler) => Promise<(handler: Handler, name?: string) => Promise<Response>>;
}

const post = (handler: Handler, body: unknown, headers: Record<string, string> = {}) =>
  handler(
    new Request(url, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    }),
  );

const protocols: Readonly<Record<string, Protocol>> = {
  agentHandler: {
    handler: (store, agent) => agentHandler<string>(agent(), { store, ...owned }),
    begin: async (handler) => {
      const resume = newId();
      await (await post(handler, { input: 'Pay.' }, { 'x-run-id': resume })).text();
      return (other, name = 'ann') =>
        post(other, { resume, decisions: { c1: { approve: true } } }, { 'x-run-id': newId(), ...asUser(name) });
    },
  },
  agUiHandler: {
    handler: (store, agent) => agUiHandler<string>(() => agent(), { store, ...owned }),
    begin: async (handler) => {
      const body = { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Pay.' }] };
      await (await post(handler, body)).text();
      const resume = [{ interruptId: 'c1', status: 'resolved', payload: { approved: true } }];
      return (other, name = 'ann') => post(other, { ...body, resume }, asUser(name));
    },
  },
  uiChatHandler: {
    handler: (store, agent) => uiChatHandler<string>(agent(), { store, ...owned }),
    begin: async (handler) => {
      const ask = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Pay.' }] };
      const text = await (await post(handler, { id: 'chat', messages: [ask] })).text();
      const [, id = ''] = /"messageId":"(\w+)"/.exec(text) ?? [];
      const call = { type: 'tool-pay', toolCallId: 'c1', input: {} };
      const approval = { state: 'approval-responded', approval: { id: 'c1', approved: true } };
      const answer = { id, role: 'assistant', parts: [{ type: 'step-start' }, { ...call, ...approval }] };
      return (other, name = 'ann') => post(other, { id: 'chat', messages: [ask, answer] }, asUser(name));
    },
  },
};

describe.each(Object.entries(protocols))('%s: a decision', (name, { handler, begin }) => {
  it.each([
    ['a store in memory', () => memoryStore()],
    ['a store that answers late and in any order', () => lateStore()],
  ])(`${name} executes an approved call once if the decision is sent five times at once, with %s`, async (_, store) => {
    for (let round = 0; round < 2; round++) {
      const { paid, agent } = payment();
      const service = handler(store(), agent);
      const approve = await begin(service);
      await Promise.all(Array.from({ length: 5 }, async () => (await approve(service)).text()));
      expect(paid).toEqual(['ann']);
    }
  });

  it(`${name} executes an approved call once if two processes with one store receive the decision`, async () => {
    for (let round = 0; round < 2; round++) {
      const { paid, agent } = payment();
      const store = lateStore(memoryStore());
      const [first, second] = [handler(store, agent), handler(store, agent)];
      const approve = await begin(first);
      await Promise.all([first, second, first, second].map(async (service) => (await approve(service)).text()));
      expect(paid.length).toBeLessThanOrEqual(1);
    }
  });

  it(`${name} does not let another owner answer a run`, async () => {
    const { paid, agent } = payment();
    const service = handler(memoryStore(), agent);
    const approve = await begin(service);
    await (await approve(service, 'eve')).text();
    expect(paid).toEqual([]);
    await (await approve(service)).text();
    expect(paid).toEqual(['ann']);
  });
});

describe('owners', () => {
  it.each([
    ['agentHandler', () => agentHandler(createAgent({ model: scriptedModel([]) }), { context: () => 'ann' })],
    ['agUiHandler', () => agUiHandler(() => createAgent({ model: scriptedModel([]) }), { context: () => 'ann' })],
    ['uiChatHandler', () => uiChatHandler(createAgent({ model: scriptedModel([]) }), { context: () => 'ann' })],
  ])('%s with a context, but no owner, is a ConfigurationError', (_, create) => {
    expect(create).toThrow(expect.objectContaining({ code: 'configuration', subject: 'options' }));
  });

  it('agentHandler lets nobody but the owner join, stop or continue a run', async () => {
    const chunks = new Subject<Chunk>();
    const model = scriptedModel([chunks, 'Two.', 'Three.']);
    const handler = agentHandler<string>(createAgent({ model }), owned);
    const run = { 'x-run-id': newId() };
    const response = await post(handler, { input: 'My secret.' }, run);
    const stop = (name: string) =>
      handler(new Request(url, { method: 'DELETE', headers: { ...run, ...asUser(name) } }));
    expect((await stop('eve')).status).toBe(404);
    expect(await (await post(handler, {}, { ...run, ...asUser('eve') })).text()).toContain('run_not_found');
    expect((await stop('ann')).status).toBe(204);
    await response.text();
    expect(await (await post(handler, {}, { ...run, ...asUser('eve') })).text()).not.toContain('secret');
    const history = [{ id: run['x-run-id'], input: [] }];
    await (await post(handler, { input: 'Read it.', history }, { 'x-run-id': newId(), ...asUser('eve') })).text();
    expect(JSON.stringify(model.requests.at(-1))).not.toContain('secret');
    await (await post(handler, { input: 'Read it.', history }, { 'x-run-id': newId() })).text();
    expect(JSON.stringify(model.requests.at(-1))).toContain('secret');
  });

  it('uiChatHandler lets nobody but the owner join or stop the run of a chat', async () => {
    const handler = uiChatHandler<string>(createAgent({ model: scriptedModel(() => NEVER) }), {
      ...owned,
      grace: 1000,
    });
    const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }];
    await post(handler, { id: 'chat', messages });
    const send = (method: string, name: string) =>
      handler(new Request(`${url}/chat/stream`, { method, headers: asUser(name) }));
    expect((await send('GET', 'eve')).status).toBe(204);
    await send('DELETE', 'eve');
    const joined = await send('GET', 'ann');
    expect(joined.status).toBe(200);
    await send('DELETE', 'ann');
    expect(await joined.text()).toContain('"abort"');
  });
});

describe('the id of a record that a client has named', () => {
  it('is never that of another owner', () => {
    expect(namedId('chat', 'an', 'n')).not.toBe(namedId('chat', 'a', 'nn'));
    expect(namedId('chat', 'a:b', 'c')).not.toBe(namedId('chat', 'a', 'b:c'));
  });
});

describe('a run that another process executes', () => {
  it('agentHandler answers 503 with Retry-After, and never resumes it', async () => {
    const store = mapStore();
    const model = scriptedModel(() => NEVER);
    const options = { store, checkpoints: true };
    const [a, b] = [agentHandler(createAgent({ model }), options), agentHandler(createAgent({ model }), options)];
    const headers = { 'x-run-id': newId() };
    await post(a, { input: 'Go.' }, headers);
    for (const last of [{}, { 'last-event-id': '0' }]) {
      const response = await post(b, { input: 'Go.' }, { ...headers, ...last });
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
      expect(await response.text()).toContain('Another process executes this run. Ask again.');
    }
    expect((await b(new Request(url, { method: 'DELETE', headers }))).status).toBe(503);
    expect(model.requests).toHaveLength(1);
    a.shutdown('abandon').subscribe(); // it releases its runs
    await post(b, {}, headers);
    expect(model.requests).toHaveLength(2);
    b.shutdown('abandon').subscribe();
  });

  it('agentHandler joins and stops it over a log that the processes share', async () => {
    const log = { ...memoryLog(), isShared: true };
    const options = { store: lateStore(), log };
    const chunks = new Subject<Chunk>();
    const model = scriptedModel(() => chunks);
    const [a, b] = [agentHandler(createAgent({ model }), options), agentHandler(createAgent({ model }), options)];
    const headers = { 'x-run-id': newId() };
    const first = await post(a, { input: 'Go.' }, headers);
    chunks.next({ type: 'text', text: 'One.' });
    const second = await post(b, {}, headers);
    expect((await b(new Request(url, { method: 'DELETE', headers }))).status).toBe(204);
    const [text, joined] = [await first.text(), await second.text()];
    expect(joined).toBe(text);
    expect(joined).toContain('"finishReason":"stopped"');
    expect(model.requests).toHaveLength(1);
  });

  it('agentHandler renews what its record says, and takes a run over whose process is gone', async () => {
    const store = mapStore();
    const headers = { 'x-run-id': newId() };
    const executor = { id: 'gone', until: Date.now() - 1 };
    const record = { id: headers['x-run-id'], owner: '', state: 'running', updated: 0, attempt: 1, executor } as const;
    const input = [{ role: 'user', parts: [{ type: 'text', text: 'Go.' }] }] as const;
    store.records.set(record.id, { record: { ...record, input, history: [] }, version: 1 });
    const handler = agentHandler(createAgent({ model: scriptedModel(['Done.']) }), { store, checkpoints: true });
    expect(await (await post(handler, {}, headers)).text()).toContain('Done.');
    expect(store.records.get(record.id)?.record).toMatchObject({ state: 'ended', attempt: 2 });
  });
});
