import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { concatMap, defer, lastValueFrom, NEVER, of, toArray, Subject } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { memoryStore } from '../../../lib/service/stores/memory/memoryStore.js';
import type { ChatRecord, ChatStore } from '../../../lib/service/chats/chatStore.js';
import { agentHandler } from '../../../lib/service/http/agentHandler.js';
import type { AgentHandler } from '../../../lib/service/service.js';
import { scriptedModel } from '../../../lib/testing/index.js';
import { createChatService, lateChats } from '../../support/chats.js';
import type { ChatServiceOptions } from '../../support/chats.js';
import { observe } from '../../support/observe.js';
import { shutDown } from '../../support/services.js';

const stores: readonly (readonly [string, () => ChatStore])[] = [
  ['in memory', () => memoryStore<ChatRecord>()],
  ['that answers late', () => lateChats()],
];

const handlers: AgentHandler[] = [];
afterEach(() => handlers.splice(0).forEach(shutDown));

function service(options: ChatServiceOptions = {}) {
  const { handler, store } = createChatService(options);
  handlers.push(handler);
  const send = async (user: string, method: string, query: string, body?: unknown, headers = {}) => {
    const content = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
    const response = await handler(
      new Request(`http://service.test/api/chat${query}`, {
        method,
        headers: { authorization: user, ...headers },
        ...content,
      }),
    );
    const text = await response.text();
    const value: unknown = text.startsWith('{') ? JSON.parse(text) : text;
    return { status: response.status, value };
  };
  return { handler, send, store };
}

const newId = () => crypto.randomUUID();
const savedWith = (prompt: string, run: string = newId()) => {
  const message = { role: 'user', parts: [{ type: 'text', text: prompt }] };
  const view = { status: 'idle', messages: [], usage: {} };
  return { version: 1, exchanges: [{ id: run, run, input: [message], messages: [], view }] };
};

const named = (...runs: readonly string[]) => ({ exchanges: runs.map((run) => ({ run })) });

