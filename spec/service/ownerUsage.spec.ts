import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { concat, concatMap, defer, delay, EMPTY, firstValueFrom, NEVER, of, throwError, timer, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { tool } from '../../lib/core/tool.js';
import { createService } from '../../lib/service/createService.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { RequestError } from '../../lib/service/http/requestError.js';
import { OWNERS, OwnerUsage } from '../../lib/service/ownerUsage.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { openDurableService } from '../support/durableService.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import { observe } from '../support/observe.js';
import { protocolNames, protocols, shutDown, startRequest } from '../support/services.js';
import type { Handler, ServiceProtocol } from '../support/services.js';
import { mapStore } from '../support/stores.js';

const cleanups: (() => void)[] = [];
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }));
afterEach(() => {
  for (const cleanUp of cleanups.splice(0)) cleanUp();
  jest.useRealTimers();
});
const wait = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds);

const budget = { tokens: 15, window: 60_000 };
const answer = (): Chunk[] => [
  { type: 'text', text: 'Hi' },
  { type: 'finish', reason: 'stop', usage: { input: 8, output: 2 } },
];
/** A process of a service on a store. */
function start(store: RunStore) {
  const agent = createAgent({ model: scriptedModel(() => of(...answer())) });
  const service = createService<string>({
    ...{ agent, store, limits: { budget } },
    ...{ context: (request) => request.headers.get('x-user') ?? 'ann', owner: (name) => name },
  });
  cleanups.push(() => shutDown(service));
  const handler = agentHandler(service);
  const send = async (method: string, user = 'ann', id: string = crypto.randomUUID()) => {
    const body = method === 'POST' ? JSON.stringify({ input: 'Hi' }) : null;
    const headers = { 'x-run-id': id, 'x-user': user };
    const response = await handler(new Request('http://service.test', { method, headers, body }));
    await response.text();
    return response.status;
  };
  return { service, send };
}

