import { afterEach, describe, expect, it } from '@jest/globals';
import { concatMap, defer, firstValueFrom, filter, map, Subject, throwError, timer, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { typed } from '../../lib/agent/typed.js';
import { conversation } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { tool } from '../../lib/core/tool.js';
import type { Tool } from '../../lib/core/tool.js';
import { createService } from '../../lib/service/createService.js';
import type { ServiceOptions } from '../../lib/service/serviceOptions.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { HandledAgent } from '../../lib/service/handledAgent.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import type { RunRecord, RunStore } from '../../lib/service/ports/runStore.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { ScriptedTurn } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import { followingId } from '../../lib/transport/randomId.js';
import { shutDown, type Handler } from '../support/services.js';
import { lateStore, mapStore } from '../support/stores.js';
import { inVirtualTime } from '../support/virtualTime.js';

const open: object[] = [];
afterEach(() => open.splice(0).forEach(shutDown));

const asks = askTool({
  name: 'act',
  description: 'Asks.',
  execute: (_, { ask }) =>
    ask({ message: 'Sure?', schema: { type: 'string' } as const }).pipe(map((answer) => JSON.stringify(answer))),
});
const calls = () =>
  scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : [toolCall('act', { prompt: 'Go.' }, 'c1')]));
const inner = createAgent({ model: calls(), tools: [asks] });

type LimitOptions = ServiceOptions<string>['limits'];

/** What a run waits for. */
const tools: Readonly<Record<string, Tool>> = {
  'an approval': tool({ name: 'act', description: 'Acts.', needsApproval: true, execute: () => 'acted' }),
  'a question': asks,
  'a result of the page': tool({ name: 'act', description: 'Acts.' }),
  'a question of a sub-agent': agentTool(inner, { name: 'act', description: 'Delegates.' }),
};

/** A process of a service whose agent calls a tool. */
function startProcess(act: Tool, store: RunStore, patience?: number, limits: LimitOptions = {}) {
  const agent = createAgent({ model: calls(), tools: [act] });
  const context = (request: Request) => request.headers.get('x-user') ?? 'ann';
  const owner = (user: string) => user;
  const service = createService<string>({ agent, store, checkpoints: true, patience, limits, context, owner });
  open.push(service);
  const handler = agentHandler(service);
  const ask = (method: string, id: string, body?: object, user = 'ann') =>
    handler(
      new Request('http://service.test', {
        method,
        headers: { 'x-run-id': id, 'x-user': user },
        ...(body ? { body: JSON.stringify(body) } : {}),
      }),
    );
  const waiting = () => firstValueFrom(service.runs({ owner: 'ann', state: 'waiting' }).pipe(toArray()));
  return { ask, handler, waiting };
}

/** The record that continues all others. */
const lastRecord = ({ records }: ReturnType<typeof mapStore>) =>
  [...records.values()].map(({ record }) => record).find(({ resumedBy }) => resumedBy === undefined);
const settled = async (store: ReturnType<typeof mapStore>) => {
  while (lastRecord(store)?.state !== 'ended') await new Promise((resolve) => setImmediate(resolve));
  return lastRecord(store)?.result;
};

