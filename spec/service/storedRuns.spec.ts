import { afterEach, describe, expect, it } from '@jest/globals';
import { concat, EMPTY, Subject } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import type { ServiceChats } from '../../lib/service/chats/chatStore.js';
import { userMessage } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { AgentHandlerOptions } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import type { RunRecord, RunStore } from '../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Script, ScriptedRequest } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';
import { protocolNames, protocols, shutDown } from '../support/services.js';
import { mapStore } from '../support/stores.js';

type Handler = (request: Request) => Promise<Response>;
const newId = () => crypto.randomUUID();
const handlers: object[] = [];
afterEach(() => handlers.splice(0).forEach(shutDown));

const url = 'http://service.test/';
const send = (handler: Handler, method: string, id: string, body?: unknown, headers: Record<string, string> = {}) =>
  handler(
    new Request(url, {
      method,
      headers: { 'x-run-id': id, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
const textOf = async (response: Promise<Response>) => (await response).text();

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  parameters: z.object({}),
  needsApproval: true,
  execute: () => 1,
});
const work = tool({ name: 'work', description: 'Works.', execute: () => 'worked' });
function serve(script: Script<ScriptedRequest>, options: AgentHandlerOptions<never> = {}) {
  const model = scriptedModel(script);
  const handler = agentHandler<never>(createAgent({ model, tools: [ask, work] }), options);
  handlers.push(handler);
  return { handler, model };
}
/** A store with one record. */
const storeOf = (record: Partial<RunRecord> & { readonly id: string }) =>
  mapStore(
    new Map([
      [
        record.id,
        { record: { owner: '', state: 'running', updated: 0, attempt: 1, input: [], ...record }, version: 1 },
      ],
    ]),
  );

describe('agentHandler: the records of runs', () => {
  it('a run keeps the ids of the earlier runs that the store has, and the prompts of the others', async () => {
    const records: RunRecord[] = [];
    const { handler } = serve(['One', 'Two'], { store: mapStore(new Map(), (record) => records.push(record)) });
    const [known, unknown, lost, id] = [newId(), newId(), newId(), newId()];
    await textOf(send(handler, 'POST', known, { input: 'a' }));
    const input = [userMessage('b')];
    const history = [
      { id: known, input },
      { id: unknown, input },
      { id: lost, input, hasBegun: true },
    ];
    const text = await textOf(send(handler, 'POST', id, { input: 'c', history }));
    expect(records.find((record) => record.id === id)?.history).toEqual([
      { id: known, input: [] },
      { id: unknown, input, hasBegun: false },
      { id: lost, input, hasBegun: true },
    ]);
    expect(text).toContain(JSON.stringify({ type: 'historyLost', runs: [lost] }).slice(0, -1));
  });

  it('a page that has events of a run that nobody knows does not start another one', async () => {
    const { handler, model } = serve(['One']);
    const text = await textOf(send(handler, 'POST', newId(), { input: 'a' }, { 'last-event-id': '1.2' }));
    expect(text).toContain('run_not_found');
    expect(model.requests).toEqual([]);
  });

  it.each([
    ['without checkpoints', { history: [] }, {}],
    ['whose record has neither a checkpoint nor a history', {}, { checkpoints: true }],
  ])('a run %s is lost when its process ends', async (_, fields, options) => {
    const id = newId();
    const { handler, model } = serve(['One'], { store: storeOf({ id, ...fields }), ...options });
    expect(await textOf(send(handler, 'POST', id, {}))).toContain('run_not_found');
    expect(model.requests).toEqual([]);
  });

  it('a run whose events a shared log has removed is sent from its record, from the start only', async () => {
    const id = newId();
    const store = storeOf({ id, state: 'ended', result: undefined, failure: { messages: [], error: { code: 'own' } } });
    const { handler } = serve([], { store, log: { ...memoryLog(), isShared: true } });
    expect(await textOf(send(handler, 'POST', id, {}))).toContain('"own"');
    expect(await textOf(send(handler, 'POST', id, {}, { 'last-event-id': '1.2' }))).toContain('run_not_found');
  });

  it('a run that resumed another one continues from a later checkpoint, with what it has shown', async () => {
    const records: RunRecord[] = [];
    const store = mapStore(new Map(), (record) => records.push(record));
    const script = [[toolCall('ask', {}, 'q')], [toolCall('work', {}, 'w')], 'Done.'];
    const [first, id] = [newId(), newId()];
    const { handler } = serve(script, { store, checkpoints: true });
    await textOf(send(handler, 'POST', first, { input: 'a' }));
    const text = await textOf(send(handler, 'POST', id, { resume: first, decisions: { q: { approve: true } } }));
    const interrupted = records.find(({ resumes, checkpoint }) => resumes === first && checkpoint?.state.turn === 2);
    expect(interrupted?.answers).toBeUndefined();
    const after = storeOf({ ...interrupted, id, executor: undefined });
    const again = serve([...script.slice(2)], { store: after, checkpoints: true });
    const resumed = await textOf(send(again.handler, 'POST', id, {}));
    for (const each of [text, resumed]) expect(each.match(/"type":"toolResult"/g)?.length).toBeGreaterThan(1);
    expect(resumed).toContain('Done.');
  });

  it.each(protocolNames)('without checkpoints, %s writes nothing before a call', async (name) => {
    const protocol = protocols[name];
    const records: RunRecord[] = [];
    const once = tool({ name: 'once', description: 'Pays.', atMostOnce: true, execute: () => 1 });
    const agent = createAgent({ model: scriptedModel([[toolCall('once')], 'Done.']), tools: [once] });
    const store = mapStore(new Map(), (record) => records.push(record));
    const handler = protocol.handler(agent, { store, tools: [once] });
    handlers.push(handler);
    const body = JSON.stringify(protocol.body('a'));
    const text = await textOf(handler(new Request(url, { method: 'POST', headers: protocol.headers(), body })));
    expect(text).toContain('Done.');
    expect(records.map(({ begun }) => begun).filter(Boolean)).toEqual([]);
  });
});

describe('agentHandler: messages to runs', () => {
  it('a run that has ended in another process cannot be stopped, and a body of the request is ignored', async () => {
    const id = newId();
    const { handler } = serve([], { store: storeOf({ id, state: 'ended' }) });
    const response = await send(handler, 'DELETE', id, 'stop');
    expect([response.status, await response.text()]).toEqual([404, '']);
  });

  it.each([
    ['a stop of another user', 'DELETE', 'bob', undefined],
    ['a prompt', 'PATCH', 'ann', { input: 'b' }],
  ])('%s does not stop a run whose record is being written', async (_, method, user, body) => {
    const written = new Subject<never>();
    const records = mapStore();
    const put: RunStore['put'] = (record, version) =>
      concat(version === 0 ? written : EMPTY, records.put(record, version));
    const agent = createAgent({ model: scriptedModel(['One']) });
    const handler = agentHandler<string>(agent, {
      context: (request: Request) => request.headers.get('authorization') ?? '',
      owner: (owner) => owner,
      store: { ...records, put },
    });
    handlers.push(handler);
    const id = newId();
    const response = send(handler, 'POST', id, { input: 'a' }, { authorization: 'ann' });
    while (!written.observed) await new Promise((resolve) => setImmediate(resolve));
    expect((await send(handler, method, id, body, { authorization: user })).status).toBe(404);
    written.complete();
    expect(await textOf(response)).toContain('"finishReason":"stop"');
  });

  it('a service that ends still sends the runs that have ended', async () => {
    const { handler } = serve(['One']);
    const id = newId();
    await textOf(send(handler, 'POST', id, { input: 'a' }));
    observe(handler.shutdown('stop'));
    expect(await textOf(send(handler, 'POST', id, {}))).toContain('One');
  });

  it.each(['maxBodyBytes', 'maxHistoryBytes'])('a negative `%s` is reported with its name', (name) => {
    expect(() => serve([], { limits: { [name]: -1 } })).toThrow(name);
  });
});

describe('agentHandler: requests for chats', () => {
  const serveChats = (answer: ServiceChats<never>['answer']) => serve([], { chats: { store: memoryStore(), answer } });
  const request = (chat: string) => new Request(`${url}?chat=${chat}`, { method: 'DELETE' });

  it('are answered by the chats, one after the other for each chat', async () => {
    const asked: (string | null)[] = [];
    const answers = new Subject<Response>();
    const { handler } = serveChats((asking) => {
      asked.push(new URL(asking.url).searchParams.get('chat'));
      return answers;
    });
    const responses = ['a', 'b', 'a'].map((chat) => handler(request(chat)));
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toEqual(['a', 'b']);
    answers.next(new Response('kept'));
    answers.complete();
    expect((await Promise.all(responses.slice(0, 2))).map(({ status }) => status)).toEqual([200, 200]);
    await responses[2];
    expect(asked).toEqual(['a', 'b', 'a']);
  });

  it('are answered with 500 if the chats emit nothing', async () => {
    expect((await serveChats(() => EMPTY).handler(request('a'))).status).toBe(500);
  });
});