describe('the budget of an owner', () => {
  it('is that of all processes with one store, until its time is over', async () => {
    const store = mapStore();
    const [one, other] = [start(store), start(store)];
    expect([await one.send('POST'), await other.send('POST'), await one.send('POST')]).toEqual([200, 200, 429]);
    expect([await other.send('POST'), await other.send('POST', 'eve')]).toEqual([429, 200]);
    expect(await start(store).send('POST')).toBe(429); // a process that starts later
    await wait(60_000);
    expect(await other.send('POST')).toBe(200);
  });

  it('does not come back when its runs are deleted, and is not a run', async () => {
    const { service, send } = start(mapStore());
    const ids = [crypto.randomUUID(), crypto.randomUUID()];
    for (const id of ids) expect(await send('POST', 'ann', id)).toBe(200);
    const listed = await firstValueFrom(service.runs({ everyOwner: true }).pipe(toArray()));
    expect(listed.map(({ id }) => id).sort()).toEqual([...ids].sort());
    observe(service.deleteData('ann'));
    await wait(0);
    expect(await send('POST')).toBe(429);
    expect(await send('DELETE', 'ann', 'owner.ann')).toBe(400);
  });

  it('holds when a full memory has removed its runs, and those of many others', async () => {
    const store = memoryStore({ maxBytes: 6000 });
    const { send } = start(store);
    const first = crypto.randomUUID();
    expect([await send('POST', 'ann', first), await send('POST')]).toEqual([200, 200]);
    for (let n = 0; n < 20; n += 1) expect(await send('POST', `user${n}`)).toBe(200);
    expect(observe(store.get(first)).values).toEqual([undefined]);
    expect(await send('POST')).toBe(429);
  });

  // A page reads an answer, and stops it before the provider reports what it has used.
  it.each(protocolNames)('%s counts what a response that was stopped has used', async (name) => {
    const { handler, body, headers } = protocols[name];
    const model = scriptedModel(() => concat(of<Chunk>({ type: 'text', text: 'word '.repeat(80) }), NEVER));
    const handle = handler(createAgent({ model }), { limits: { budget: { tokens: 150 } } });
    cleanups.push(() => shutDown(handle));
    const url = 'http://service.test/api/chat';
    const askAndStop = async () => {
      const init = { headers: headers(), body: JSON.stringify(body('Hi')) };
      const response = await handle(new Request(url, { method: 'POST', ...init }));
      if (response.status !== 200) return response.status;
      await wait(0);
      if (name === 'agentHandler') await handle(new Request(url, { method: 'DELETE', headers: init.headers }));
      else await response.body?.cancel();
      await wait(20);
      return response.status;
    };
    expect([await askAndStop(), await askAndStop(), await askAndStop()]).toEqual([200, 200, 429]);
    expect(model.requests).toHaveLength(2);
  });

  it('counts the usage of durable runs, whose workers have the budget', async () => {
    const service = openDurableService(cleanups, { store: mapStore(), log: { ...memoryLog(), isShared: true } });
    service.supervise({ budget, script: answer });
    const front = service.front({ context: () => 'ann', owner: (name) => name, limits: { budget } });
    const statuses = [];
    for (let n = 0; n < 3; n++) {
      const headers = { 'x-run-id': crypto.randomUUID() };
      const body = JSON.stringify({ input: 'Hi' });
      statuses.push((await front(new Request('http://service.test', { method: 'POST', headers, body }))).status);
      await wait(5000);
    }
    expect(statuses).toEqual([200, 200, 429]);
  });

  it.each([
    ['of another process in the same moment', 3],
    ['that fails', 'error'],
  ] as const)('loses nothing after a write %s', (_, fault) => {
    const store = mapStore();
    let faults = 3;
    const faulty: RunStore = {
      ...store,
      put: (record, version) => {
        if (faults-- <= 0) return store.put(record, version);
        return fault === 'error' ? throwError(() => new Error('down')) : of(false);
      },
    };
    const counted = new OwnerUsage(faulty, { budget: { tokens: 30 } });
    const isAllowed = () =>
      observe(new OwnerUsage(store, { budget: { tokens: 30 } }).requireBudget('ann')).error === undefined;
    for (let n = 0; n < 5; n++) counted.spend('ann', { total: 5 });
    expect(isAllowed()).toBe(true);
    counted.spend('ann', { total: 5 });
    expect(isAllowed()).toBe(false);
  });

  it('counts all prompts that come at once, in one record of the owner with what the runs use', async () => {
    const store = mapStore();
    const later: RunStore = {
      ...store,
      put: (record, version) => timer(1).pipe(concatMap(() => store.put(record, version))),
    };
    const counted = new OwnerUsage(later, { maxPromptsPerMinute: 20, budget });
    const prompts = Array.from({ length: 21 }, () => observe(counted.countPrompt('ann', EMPTY)));
    counted.spend('ann', { total: 5 });
    await wait(100);
    const refused = prompts.filter(({ error }) => error !== undefined);
    expect(refused).toHaveLength(1);
    expect(refused[0]?.error).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
    expect([...store.records.values()].map(({ record }) => record)).toMatchObject([
      { id: 'owner.ann', owner: OWNERS, protocol: { tokens: 5, cost: 0 } },
    ]);
  });

  /** What happens to a prompt in the place of its work; `isAway`: the store cannot take it back at once. */
  const refused = {
    'its work fails': { work: () => throwError(() => new Error('down')) },
    'its work fails, and the store is away': { work: () => throwError(() => new Error('down')), isAway: true },
    'there is no such run': { work: () => of(false) },
  } as const;

  it.each(Object.entries(refused))('does not count a prompt if %s', async (_, { work, ...rest }) => {
    const store = mapStore();
    let isAway = false;
    const put: RunStore['put'] = (...given) =>
      isAway ? throwError(() => new Error('down')) : store.put(...given).pipe(delay(1));
    const [one, other] = [{ ...store, put }, store].map((each) => new OwnerUsage(each, { maxPromptsPerMinute: 2 }));
    const send = async (usage: OwnerUsage | undefined, sent: Observable<boolean>) => {
      const answer = observe(usage?.countPrompt('ann', sent) ?? EMPTY);
      await wait(2);
      return answer.error instanceof RequestError ? answer.error.status : answer.values[0];
    };
    expect(await send(one, of(true))).toBe(true);
    const fail = defer(() => {
      isAway = 'isAway' in rest;
      return work();
    });
    await send(one, fail);
    isAway = false;
    await wait('isAway' in rest ? 1010 : 10);
    expect(await send(other, of(true))).toBe(true);
    expect(await send(one, of(true))).toBe(429);
  });

  const posted = (protocol: ServiceProtocol) => (handler: Handler) => handler(startRequest(protocol));
  const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'ok' });
  const waitingId = crypto.randomUUID();
  const send = (method: string, id: string, body: object) => (handler: Handler) => {
    const headers = { 'content-type': 'application/json', 'x-run-id': id };
    return handler(new Request('http://service.test', { method, headers, body: JSON.stringify(body) }));
  };
  /** Requests that are refused while the store or the log does not write, and are then sent again. */
  const requests: Readonly<Record<string, readonly [keyof typeof protocols, (handler: Handler) => Promise<Response>]>> =
    {
      'a run': ['agentHandler', posted(protocols.agentHandler)],
      'a run of useChat': ['uiChatHandler', posted(protocols.uiChatHandler)],
      'a prompt that joins a run': ['agentHandler', send('PATCH', waitingId, { input: 'More.' })],
      'an answer without answers': [
        'agentHandler',
        send('POST', crypto.randomUUID(), { resume: waitingId, decisions: {}, results: {}, errors: {} }),
      ],
    };

  it.each(Object.entries(requests))('counts once %s that was refused with 503', async (name, [protocol, ask]) => {
    const [store, log] = [mapStore(), memoryLog()];
    let isAway = false;
    const away = () => defer(() => throwError(() => new Error('down')));
    const put: RunStore['put'] = (record, version) =>
      isAway && record.owner !== OWNERS ? away() : store.put(record, version);
    const model = scriptedModel(({ messages }) =>
      name === 'a prompt that joins a run'
        ? ['One ', { delay: 50_000 }, 'two.']
        : messages.length > 1 || !name.startsWith('an answer')
          ? 'Done.'
          : [toolCall('pay', {}, 'c1')],
    );
    const service = createService({
      agent: createAgent({ model, tools: [pay] }),
      store: { ...store, put },
      log: { ...log, send: (...given) => (isAway ? away() : log.send(...given)) },
      ...{ checkpoints: true, limits: { maxPromptsPerMinute: 2 }, onError: () => undefined },
    });
    cleanups.push(() => shutDown(service));
    const handler = protocols[protocol].over(service);
    void agentHandler(service)(
      new Request('http://service.test', {
        ...{ method: 'POST', body: JSON.stringify({ input: 'Go.' }) },
        headers: { 'content-type': 'application/json', 'x-run-id': waitingId },
      }),
    ).then((response) => response.text());
    await wait(1000); // the first prompt
    const statuses: number[] = [];
    for (const isFirst of [true, false]) {
      isAway = isFirst;
      const answered = ask(handler).then((response) => statuses.push(response.status));
      await wait(10_000);
      await answered;
    }
    expect(statuses.map((status) => Math.floor(status / 100) * 100)).toEqual([500, 200]);
  });

  it('does not count a prompt whose write is not known to the store', async () => {
    const store = mapStore();
    const put: RunStore['put'] = (...given) =>
      store.put(...given).pipe(concatMap(() => throwError(() => new Error('The answer was lost.'))));
    const counted = new OwnerUsage({ ...store, put }, { maxPromptsPerMinute: 1 });
    expect(observe(counted.countPrompt('ann', of(true))).error).toMatchObject({ message: 'The answer was lost.' });
    const next = new OwnerUsage(store, { maxPromptsPerMinute: 1 });
    expect(observe(next.countPrompt('ann', of(true))).values).toEqual([true]);
    await wait(0);
  });

  it('is shown to nobody: lists, exports, and a user whose id is that of its owner', async () => {
    const { service, send } = start(mapStore());
    expect(await send('POST')).toBe(200);
    for (const query of [{ owner: 'ann' }, { everyOwner: true }, { owner: OWNERS }] as const)
      expect(observe(service.runs(query)).values.map(({ owner }) => owner)).toEqual(
        'owner' in query && query.owner === OWNERS ? [] : ['ann'],
      );
    expect(observe(service.exportData('ann')).values).toHaveLength(1);
  });

  it.each([
    ['the owner of these records', OWNERS],
    ['half a character', '\uD800'],
    ['a text that no index of a store takes', 'x'.repeat(257)],
  ])('is not kept for %s, which is not the id of a user', (_, context) => {
    const { service } = start(mapStore());
    expect(observe(service.run(crypto.randomUUID(), 'Hi', { context })).error).toMatchObject({ subject: 'options' });
  });

  it('forgets prompts, and ends a budget, that a clock which is set back has left in the future', async () => {
    const store = mapStore();
    const hour = 3_600_000;
    const counted = new OwnerUsage(store, { maxPromptsPerMinute: 1, budget: { tokens: 1, window: hour } });
    const later = Date.now() + 10 * hour;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => later);
    expect(observe(counted.countPrompt('ann', EMPTY)).error).toBeUndefined();
    counted.spend('ann', { total: 1 });
    await wait(1);
    clock.mockRestore();
    expect(observe(counted.countPrompt('ann', EMPTY)).error).toBeUndefined();
    expect(observe(counted.requireBudget('ann')).error).toMatchObject({ headers: { 'retry-after': '3600' } });
  });

  it('takes any text as an owner', () => {
    const counted = new OwnerUsage(mapStore(), { budget: { tokens: 1 } });
    for (const owner of ['', 'ä/\u0000 ö', '\u{1F600}'.repeat(128)]) {
      expect(observe(counted.requireBudget(owner)).error).toBeUndefined();
      counted.spend(owner, { total: 1 });
      expect(observe(counted.requireBudget(owner)).error).toMatchObject({ status: 429 });
    }
  });
});