describe('a stop of a run that waits', () => {
  it.each(Object.keys(tools))('for %s ends it, so that nothing waits, and its call is cancelled', async (what) => {
    const store = mapStore();
    const { ask, waiting } = startProcess(tools[what] ?? asks, store);
    const id = crypto.randomUUID();
    await (await ask('POST', id, { input: 'Go.' })).text();
    expect(await waiting()).toHaveLength(1);
    expect((await ask('DELETE', id, undefined, 'bob')).status).toBe(404);
    expect(await waiting()).toHaveLength(1);
    expect((await ask('DELETE', id)).status).toBe(204);
    const result = await settled(store);
    expect(result?.finishReason).toBe('stopped');
    const [outcome] = result?.messages.at(-1)?.parts ?? [];
    expect(outcome).toMatchObject({ type: 'toolResult', id: 'c1' });
    expect(outcome).toHaveProperty('code', what.startsWith('a question') ? 'cancelled' : 'not_executed'); // begun or not
    expect(await waiting()).toEqual([]);
    expect((await ask('DELETE', id)).status).toBeLessThan(500); // a second stop changes nothing
    expect(await settled(store)).toEqual(result);
    const late = await ask('POST', crypto.randomUUID(), { resume: id, results: { c1: 'late' } });
    expect(await late.text()).toContain('not_waiting');
  });

  it.each<readonly [string, LimitOptions, number]>([
    ['prompts per minute', { maxPromptsPerMinute: 1 }, 429],
    ['bytes', { maxOwnerBytes: 1 }, 413],
  ])('is not refused, as a resume without an answer is, if its owner has no %s left', async (_, limits, refused) => {
    const store = mapStore();
    const id = crypto.randomUUID();
    const before = startProcess(asks, store, undefined, limits?.maxOwnerBytes === undefined ? limits : {});
    await (await before.ask('POST', id, { input: 'Go.' })).text();
    const { ask } = startProcess(asks, store, undefined, limits);
    expect((await ask('POST', crypto.randomUUID(), { resume: id })).status).toBe(refused);
    expect((await ask('DELETE', id)).status).toBe(204);
    expect(store.records.get(followingId(id))?.record.result?.finishReason).toBe('stopped'); // it is confirmed when it is written
  });

  it('is refused at a process of another version, and the run waits on: the next answer is used', async () => {
    const store = mapStore();
    const acts = tools['an approval'] ?? asks;
    const { ask, waiting } = startProcess(acts, store);
    const id = crypto.randomUUID();
    await (await ask('POST', id, { input: 'Go.' })).text();
    const output = typed({ type: 'object', properties: {} } as const);
    const other = agentHandler(createAgent({ model: calls(), tools: [acts], output }), {
      ...{ store, checkpoints: true, context: () => 'ann', owner: () => 'ann', onError: () => undefined },
    });
    open.push(other);
    const stop = new Request('http://service.test', { method: 'DELETE', headers: { 'x-run-id': id } });
    expect((await other(stop)).status).toBe(503);
    expect(await waiting()).toHaveLength(1);
    const approval = { resume: id, decisions: { c1: { approve: true } } };
    expect(await (await ask('POST', followingId(id), approval)).text()).toContain('"text":"Done."');
    expect(await waiting()).toEqual([]);
  });

  it('in memory, and whose process has ended, ends it in another process', async () => {
    const store = mapStore();
    const before = startProcess(asks, store, 60_000);
    const id = crypto.randomUUID();
    const reader = (await before.ask('POST', id, { input: 'Go.' })).body?.getReader();
    while (lastRecord(store)?.state !== 'waiting') await reader?.read();
    for (const [key, { record, version }] of store.records)
      store.records.set(key, { version: version + 1, record: { ...record, executor: undefined } });
    const { ask, waiting } = startProcess(asks, store, 60_000);
    expect(await waiting()).toHaveLength(1);
    expect((await ask('DELETE', id)).status).toBe(204);
    expect((await settled(store))?.finishReason).toBe('stopped');
    expect(await waiting()).toEqual([]);
  });

  it('is refused where another request reads a run of another process, which has no log in common', async () => {
    const store = mapStore();
    const gate = new Subject<void>();
    let reads = 0;
    const get: RunStore['get'] = (key) =>
      defer(() => (reads++ === 0 ? gate.pipe(concatMap(() => store.get(key))) : store.get(key)));
    const { ask } = startProcess(asks, { ...store, get });
    const id = crypto.randomUUID();
    const executor = { id: 'other', until: Date.now() + 60_000 };
    const record: RunRecord = { id, owner: 'ann', input: [], state: 'running', attempt: 1, updated: 0, executor };
    store.records.set(id, { version: 1, record });
    const reading = ask('POST', id, {});
    while (reads === 0) await new Promise((resolve) => setImmediate(resolve));
    expect((await ask('DELETE', id)).status).toBe(503);
    gate.next();
    expect((await reading).status).toBe(503);
  });

  it('in a page reaches the service, and another device shows it', async () => {
    const store = mapStore();
    const { handler, waiting } = startProcess(asks, store);
    const visit = (saved?: string) => {
      const agent = remoteAgent('http://service.test/', { fetch: (url, init) => handler(new Request(url, init)) });
      const chat = conversation(agent, saved === undefined ? {} : { saved });
      const view = chat.view$.subscribe();
      const until = (status: string) => firstValueFrom(chat.view$.pipe(filter((now) => now.status === status)));
      return { chat, view, until };
    };
    const page = visit();
    page.chat.send('Go.');
    await page.until('waiting');
    const copy = JSON.stringify(page.chat.save());
    page.chat.stop();
    await page.until('stopped');
    await settled(store);
    expect(await waiting()).toEqual([]);
    const device = visit(copy);
    await device.until('stopped');
    expect(device.chat.view.waiting).toEqual([]);
    for (const { view } of [page, device]) view.unsubscribe();
  });
});

