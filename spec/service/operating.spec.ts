import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { NEVER, Subject, throwError } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { tool } from '../../lib/core/tool.js';
import { createService } from '../../lib/service/createService.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import type { ServiceOptions } from '../../lib/service/serviceOptions.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { retryUnreachable } from '../../lib/service/stores/retryUnreachable.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { askTool } from '../../lib/tools/askTool.js';
import { followingId } from '../../lib/transport/randomId.js';
import { observe } from '../support/observe.js';
import { protocolNames, protocols, shutDown, startRequest } from '../support/services.js';
import { mapStore } from '../support/stores.js';

const open: object[] = [];
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'], now: 0 }));
afterEach(() => {
  open.splice(0).forEach(shutDown);
  jest.useRealTimers();
});

const turns = async () => {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
};
const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' });

const byUser = {
  context: (request: Request) => request.headers.get('x-user') ?? 'ann',
  owner: (user: string) => user,
};

/** A service for several users, and its errors. */
function serve(script: Parameters<typeof scriptedModel>[0], options: Partial<ServiceOptions<string>> = {}) {
  const errors: unknown[] = [];
  const service = createService<string>({
    agent: createAgent({ model: scriptedModel(script), tools: [pay] }),
    ...byUser,
    onError: (thrown) => errors.push(thrown),
    ...options,
  });
  open.push(service);
  return { service, errors };
}

const post = (service: ReturnType<typeof serve>['service'], body: object, id = crypto.randomUUID(), method = 'POST') =>
  agentHandler(service)(
    new Request('http://service.test', { method, headers: { 'x-run-id': id }, body: JSON.stringify(body) }),
  );
const statusOf = async (answer: Promise<Response>) => {
  const response = await answer;
  const text = response.headers.get('content-type')?.includes('event-stream') ? '' : await response.text();
  return [response.status, response.headers.get('retry-after'), text.includes('prompts per minute')];
};