describe('keepChats', () => {
  it.each(stores)('writes, lists, opens, renames and deletes chats, with a store %s', async (_, create) => {
    const { send } = service({ chats: create() });
    const [id, other] = [newId(), newId()];
    const saved = savedWith('  How warm is it in Oslo?\nAnd in Rome?');
    expect(await send('ann', 'PUT', `?chat=${id}`, { version: 0, saved })).toMatchObject({
      status: 200,
      value: { id, title: 'How warm is it in Oslo?', version: 1 },
    });
    const long = savedWith('x'.repeat(90));
    expect(await send('ann', 'PUT', `?chat=${other}`, { version: 0, saved: long })).toMatchObject({
      value: { title: `${'x'.repeat(79)}…` },
    });
    const changed = savedWith('Other');
    expect(await send('ann', 'PUT', `?chat=${id}`, { version: 1, saved: changed })).toMatchObject({
      value: { version: 2 },
    });
    const list = await send('ann', 'GET', '');
    expect((list.value as { chats: readonly object[] }).chats).toHaveLength(2);
    expect(JSON.stringify(list.value)).not.toContain('exchanges');
    expect(await send('ann', 'PATCH', `?chat=${id}`, { title: ' Weather\u0007 ' })).toMatchObject({
      value: { title: 'Weather', version: 3 },
    });
    expect(await send('ann', 'GET', `?chat=${id}`)).toMatchObject({
      status: 200,
      value: { id, title: 'Weather', version: 3, saved: changed },
    });
    expect((await send('ann', 'DELETE', `?chat=${id}`)).status).toBe(204);
    expect((await send('ann', 'DELETE', `?chat=${id}`)).status).toBe(404);
    expect((await send('ann', 'GET', `?chat=${id}`)).status).toBe(404);
    expect((await send('ann', 'PUT', `?chat=${id}`, { version: 3, saved })).status).toBe(404);
    expect((await send('ann', 'GET', '')).value).toMatchObject({ chats: [{ id: other }] });
  });

  it.each(stores)('answers an old version with the newest one, with a store %s', async (_, create) => {
    const { send } = service({ chats: create() });
    const id = newId();
    const writes = await Promise.all(
      [1, 2, 3, 4].map((n) => send('ann', 'PUT', `?chat=${id}`, { version: 0, saved: savedWith(`Prompt ${n}`) })),
    );
    expect(writes.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    const { value } = await send('ann', 'GET', `?chat=${id}`);
    for (const write of writes.filter(({ status }) => status === 409)) expect(write.value).toEqual(value);
    expect((await send('ann', 'PUT', `?chat=${id}`, { version: 7, saved: savedWith('x') })).status).toBe(409);
    // A page that merges is told the newest version first, also if it names more runs than a chat may have had.
    const runs = Array.from({ length: 10_001 }, (_, n) => `b${n.toString(16).padStart(31, '0')}`);
    const put = (version: number) => send('ann', 'PUT', `?chat=${id}`, { version, saved: savedWith('x'), runs });
    expect(await put(7)).toMatchObject({ status: 409, value });
    expect((await put(1)).status).toBe(413);
  });

  it('answers nobody but the owner of a chat', async () => {
    const { send } = service();
    const id = newId();
    await send('ann', 'PUT', `?chat=${id}`, { version: 0, saved: savedWith('Of Ann') });
    expect((await send('eve', 'GET', '')).value).toEqual({ chats: [] });
    for (const [method, body] of [
      ['GET'],
      ['PUT', { version: 1, saved: savedWith('Of Eve') }],
      ['PUT', { version: 0, saved: savedWith('Of Eve') }],
      ['PATCH', { title: 'Of Eve' }],
      ['DELETE'],
    ] as const)
      expect((await send('eve', method, `?chat=${id}`, body)).status).toBe(404);
    expect((await send('ann', 'GET', `?chat=${id}`)).value).toMatchObject({ title: 'Of Ann', version: 1 });
  });

  it('deletes the runs of a chat, and no run of another owner', async () => {
    const { send, store } = service();
    const ask = async (user: string, prompt: string) => {
      const run = newId();
      await send(user, 'POST', '', { input: prompt }, { 'x-run-id': run });
      return run;
    };
    const [kept, own, ofBob] = [await ask('ann', 'Another chat'), await ask('ann', 'Mine'), await ask('bob', 'His')];
    const resumed = newId();
    const ended = store.records.get(own);
    if (ended) store.records.set(resumed, { ...ended, record: { ...ended.record, id: resumed, resumes: own } });
    const id = newId();
    const { version, exchanges } = savedWith('Mine', resumed);
    const forged = [...exchanges, ...savedWith('His', ofBob).exchanges, 7, { run: '../x' }];
    await send('ann', 'PUT', `?chat=${id}`, { version: 0, saved: { version, exchanges: forged } });
    expect((await send('ann', 'DELETE', `?chat=${id}`)).status).toBe(204);
    expect([...store.records.keys()].sort()).toEqual([kept, ofBob].sort());
  });

  it.each<[string, (runs: readonly string[]) => readonly object[]]>([
    ['the page has removed their exchanges', ([a = '', b = '']) => [{ saved: named(a, b) }, { saved: named(b) }]],
    [
      'their exchanges were removed one after the other',
      ([a = '', b = '', c = '']) => [{ saved: named(a, b) }, { saved: named(b, c) }, { saved: named(c) }],
    ],
    [
      'a run was lost, and one not stopped',
      ([a = '', b = '', c = '']) => [
        { saved: { exchanges: [{ run: a, lost: { run: b }, stopping: c }] } },
        { saved: named('other') },
      ],
    ],
    [
      'no version with their exchange had room',
      ([a = '', b = '']) => [{ saved: named(b), runs: [a, null, '../x'] }, { saved: named(b) }],
    ],
  ])('deletes all runs that a chat has had: %s', async (_, versions) => {
    const { send, store } = service();
    const runs = [newId(), newId(), newId()];
    for (const run of runs) await send('ann', 'POST', '', { input: 'Mine' }, { 'x-run-id': run });
    const id = newId();
    const written = versions(runs);
    for (const [version, body] of written.entries())
      expect((await send('ann', 'PUT', `?chat=${id}`, { version, ...body })).status).toBe(200);
    expect((await send('ann', 'DELETE', `?chat=${id}`)).status).toBe(204);
    const kept = runs.filter((run) => !JSON.stringify(written).includes(run));
    expect([...store.records.keys()].sort()).toEqual(kept.sort());
  });

  it.each([0, 1])(
    'deletes the runs that a page names in version %i of a chat that was deleted meanwhile',
    async (version) => {
      const { send, store } = service();
      const [id, late, earlier, other] = [newId(), newId(), newId(), newId()];
      await send('ann', 'PUT', `?chat=${id}`, { version: 0, saved: savedWith('Mine') });
      expect((await send('ann', 'DELETE', `?chat=${id}`)).status).toBe(204);
      for (const run of [late, earlier, other]) await send('ann', 'POST', '', { input: 'Mine' }, { 'x-run-id': run });
      const body = { version, saved: named(late), runs: [earlier] };
      expect((await send('bob', 'PUT', `?chat=${id}`, body)).status).toBe(404);
      expect(store.records.size).toBe(3);
      expect((await send('ann', 'PUT', `?chat=${id}`, body)).status).toBe(404);
      expect([...store.records.keys()]).toEqual([other]);
    },
  );

  it('refuses a chat that has had more than 10,000 runs that it does not name', async () => {
    const { send } = service();
    const id = newId();
    const put = (version: number, count: number) =>
      send('ann', 'PUT', `?chat=${id}`, { version, saved: named(newId()), runs: Array.from({ length: count }, newId) });
    expect((await put(0, 9_998)).status).toBe(200);
    expect((await put(1, 1)).status).toBe(200); // with the run of the first version
    expect(await put(2, 0)).toMatchObject({
      status: 413,
      value: { error: { message: expect.stringMatching(/10001 more runs/) } },
    });
  });

  it('makes chats a part of the data of their owner', async () => {
    const { handler, send } = service();
    await send('ann', 'PUT', `?chat=${newId()}`, { version: 0, saved: savedWith('Of Ann') });
    await send('bob', 'PUT', `?chat=${newId()}`, { version: 0, saved: savedWith('Of Bob') });
    await send('ann', 'POST', '', { input: 'Of Ann' }, { 'x-run-id': newId() });
    const exported = () => lastValueFrom(handler.exportData('ann').pipe(toArray()));
    expect((await exported()).map(({ type }) => type)).toEqual(['run', 'chat']);
    await lastValueFrom(handler.deleteData('ann'), { defaultValue: undefined });
    expect(await exported()).toEqual([]);
    expect((await send('bob', 'GET', '')).value).toMatchObject({ chats: [{ title: 'Of Bob' }] });
  });

  it.each(stores)('creates a chat that was deleted only with `restore`, with a store %s', async (_, create) => {
    const { handler, send } = service({ chats: create(), maxChats: 2 });
    let time = Date.now();
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => (time += 10)); // no two changes in a millisecond
    const ids = [newId(), newId(), newId()];
    const [id] = ids;
    const put = async (chat: string | undefined, more = {}) =>
      (await send('ann', 'PUT', `?chat=${chat}`, { version: 0, saved: savedWith('Private'), ...more })).status;
    for (const each of ids) {
      expect(await put(each)).toBe(200);
      expect((await send('ann', 'DELETE', `?chat=${each}`)).status).toBe(204);
    }
    expect(await put(ids[2])).toBe(404);
    expect(await put(ids[2], { version: 1 })).toBe(404);
    expect((await send('ann', 'PATCH', `?chat=${ids[2]}`, { title: 'x' })).status).toBe(404);
    expect((await send('ann', 'GET', '')).value).toEqual({ chats: [] });
    const exported = await lastValueFrom(handler.exportData('ann').pipe(toArray()));
    expect(exported).toEqual([]);
    expect(await put(ids[2], { restore: true })).toBe(200);
    expect((await send('ann', 'GET', '')).value).toMatchObject({
      chats: [{ id: ids[2], title: 'Private', version: 3 }],
    });
    expect(await put(id)).toBe(200); // the owner may have two records: the oldest mark was removed
    await lastValueFrom(handler.deleteData('ann'), { defaultValue: undefined });
    expect(await put(ids[1])).toBe(200); // no mark is left
    clock.mockRestore();
  });

  it('asks a function for the title, once; if it fails, the title is the first prompt', async () => {
    const errors: unknown[] = [];
    const title = jest.fn((prompt: string, user: string) =>
      defer(() => {
        if (prompt === 'fail') throw new Error('The model of the titles does not answer.');
        return prompt === 'none' ? of('  ') : of(`${user}: ${prompt.toUpperCase()}`);
      }),
    );
    const { send } = service({ title, onError: (thrown) => errors.push(thrown) });
    const id = newId();
    const write = async (chat: string, version: number, prompt: string) =>
      (await send('ann', 'PUT', `?chat=${chat}`, { version, saved: savedWith(prompt) })).value;
    expect(await write(id, 0, 'oslo')).toMatchObject({ title: 'ann: OSLO', version: 2 });
    expect(await write(id, 2, 'rome')).toMatchObject({ title: 'ann: OSLO', version: 3 });
    expect(title).toHaveBeenCalledTimes(1);
    expect(await write(newId(), 0, 'fail')).toMatchObject({ title: 'fail', version: 1 });
    expect(errors).toHaveLength(1);
    expect(await write(newId(), 0, 'none')).toMatchObject({ title: 'none', version: 1 });
  });

  it('lets a chat be read, changed and deleted while its title is awaited', async () => {
    const titles = new Subject<string>();
    const { send } = service({ title: () => titles });
    const create = async () => {
      const id = newId();
      const written = send('ann', 'PUT', `?chat=${id}`, { version: 0, saved: savedWith('Oslo') });
      while ((await send('ann', 'GET', `?chat=${id}`)).status === 404) await new Promise(setImmediate);
      return { id, written };
    };
    const [kept, changed, removed] = [await create(), await create(), await create()];
    const change = { version: 1, saved: savedWith('Rome') };
    expect(await send('ann', 'PUT', `?chat=${changed.id}`, change)).toMatchObject({ value: { version: 2 } });
    expect((await send('ann', 'DELETE', `?chat=${removed.id}`)).status).toBe(204);
    titles.next('A title');
    expect(await kept.written).toMatchObject({ status: 200, value: { title: 'A title', version: 2 } });
    // The page that has created it does not have the change: its next version is refused with 409.
    expect(await changed.written).toMatchObject({ status: 200, value: { version: 1 } });
    expect((await send('ann', 'GET', `?chat=${changed.id}`)).value).toMatchObject({ title: 'A title', version: 3 });
    expect((await removed.written).status).toBe(404);
  });

  it('answers after 20 s with the first prompt if the function for the title does not answer', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
    try {
      const errors: unknown[] = [];
      const { send } = service({ title: () => NEVER, onError: (thrown) => errors.push(thrown) });
      let answer: unknown;
      const written = send('ann', 'PUT', `?chat=${newId()}`, { version: 0, saved: savedWith('Oslo') });
      void written.then((value) => (answer = value));
      await jest.advanceTimersByTimeAsync(19_000);
      expect(answer).toBeUndefined();
      await jest.advanceTimersByTimeAsync(1000);
      expect(await written).toMatchObject({ status: 200, value: { title: 'Oslo', version: 1 } });
      expect(errors).toMatchObject([{ message: 'The option `title` of keepChats has not answered for 20 s.' }]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('lets no cache keep a chat or a list', async () => {
    const { handler, send } = service();
    const id = newId();
    await send('ann', 'PUT', `?chat=${id}`, { version: 0, saved: savedWith('Oslo') });
    for (const query of [`?chat=${id}`, '']) {
      const response = await handler(
        new Request(`http://service.test/api/chat${query}`, { headers: { authorization: 'ann' } }),
      );
      expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
      await response.text();
    }
  });

  it('keeps the title that the user gave while the function was working', async () => {
    const chats = memoryStore<ChatRecord>();
    const id = newId();
    const title = () =>
      chats.get(id).pipe(
        concatMap((stored) => (stored ? chats.put({ ...stored.record, title: 'Mine' }, 1) : NEVER)),
        concatMap(() => of('Theirs')),
      );
    const { send } = service({ chats, title });
    expect(await send('ann', 'PUT', `?chat=${id}`, { version: 0, saved: savedWith('Oslo') })).toMatchObject({
      value: { title: 'Mine', version: 2 },
    });
  });

  it('limits the size and the number of chats', async () => {
    const { send } = service({ maxChats: 2, maxBytes: 2000 });
    const put = async (user: string, id: string, version: number, prompt = 'x') =>
      (await send(user, 'PUT', `?chat=${id}`, { version, saved: savedWith(prompt) })).status;
    const first = newId();
    expect(await put('ann', first, 0)).toBe(200);
    expect(await put('ann', newId(), 0)).toBe(200);
    expect(await put('ann', newId(), 0)).toBe(429);
    expect(await put('ann', first, 1)).toBe(200);
    expect(await put('ann', first, 2, 'x'.repeat(2000))).toBe(413);
    expect(await put('bob', newId(), 0)).toBe(200);
  });

  it('answers bad requests with what is wrong', async () => {
    const { send } = service();
    const id = newId();
    const saved = savedWith('x');
    for (const [method, query, body, status] of [
      ['PUT', `?chat=${id}`, 'no JSON', 400],
      ['PUT', `?chat=${id}`, {}, 400],
      ['PUT', `?chat=${id}`, { version: -1, saved }, 400],
      ['PUT', `?chat=${id}`, { version: 0, saved: [] }, 400],
      ['PUT', `?chat=${id}`, { version: 0, saved: { version: 1, exchanges: [] } }, 400],
      ['PUT', '?chat=guessable', { version: 0, saved }, 400],
      ['PUT', '', { version: 0, saved }, 400],
      ['PATCH', `?chat=${id}`, { title: ' ' }, 400],
      ['PATCH', `?chat=${id}`, { title: 'x' }, 404],
      ['GET', `?chat=${id}`, undefined, 404],
      ['POST', `?chat=${id}`, { input: 'x' }, 405],
      ['GET', '?cursor=nonsense', undefined, 400],
      ['GET', '?cursor=99999999999999999999999:x', undefined, 400],
      ['GET', '?cursor=1:%00', undefined, 400],
    ] as const) {
      const answer = await send('ann', method, query, body);
      expect([method, query, body, answer.status]).toEqual([method, query, body, status]);
      expect(answer.value).toMatchObject({ error: { message: expect.stringMatching(/\.$/) as unknown } });
    }
    const withoutChats = agentHandler(createAgent({ model: scriptedModel(['x']) }));
    handlers.push(withoutChats);
    expect((await withoutChats(new Request('http://service.test'))).status).toBe(405);
  });

  it('lists the chats page by page, and reads one page of the store for each', async () => {
    const chats = memoryStore<ChatRecord>();
    let reads = 0;
    const list: ChatStore['list'] = (query) => defer(() => (reads++, chats.list(query)));
    const { send } = service({ chats: { ...chats, list } });
    for (let n = 0; n < 250; n++)
      observe(chats.put({ id: newId(), owner: 'ann', title: `${n}`, updated: n, saved: {} }, 0));
    const titles: string[] = [];
    let query = '';
    for (let pages = 1; pages <= 3; pages++) {
      const { value } = await send('ann', 'GET', query);
      const { chats: page, next } = value as { chats: readonly Record<string, unknown>[]; next?: string };
      expect(Object.keys(page[0] ?? {})).toEqual(['id', 'title', 'updated', 'version']);
      titles.push(...page.map(({ title }) => String(title)));
      query = `?cursor=${next}`;
      expect([reads, page.length]).toEqual([pages, pages < 3 ? 100 : 50]);
    }
    expect(query).toBe('?cursor=undefined');
    expect(titles).toEqual(Array.from({ length: 250 }, (_, index) => `${249 - index}`));
  });

  it('answers 503 if the store fails', async () => {
    const list = () => defer(() => Promise.reject(new Error('The store is down.')));
    const errors: unknown[] = [];
    const { send } = service({
      chats: { ...memoryStore<ChatRecord>(), list },
      onError: (thrown) => errors.push(thrown),
    });
    expect((await send('ann', 'GET', '')).status).toBe(503);
    expect(errors).toHaveLength(1);
  });
});
