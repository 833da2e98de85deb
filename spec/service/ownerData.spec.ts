import { afterEach, describe, expect, it } from '@jest/globals';
import { EMPTY, lastValueFrom, of, Subject, toArray, type Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { createAgent, type Agent } from '../../lib/agent/createAgent.js';
import { agUiHandler } from '../../lib/agUi.js';
import { uiChatHandler } from '../../lib/service/uiChat/index.js';
import type { ChatRecord, ChatStore } from '../../lib/service/chats/chatStore.js';
import { userMessage } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import { createOwnerData } from '../../lib/service/ownerData.js';
import type { OwnerData } from '../../lib/service/ownerData.js';
import type { RunRecord, RunStore } from '../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';
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
      const record = { id: `run ${n}`, owner: 'ann', state: 'ended', updated: n, attempt: 1 } as const;
      await lastValueFrom(store.put({ ...record, input: [userMessage(`Prompt ${n}`)] }, 0));
    }
    const prompts = (await exported(handler, 'ann')).map((entry) => JSON.stringify(entry));
    expect(prompts).toHaveLength(110);
    expect([prompts[0], prompts[109]]).toEqual([
      expect.stringContaining('Prompt 109"'),
      expect.stringContaining('Prompt 0"'),
    ]);
    await deleted(handler, 'ann');
    expect(await exported(handler, 'ann')).toEqual([]);
  });

  it.each<[string, (agent: Agent, options: typeof users) => Handler, (text: string) => object]>([
    ['agentHandler', (agent, options) => agentHandler(agent, options), (input) => ({ input })],
    [
      'agUiHandler',
      (agent, options) => agUiHandler(() => agent, options),
      (content) => ({ threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content }] }),
    ],
    [
      'uiChatHandler',
      (agent, options) => uiChatHandler(agent, options),
      (text) => ({ id: 'c', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text }] }] }),
    ],
  ])('has nothing of a request that arrives while it is deleted: %s', async (_, create, bodyOf) => {
    const asked: unknown[] = [];
    const model = scriptedModel((request) => {
      asked.push(request);
      return 'Hello.';
    });
    const handler = create(createAgent({ model }), users);
    handlers.push(handler);
    const text = JSON.stringify(bodyOf('Private.'));
    const { readable: body, writable } = new TextEncoderStream();
    const bytes = writable.getWriter();
    const headers = { 'content-type': 'application/json', 'x-run-id': crypto.randomUUID(), authorization: 'ann' };
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
    const answer = handler(new Request('http://service.test', init));
    void bytes.write(text.slice(0, 10));
    await new Promise(setImmediate);
    await deleted(handler, 'ann');
    void bytes.write(text.slice(10));
    void bytes.close();
    expect((await answer).status).toBe(409);
    expect([asked, await exported(handler, 'ann')]).toEqual([[], []]);
    expect((await post(handler, 'ann', bodyOf('Later.'))).status).toBe(200);
  });

  it('is read and deleted page by page, and others are served between two pages', () => {
    const seen: unknown[] = [];
    const records = 250;
    new TestScheduler(() => undefined).run(({ cold, flush }) => {
      const store = memoryStore();
      for (let n = 0; n < records; n++)
        observe(store.put({ id: `run-${n}`, owner: 'ann', state: 'ended', updated: n, attempt: 1, input: [] }, 0));
      const { exportData, deleteData } = createOwnerData(store, undefined, () => EMPTY);
      const all = observe(exportData('ann'));
      cold('1s (a|)').subscribe(() => {
        seen.push(all.values.length);
        observe(deleteData('ann'));
        seen.push(observe(exportData('ann')).values.length);
      });
      cold('2s (a|)').subscribe(() => seen.push(observe(exportData('ann')).values.length));
      seen.push(all.values.length);
      flush();
    });
    expect(seen).toEqual([100, records, 100, 0]);
  });

  it('has a run that moves to the first page while the last one is read, and each run once', async () => {
    const store = mapStore();
    for (const id of ['a', 'b', 'c'])
      observe(store.put({ id, owner: 'ann', state: 'ended', updated: 0, attempt: 1, input: [] }, 0));
    const pages = [['c'], ['b'], ['a', 'c'], ['b'], ['a', 'c'], ['b']];
    let asked = 0;
    const list: RunStore['list'] = () => {
      const records = (pages[asked++] ?? []).flatMap((id) => store.records.get(id) ?? []);
      return of({
        records: records.map(({ record, version }) => ({ ...record, version })),
        next: asked % 2 ? 'n' : undefined,
      });
    };
    const ownerData = createOwnerData({ ...store, list }, undefined, () => EMPTY);
    const exports = ownerData.exportData('ann');
    for (let times = 0; times < 2; times++) {
      asked = 0;
      const records = await lastValueFrom(exports.pipe(toArray()));
      expect(records.map(({ record }) => record.id)).toEqual(['c', 'b', 'a']);
      expect(asked).toBe(pages.length);
    }
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

describe('the data of an owner: chats', () => {
  const chat = (id: string, owner: string) => ({ id, owner, title: id, updated: 1, saved: {} });
  const createChats = () => {
    const chats = memoryStore<ChatRecord>();
    for (const record of [chat('a', 'ann'), chat('b', 'bob'), chat('c', 'ann')]) observe(chats.put(record, 0));
    return chats;
  };
  const never = () => EMPTY;

  it('are exported after the runs, and deleted; those of others stay', () => {
    const [store, chats] = [mapStore(), createChats()];
    observe(store.put({ id: 'r', owner: 'ann', state: 'ended', updated: 0, attempt: 1, input: [] }, 0));
    const ownerData = createOwnerData(store, chats, never);
    const entries = observe(ownerData.exportData('ann')).values.map(({ type, record }) => `${type} ${record.id}`);
    expect([entries[0], ...entries.slice(1).sort()]).toEqual(['run r', 'chat a', 'chat c']);
    expect(observe(ownerData.deleteData('ann'))).toMatchObject({ values: [], error: undefined, completed: true });
    expect(observe(ownerData.exportData('ann')).values).toEqual([]);
    expect(observe(ownerData.exportData('bob')).values).toEqual([{ type: 'chat', record: chat('b', 'bob') }]);
  });

  it('that are deleted while they are read are omitted', () => {
    const chats = createChats();
    const get: ChatStore['get'] = (id) => (id === 'a' ? of(undefined) : chats.get(id));
    const ownerData = createOwnerData(mapStore(), { ...chats, get }, never);
    expect(observe(ownerData.exportData('ann')).values).toEqual([{ type: 'chat', record: chat('c', 'ann') }]);
  });

  it('that return again and again are reported', () => {
    let rounds = 0;
    const list: ChatStore['list'] = () => of({ records: [{ ...chat('a', 'ann'), version: ++rounds }] });
    const ownerData = createOwnerData(mapStore(), { ...createChats(), list, delete: () => of(true) }, never);
    expect(String(observe(ownerData.deleteData('ann')).error)).toContain('new data after 10 rounds');
    expect(rounds).toBe(11);
  });
});

describe('deleteRun', () => {
  const settled = (work: Observable<never>) => lastValueFrom(work, { defaultValue: undefined });
  const run = (id: string, resumes?: string, resumedBy?: string): RunRecord => ({
    ...{ id, owner: 'ann', state: 'ended', updated: 0, attempt: 1, input: [] },
    ...{ resumes, resumedBy },
  });
  /** A store that another process writes to before each of the first deletions. */
  const createDeletion = (writes = 0) => {
    const store = mapStore();
    for (const each of [run('a', undefined, 'b'), run('b', 'a', 'c'), run('c', 'b'), run('d')])
      observe(store.put(each, 0));
    const removed: string[] = [];
    const stopped: string[] = [];
    let deletions = 0;
    const counted: RunStore = {
      ...store,
      delete: (id, version) => {
        if (deletions++ < writes) return of(false);
        removed.push(id);
        return store.delete(id, version);
      },
    };
    const { deleteRun } = createOwnerData(counted, undefined, (_, id = '') => {
      stopped.push(id);
      return of(true);
    });
    return {
      deleteRun: (id: string, owner: string) => settled(deleteRun(id, owner)),
      put: (record: RunRecord, version: number) => observe(store.put(record, version)),
      removed,
      stopped,
      left: () => [...store.records.keys()],
      deletions: () => deletions,
    };
  };

  it.each([
    ['first', 'a', 'cba'],
    ['middle', 'b', 'acb'],
    ['last', 'c', 'abc'],
  ])('stops a chain, and deletes it so that its %s run, which is known, goes last', async (_, id, order) => {
    const { deleteRun, removed, stopped, left } = createDeletion();
    await deleteRun(id, 'ann');
    expect([removed.join(''), new Set(stopped), left()]).toStrictEqual([order, new Set([id, 'c']), ['d']]);
  });

  it.each([
    ['first', 'a', 'cba'],
    ['middle', 'b', 'acb'],
    ['last', 'c', 'abc'],
  ])(
    'deletes, by the %s run of a chain, those that began to resume its last one before their process ended',
    async (_, id, order) => {
      const { deleteRun, put, removed, stopped, left } = createDeletion();
      put({ ...run('c', 'b'), state: 'waiting' }, 1);
      const lost = [run('e', 'c'), run('f', 'c'), run('g', 'd'), { ...run('h', 'c'), owner: 'bob' }];
      for (const each of lost) put({ ...each, state: 'running' }, 0);
      await deleteRun(id, 'ann');
      expect(left()).toEqual(['d', 'g', 'h']);
      expect(removed.filter((each) => !['e', 'f'].includes(each)).join('')).toBe(order);
      expect(removed.indexOf('c')).toBeGreaterThan(Math.max(removed.indexOf('e'), removed.indexOf('f')));
      expect(stopped).toEqual(expect.arrayContaining(['c', 'e', 'f']));
    },
  );

  it.each([
    ['of another owner', 'c', 'bob'],
    ['that is unknown', 'x', 'ann'],
  ])('leaves a run %s', async (_, id, owner) => {
    const { deleteRun, stopped, left } = createDeletion();
    await deleteRun(id, owner);
    // One without a record may be about to begin. That of another owner is not stopped: `tell` knows the owner.
    expect([stopped, left()]).toEqual([[id], ['a', 'b', 'c', 'd']]);
  });

  it('deletes a run that is written in the meantime, at most 11 times', async () => {
    const { deleteRun, left } = createDeletion(10);
    await deleteRun('d', 'ann');
    expect(left()).toEqual(['a', 'b', 'c']);
    const busy = createDeletion(11);
    await expect(busy.deleteRun('d', 'ann')).rejects.toThrow('The run d was written again and again.');
    expect([busy.left().length, busy.deletions()]).toEqual([4, 11]);
  });
});

it('a run of another process is stopped when the data of its owner is deleted', () => {
  const [store, log] = [mapStore(), { ...memoryLog(), isShared: true }];
  const executor = { id: 'other', until: Infinity };
  store.records.set('r', {
    record: { id: 'r', owner: '', state: 'running', updated: 0, attempt: 1, input: [], executor },
    version: 1,
  });
  observe(log.append('r', 1, []));
  const messages = observe(log.messages('r'));
  const handler = agentHandler(createAgent({ model: scriptedModel([]) }), { store, log });
  expect(observe(handler.deleteData('')).completed).toBe(true);
  expect(messages.values.map(({ message }) => message)).toEqual([{ type: 'stop' }]);
  expect(store.records.size).toBe(0);
});