describe('maxPromptsPerMinute', () => {
  const limits = { maxPromptsPerMinute: 2 };
  const refusal = (retryAfter: string) => [429, retryAfter, true];
  const accepted = [200, null, false];

  it.each(protocolNames)(
    'refuses the prompts of an owner to %s in all processes that share the store',
    async (name) => {
      const store = mapStore();
      const handlers = [1, 2].map(() => protocols[name].over(serve(() => 'Hi.', { store, limits }).service));
      const ask = (process: number, user = 'ann') => {
        const handler = handlers[process];
        return statusOf(
          handler?.(startRequest(protocols[name], { 'x-user': user })) ?? Promise.reject(new Error(name)),
        );
      };
      expect(await ask(0)).toEqual(accepted);
      jest.advanceTimersByTime(20_000);
      expect(await ask(1)).toEqual(accepted);
      expect(await ask(0)).toEqual(refusal('40'));
      expect(await ask(1)).toEqual(refusal('40'));
      expect(await ask(0, 'bob')).toEqual(accepted);
      jest.advanceTimersByTime(40_000);
      expect(await ask(0)).toEqual(accepted);
      expect(await ask(1)).toEqual(refusal('20'));
    },
  );

  it('counts prompts that join a run, and neither answers nor repeated requests', async () => {
    const chunks = new Subject<Chunk>();
    const { service } = serve(({ messages }) => (messages.length > 1 ? 'Done.' : chunks), { limits });
    const id = crypto.randomUUID();
    expect(await statusOf(post(service, { input: 'Pay.' }, id))).toEqual(accepted);
    expect(await statusOf(post(service, { input: 'Pay.' }, id))).toEqual(accepted);
    expect(await statusOf(post(service, { input: 'Soon.' }, id, 'PATCH'))).toEqual([204, null, false]);
    expect(await statusOf(post(service, { input: 'Now.' }, id, 'PATCH'))).toEqual(refusal('60'));
  });

  it('counts no answer to a run that waits', async () => {
    const script = ['c1', 'c2'].flatMap((call) => [[toolCall('pay', {}, call)], 'Paid.']);
    const { service } = serve(script, { limits: { maxPromptsPerMinute: 1 } });
    const resume = crypto.randomUUID();
    await (await post(service, { input: 'Pay.' }, resume)).text();
    const answer = { resume, decisions: { c1: { approve: true } } };
    expect(await (await post(service, answer)).text()).toContain('Paid.');
    expect(await statusOf(post(service, { input: 'Pay.' }))).toEqual(refusal('60'));
  });

  it.each([0, 600_000])('counts an answer after a wrong one to a run that waits (patience: %d)', async (patience) => {
    const name = askTool({
      name: 'name',
      description: 'Asks.',
      execute: (_, { ask }) => ask({ message: 'Who?', schema: z.string().min(2) }),
    });
    const agent = createAgent({ model: scriptedModel([[toolCall('name', {}, 'c1')], 'Done.']), tools: [name] });
    const store = mapStore();
    const options = { store, limits: { maxPromptsPerMinute: 3 }, checkpoints: true, patience, ...byUser };
    const handler = agentHandler<string>(agent, options);
    open.push(handler);
    let run: string = crypto.randomUUID();
    const send = async (method: string, id: string, body: object) => {
      const init = { method, headers: { 'x-run-id': id }, body: JSON.stringify(body) };
      const sent = handler(new Request('http://service.test', init));
      await turns();
      await jest.advanceTimersByTimeAsync(patience > 0 ? 6000 : 0); // until the answer is used
      await turns();
      return (await sent).status;
    };
    const answer = async (value: string) => {
      const id = store.records.get(run)?.record.checkpoint?.open?.waiting[0]?.id ?? '';
      const results = { [id]: value };
      if (patience > 0) return send('PATCH', run, { results });
      const status = await send('POST', followingId(run), { resume: run, results });
      if (status === 200) run = followingId(run);
      return status;
    };
    expect(await send('POST', run, { input: 'Hi.' })).toBe(200);
    const taken = patience > 0 ? 204 : 200;
    for (const wrong of ['a', 'b', 'c']) expect(await answer(wrong)).toBe(taken); // the first one repeats nothing
    expect(await answer('d')).toBe(429);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(await answer('Ann')).toBe(taken);
    expect(store.records.get(run)?.record.result?.text).toContain('Done.');
  });

  it('a list of runs does not have it', async () => {
    const { service } = serve(() => 'Hi.', { limits });
    await (await post(service, { input: 'Hi' })).text();
    expect(observe(service.runs({ everyOwner: true })).values).toHaveLength(1);
    expect(observe(service.runs({ owner: 'ann' })).values).toHaveLength(1);
  });

  it('writes nothing if there is no limit', async () => {
    const store = mapStore();
    await (await post(serve(() => 'Hi.', { store }).service, { input: 'Hi' })).text();
    expect(store.records.size).toBe(1);
  });
});