/** Two processes whose store refuses what it is asked from the write of a record on, for a time. */
function withOutage(
  checkpoints: boolean,
  isFirst: (record: RunRecord) => boolean,
  refused: 'all' | 'put',
  time: number,
) {
  const store = mapStore();
  const outage = { end: Infinity };
  const isAway = () => Date.now() < outage.end && outage.end < Infinity;
  const away = () => throwError(() => new Error('The store is away.'));
  const call = <T>(work: () => Observable<T>) => defer(() => (isAway() && refused === 'all' ? away() : work()));
  const faulty: RunStore = {
    get: (id) => call(() => store.get(id)),
    list: (query) => call(() => store.list(query)),
    delete: (id, version) => call(() => store.delete(id, version)),
    put: (record, version) =>
      defer(() => {
        const isHit = outage.end === Infinity && isFirst(record);
        if (isHit) outage.end = Date.now() + time;
        if (!isAway()) return store.put(record, version);
        // The first write is done, but nobody learns of it.
        return isHit && refused === 'all' ? store.put(record, version).pipe(concatMap(away)) : away();
      }),
  };
  const log = { ...memoryLog(), isShared: true };
  const start = () =>
    agentHandler(createAgent({ model: calls(), tools: [tools['an approval'] ?? asks] }), {
      ...{ store: faulty, log, checkpoints, onError: () => undefined, context: () => 'ann', owner: () => 'ann' },
    });
  const processes = [start(), start()];
  open.push(...processes);
  const ask = async (number: number, method: string, id: string, body?: object): Promise<Response> => {
    const headers = { 'x-run-id': id };
    const request = new Request('http://service.test', {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const response = await (processes[number] as Handler)(request);
    if (response.status !== 503) return response;
    await after(1000);
    return ask(number, method, id, body);
  };
  return { store, ask };
}
const after = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const states = ({ records }: ReturnType<typeof mapStore>) =>
  [...records.values()].map(({ record }) => [record.state, record.result?.finishReason]);

describe('while the store is away,', () => {
  it.each([
    ['the process of the run', 0],
    ['another process', 1],
  ])(
    'a stop is not lost if the run has begun to wait, and its record does not say so yet: in %s',
    async (_, stopping) => {
      const { store, ask } = withOutage(true, ({ state }) => state === 'waiting', 'put', 5000);
      const id = crypto.randomUUID();
      await inVirtualTime(async () => {
        const read = ask(0, 'POST', id, { input: 'Go.' }).then((response) => response.text());
        await after(1000);
        expect((await ask(stopping, 'DELETE', id)).status).toBe(204);
        await read;
        await after(10_000);
      });
      expect(states(store)).toEqual([
        ['ended', 'waiting'],
        ['ended', 'stopped'],
      ]);
    },
  );

  it.each([
    ['a stop', 'DELETE', 'stopped'],
    ['an answer', 'POST', 'stop'],
  ])('%s that could only begin does not spoil a run that waits', async (_, method, finishReason) => {
    const { store, ask } = withOutage(false, ({ resumes }) => resumes !== undefined, 'all', 5000);
    const id = crypto.randomUUID();
    await inVirtualTime(async () => {
      await (await ask(0, 'POST', id, { input: 'Go.' })).text();
      const answer = { resume: id, decisions: { c1: { approve: true } } };
      const [to, body] = method === 'POST' ? [followingId(id), answer] : [id, undefined];
      await (await ask(0, method, to, body)).text();
      await after(40_000);
      await (await ask(0, method, to, body)).text();
      await after(1000);
    });
    expect(states(store)).toEqual([
      ['ended', 'waiting'],
      ['ended', finishReason],
    ]);
  });
});

/** What goes wrong once when the run that waits is to be continued. */
const obstacles = {
  'its agent cannot resume it': { fails: 'resume', checkpoints: true, isShared: false },
  'its agent cannot resume it, without checkpoints': { fails: 'resume', checkpoints: false, isShared: false },
  'its agent cannot resume it, with a shared log': { fails: 'resume', checkpoints: true, isShared: true },
  'the log does not take its run, without checkpoints': { fails: 'append', checkpoints: false, isShared: false },
};

describe.each(Object.entries(obstacles))('a run that waits, if %s,', (_, { fails, checkpoints, isShared }) => {
  const start = async () => {
    const store = mapStore();
    let broken = '';
    const refused = <T>(name: string, work: () => Observable<T>) =>
      defer(() => (broken === name ? throwError(() => new Error('It is away.')) : work()));
    const memory = { ...memoryLog(), isShared };
    const log: RunLog = { ...memory, append: (...given) => refused('append', () => memory.append(...given)) };
    const agent = createAgent({ model: calls(), tools: [tools['an approval'] ?? asks] });
    const failing: HandledAgent = { ...agent, resume: (...given) => refused('resume', () => agent.resume(...given)) };
    const errors: unknown[] = [];
    const service = createService({
      ...{ agent: failing, store, log, checkpoints, onError: (thrown: unknown) => errors.push(thrown) },
    });
    open.push(service);
    const handler = agentHandler(service);
    const id = crypto.randomUUID();
    const ask = async (method: string, run: string, body?: object) => {
      const init = { method, headers: { 'x-run-id': run }, ...(body ? { body: JSON.stringify(body) } : {}) };
      const response = await handler(new Request('http://service.test', init));
      return [response.status, await response.text()] as const;
    };
    await ask('POST', id, { input: 'Go.' });
    const waiting = () => firstValueFrom(service.runs({ owner: '', state: 'waiting' }).pipe(toArray()));
    const approve = () => ask('POST', followingId(id), { resume: id, decisions: { c1: { approve: true } } });
    const whileBroken = async <T>(work: () => Promise<T>) => {
      broken = fails;
      const result = await inVirtualTime(work);
      broken = '';
      return result;
    };
    return { id, ask, waiting, approve, whileBroken, errors, store };
  };

  it('waits on for the same answer, which is used then', async () => {
    const { waiting, approve, whileBroken, errors } = await start();
    expect(await whileBroken(approve)).toEqual([200, expect.stringContaining('event: failed')]);
    expect(errors).toMatchObject([{ message: 'It is away.' }]);
    expect(await waiting()).toHaveLength(1);
    expect(await approve()).toEqual([200, expect.stringContaining('"text":"Done."')]);
    expect(await waiting()).toEqual([]);
  });

  it('is not confirmed to be stopped, and stopped by the next stop', async () => {
    const { id, ask, waiting, whileBroken, store } = await start();
    expect((await whileBroken(() => ask('DELETE', id)))[0]).toBe(503);
    expect(await waiting()).toHaveLength(1);
    expect((await ask('DELETE', id))[0]).toBe(204);
    expect(await waiting()).toEqual([]);
    expect(states(store).at(-1)).toEqual(['ended', 'stopped']);
  });
});

/** The process that is asked to stop; the other one is asked to go on. */
const fronts = {
  'the same process': { stopping: 0, isShared: false },
  'another process, with a shared log': { stopping: 1, isShared: true },
  'another process, without a log in common': { stopping: 1, isShared: false },
};
type Front = keyof typeof fronts;
/** Milliseconds from the approval to the stop; a call of the store takes 100. */
const gaps = [-500, -300, -150, -50, 0, 50, 150, 250, 350, 450, 550, 700];

describe('a stop of a run that waits, while it is approved with an id of its own,', () => {
  it.each(Object.keys(fronts).flatMap((front) => gaps.map((gap) => [front as Front, gap] as const)))(
    'at %s, %i ms after the approval: only one of them is refused',
    async (front, gap) => {
      const { stopping, isShared } = fronts[front];
      const store = mapStore();
      const log = { ...memoryLog(), isShared };
      const acted: string[] = [];
      const act = tool({
        ...{ name: 'act', description: 'Acts.', needsApproval: true },
        execute: () => timer(30_000).pipe(map(() => acted.push('acted'))),
      });
      const processes = [0, 1].map(() => {
        const agent = createAgent({ model: calls(), tools: [act] });
        return agentHandler(agent, { store: lateStore(store, () => 50), log, checkpoints: true });
      });
      open.push(...processes);
      const ask = (number: number, method: string, id: string, body?: object) => {
        const init = { method, headers: { 'x-run-id': id }, ...(body ? { body: JSON.stringify(body) } : {}) };
        return (processes[number] as Handler)(new Request('http://service.test', init));
      };
      const id = crypto.randomUUID();
      const statuses = await inVirtualTime(async () => {
        await (await ask(0, 'POST', id, { input: 'Go.' })).text();
        const [approval, stop] = await Promise.all([
          after(Math.max(0, -gap)).then(() =>
            ask(0, 'POST', crypto.randomUUID(), { resume: id, decisions: { c1: { approve: true } } }),
          ),
          after(Math.max(0, gap)).then(() => ask(stopping, 'DELETE', id)),
        ]);
        await approval.text();
        return [approval.status, stop.status];
      }, 10);
      const isUnreachable = stopping === 1 && !isShared;
      const late = isUnreachable ? [200, 503] : [200, 204];
      expect([late, [409, 204]]).toContainEqual(statuses);
      expect(acted).toEqual(statuses[1] === 204 ? [] : ['acted']);
      expect(states(store)[1]).toEqual(['ended', statuses[1] === 204 ? 'stopped' : 'stop']);
    },
  );
});

/** What a run does when it is stopped, and whether another process may learn of the stop from the log. */
const running: Readonly<Record<string, { readonly isShared: boolean; readonly script: ScriptedTurn }>> = {
  'in a text': { isShared: false, script: ['one ', { delay: 20_000 }, toolCall('act', {}, 'c1')] },
  'in a tool': { isShared: false, script: [toolCall('slow', {}, 'c0')] },
  'in a text, with a shared log': { isShared: true, script: ['one ', { delay: 20_000 }, toolCall('act', {}, 'c1')] },
};

describe('a stop of a run that is executed', () => {
  const id = crypto.randomUUID();
  const start = (what: string) => {
    const { isShared = false, script = [] } = running[what] ?? {};
    const acted: string[] = [];
    let isAway = false;
    const store = mapStore();
    const away = <T>(work: () => Observable<T>) =>
      defer(() => (isAway ? throwError(() => new Error('The store is away.')) : work()));
    const late = (name: string) =>
      tool({ name, description: 'L.', execute: () => timer(20_000).pipe(map(() => acted.push(name))) });
    const log = { ...memoryLog(), isShared };
    const service = () => {
      const model = scriptedModel(({ messages }) => (messages.length > 1 ? [toolCall('act', {}, 'c2')] : script));
      const made = createService({
        agent: createAgent({ model, tools: [late('slow'), late('act')], stopWhen: () => acted.length > 2 }),
        store: {
          ...store,
          get: (...given) => away(() => store.get(...given)),
          put: (...given) => away(() => store.put(...given)),
        },
        ...{ log, checkpoints: true, onError: () => undefined },
      });
      open.push(made);
      const handler = agentHandler(made);
      return (method: string, body?: object) =>
        handler(
          new Request('http://service.test', {
            ...{ method, headers: { 'x-run-id': id, 'content-type': 'application/json' } },
            ...(body ? { body: JSON.stringify(body) } : {}),
          }),
        );
    };
    const setAway = (value: boolean) => (isAway = value);
    return { service, store, acted, setAway };
  };

  it.each(Object.keys(running))(
    '%s is confirmed when its record has the end, or a shared log the stop',
    async (what) => {
      const { service, store } = start(what);
      await inVirtualTime(async () => {
        const ask = service();
        void ask('POST', { input: 'Go.' }).then((response) => response.text());
        await after(5000);
        expect((await ask('DELETE')).status).toBe(204);
      });
      expect(store.records.get(id)?.record).toMatchObject({ state: 'ended', result: { finishReason: 'stopped' } });
    },
  );

  it.each(Object.keys(running))('%s holds once it is confirmed, if the store is away for a lease', async (what) => {
    const { service, store, acted, setAway } = start(what);
    const statuses: number[] = [];
    await inVirtualTime(async () => {
      const ask = service();
      void ask('POST', { input: 'Go.' }).then((response) => response.text());
      await after(5000);
      setAway(true);
      statuses.push((await ask('DELETE')).status);
      await after(60_000);
      setAway(false);
      // The page repeats a stop that was not confirmed.
      if (statuses[0] === 503) statuses.push((await ask('DELETE')).status);
      await (await service()('POST', {})).text(); // a later reader, here or in another process
      await after(100_000);
    });
    expect(statuses.at(-1)).toBe(204);
    expect(acted).toEqual([]);
    expect(store.records.get(id)?.record).toMatchObject({ state: 'ended', result: { finishReason: 'stopped' } });
  });
});