describe('the lease of a run', () => {
  const start = (text: string, options: Partial<ServiceOptions<string>>) =>
    serve(({ messages }) => (messages.length > 0 && text === '' ? new Subject<Chunk>() : text), {
      checkpoints: true,
      ...options,
    });

  it.each([
    [30_000, undefined],
    [6000, 6000],
  ])(
    'says after how many milliseconds (%d) another process resumes a run whose process has died',
    async (time, lease) => {
      const store = mapStore();
      const dead = mapStore(store.records, () => {
        if (isDead) throw new Error('dead');
      });
      let isDead = false;
      const id = crypto.randomUUID();
      await post(start('', { store: dead, lease }).service, { input: 'Hi' }, id);
      isDead = true;
      const other = start('Resumed.', { store, lease }).service;
      await jest.advanceTimersByTimeAsync(time - 1);
      expect((await post(other, {}, id)).status).toBe(503);
      await jest.advanceTimersByTimeAsync(1);
      expect(await (await post(other, {}, id)).text()).toContain('Resumed.');
    },
  );

  it('is renewed while the process lives', async () => {
    const store = mapStore();
    const id = crypto.randomUUID();
    await post(start('', { store, lease: 6000 }).service, { input: 'Hi' }, id);
    await jest.advanceTimersByTimeAsync(60_000);
    expect((await post(start('Resumed.', { store, lease: 6000 }).service, {}, id)).status).toBe(503);
  });

  it('is watched once for all readers of a run, while there are any', async () => {
    const records = mapStore();
    let reads = 0;
    const store: RunStore = { ...records, get: (id) => ((reads += 1), records.get(id)) };
    const log: RunLog = { ...memoryLog(), isShared: true };
    const id = crypto.randomUUID();
    await post(start('', { store: records, log }).service, { input: 'Hi' }, id);
    const { service } = start('', { store, log });
    const readers = await Promise.all(Array.from({ length: 100 }, () => post(service, {}, id)));
    reads = 0;
    await jest.advanceTimersByTimeAsync(60_000); // six thirds of a lease
    expect(reads).toBe(6);
    await Promise.all(readers.map(async ({ body }) => body?.cancel()));
    await jest.advanceTimersByTimeAsync(60_000);
    expect(reads).toBe(6);
  });

  it('is given back at a graceful end: a process that shows the run closes its readers at once, which resume it', async () => {
    const store = mapStore();
    const log: RunLog = { ...memoryLog(), isShared: true };
    const id = crypto.randomUUID();
    const first = start('', { store, log });
    const other = start('Resumed.', { store, log });
    await post(first.service, { input: 'Hi' }, id);
    const shown = (await post(other.service, {}, id)).text();
    await turns();
    first.service.shutdown('abandon').subscribe();
    await jest.advanceTimersByTimeAsync(1);
    expect(await shown).not.toMatch(/event: (?:failed|end)|executorLeft/);
    const resumed = await (await post(other.service, {}, id)).text();
    expect(resumed).toContain('Resumed.');
    expect(resumed).not.toContain('executorLeft');
    expect(Date.now()).toBe(1);
    expect([first.errors, other.errors]).toEqual([[], []]);
  });

  it.each([0, 999, Number.NaN, '30000' as unknown as number])('is not %p', (lease) => {
    expect(() => start('', { lease })).toThrow('lease is');
  });
});

describe('ready', () => {
  const states = async (service: { ready: ReturnType<typeof serve>['service']['ready'] }) => {
    const seen = observe(service.ready());
    await jest.advanceTimersByTimeAsync(2000);
    expect(seen.completed).toBe(true);
    return seen.values;
  };
  const all = { isReady: true, store: true, log: true, isEnding: false };
  const away = new Error('The store is away.');

  it('says whether the store and the log answer, and reports why not', async () => {
    expect(await states(serve(() => 'Hi.').service)).toEqual([all]);
    expect(await states(agentHandler(createAgent({ model: scriptedModel(['Hi.']) })))).toEqual([all]);
    const failing = serve(() => 'Hi.', { store: { ...mapStore(), get: () => throwError(() => away) } });
    expect(await states(failing.service)).toEqual([{ ...all, isReady: false, store: false }]);
    expect(failing.errors).toEqual([away]);
    const silent = serve(() => 'Hi.', { log: { ...memoryLog(), state: () => NEVER } });
    expect(await states(silent.service)).toEqual([{ ...all, isReady: false, log: false }]);
  });

  it('is false once the service ends', async () => {
    const { service } = serve(() => 'Hi.');
    observe(service.shutdown());
    expect(await states(service)).toEqual([{ ...all, isReady: false, isEnding: true }]);
  });
});

describe('a database whose connections were ended before the service', () => {
  it.each([
    'Cannot use a pool after calling end on the pool',
    'Client was closed and is not queryable',
    'PGlite is closed',
    'write CONNECTION_ENDED db.example:5432',
    'The client is closed',
    'Connection is closed.',
  ])('costs no time at a shutdown: %s', async (message) => {
    let isEnded = false;
    const calls = { put: 0 };
    const store = mapStore();
    const put: typeof store.put = (...given) => {
      calls.put += 1;
      const call = isEnded ? throwError(() => new Error(message)) : store.put(...given);
      return call.pipe(retryUnreachable(() => true, 30_000));
    };
    const { service, errors } = serve(() => new Subject<Chunk>(), { store: { ...store, put } });
    await post(service, { input: 'Hi' });
    isEnded = true;
    calls.put = 0;
    const ended = observe(service.shutdown());
    await turns();
    expect([ended.completed, Date.now(), calls.put]).toEqual([true, 0, expect.any(Number)]);
    expect(calls.put).toBeLessThanOrEqual(2);
    expect(String(errors[0])).toContain(message);
  });
});
