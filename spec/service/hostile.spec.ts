import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { concat, concatMap, defer, EMPTY, filter, firstValueFrom, ignoreElements, map, NEVER, of, Subject } from 'rxjs';
import { throwError, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { createAgent } from '../../lib/agent/createAgent.js';
import { agUiHandler } from '../../lib/agUi.js';
import { uiChatHandler } from '../../lib/service/uiChat/index.js';
import { conversation } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { RunResult, StreamEvent } from '../../lib/core/event.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { AgentHandlerOptions } from '../../lib/service/http/agentHandler.js';
import { Executor } from '../../lib/service/runs/executeRun.js';
import { ExecutorLostError } from '../../lib/service/runs/runErrors.js';
import { writeFirst } from '../../lib/service/runs/writeFirst.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import type { RunRecord, RunStore, StoredRun } from '../../lib/service/ports/runStore.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';
import { lateStore, mapStore } from '../support/stores.js';
import { ignorePrintedErrors } from '../support/printedErrors.js';

ignorePrintedErrors();

const url = 'http://service.test/api/chat';
const newId = () => crypto.randomUUID();
type Handler = (request: Request) => Promise<Response>;
const json = { 'content-type': 'application/json' };
const post = (handler: Handler, body: unknown, headers: Record<string, string> = {}) =>
  handler(new Request(url, { method: 'POST', body: JSON.stringify(body), headers: { ...json, ...headers } }));
const owned = { context: (request: Request) => request.headers.get('x-user') ?? 'ann', owner: (name: string) => name };
const endless = () => createAgent({ model: scriptedModel(() => NEVER) });
const virtual = (body: (flush: () => void) => void) =>
  new TestScheduler(() => undefined).run(({ flush }) => body(flush));
const untilEnd = (work: Observable<never>) => firstValueFrom(work, { defaultValue: undefined });
/** Waits until all that is due at once was done. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

const chatMessages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }];
const agUiBody = { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Hi' }] };

describe('uiChatHandler with two users', () => {
  const send = (handler: Handler, method: string, user = 'ann') =>
    handler(new Request(`${url}/chat/stream`, { method, headers: { 'x-user': user } }));

  it('the request of another user does not take the run of a chat away from its owner', async () => {
    const handler = uiChatHandler<string>(endless(), { ...owned, grace: 1000 });
    await post(handler, { id: 'chat', messages: chatMessages });
    await post(handler, { id: 'chat', messages: chatMessages }, { 'x-user': 'eve' });
    const joined = await send(handler, 'GET');
    expect(joined.status).toBe(200);
    await send(handler, 'DELETE');
    expect(await joined.text()).toContain('"abort"');
    await untilEnd(handler.shutdown());
  });

  it.each([
    ['ann', '"abort"'],
    ['eve', 'Late.'],
  ])('a stop of %s while the store writes the run of ann is obeyed only if it is hers', async (user, end) => {
    const written = new Subject<never>();
    const records = mapStore();
    const put: RunStore['put'] = (record, version) =>
      concat(version === 0 ? written : EMPTY, records.put(record, version));
    const handler = uiChatHandler<string>(createAgent({ model: scriptedModel(() => ['Late.']) }), {
      ...owned,
      store: { ...records, put },
    });
    const response = post(handler, { id: 'chat', messages: chatMessages });
    while (!written.observed) await turn();
    await send(handler, 'DELETE', user);
    written.complete();
    expect(await (await response).text()).toContain(end);
  });
});

describe('another user who knows the id of a run that is being started', () => {
  it.each(['the owner', 'the other user'])(
    'neither stops nor delays it if the request of %s comes first',
    async (first) => {
      const asked = new Subject<never>();
      const records = mapStore();
      const handler = agentHandler<string>(createAgent({ model: scriptedModel(() => ['All of it.']) }), {
        ...owned,
        store: { ...records, get: (id) => concat(asked, records.get(id)) },
      });
      const run = newId();
      const start = () => post(handler, { input: 'Hi' }, { 'x-run-id': run });
      const early = first === 'the owner' ? start() : undefined;
      const joined = post(handler, {}, { 'x-run-id': run, 'x-user': 'eve' });
      const response = early ?? start();
      const stop = new Request(url, { method: 'DELETE', headers: { 'x-run-id': run, 'x-user': 'eve' } });
      while (!asked.observed) await turn();
      for (let n = 0; n < 3; n += 1) await turn(); // the other request waits too
      const stopped = handler(stop);
      await turn();
      asked.complete();
      await stopped; // it may stop its own request, which has the same id
      expect(await (await joined).text()).toContain('run_not_found');
      const text = await (await response).text();
      expect(text).toContain('All of it.');
      expect(text).not.toContain('"stopped"');
    },
  );
});

describe('a run whose record is gone', () => {
  it('agentHandler does not give its events to another owner', async () => {
    const store = mapStore();
    const handler = agentHandler<string>(createAgent({ model: scriptedModel(() => ['My secret.']) }), {
      ...owned,
      store,
    });
    const headers = { 'x-run-id': newId() };
    await (await post(handler, { input: 'Hi' }, headers)).text();
    store.records.clear();
    const response = await post(handler, { input: 'Hi' }, { ...headers, 'x-user': 'eve' });
    expect([response.status, await response.text()]).toEqual([409, expect.not.stringContaining('secret')]);
    expect(await (await post(handler, {}, headers)).text()).toContain('secret');
  });
});

describe('a shutdown that leaves the runs to another process', () => {
  afterEach(() => void jest.useRealTimers());
  const options = (): AgentHandlerOptions => ({ store: lateStore(), checkpoints: true });

  it('agentHandler completes it when the records say so, refuses requests, and ends no response', async () => {
    const store = mapStore();
    const handler = agentHandler(endless(), { store: lateStore(store), checkpoints: true });
    const headers = { 'x-run-id': newId() };
    const response = await post(handler, { input: 'Hi' }, headers);
    expect(store.records.get(headers['x-run-id'])?.record.executor).toBeDefined();
    await untilEnd(handler.shutdown('abandon'));
    expect(store.records.get(headers['x-run-id'])?.record).toMatchObject({ state: 'running' });
    expect(store.records.get(headers['x-run-id'])?.record.executor).toBeUndefined();
    expect(await response.text()).not.toMatch(/failed|run_abandoned|event: end/);
    const refused = await post(handler, {}, headers);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.text()).toContain('This process ends. Ask again.');
  });

  it('a page shows the run as if there had been one process', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const shared = options();
    const first = scriptedModel(() => concat(of<Chunk>({ type: 'text', text: 'Lost.' }), NEVER));
    const a = agentHandler(createAgent({ model: first }), shared);
    const b = agentHandler(createAgent({ model: scriptedModel(['Done.']) }), shared);
    let current: Handler = a;
    const agent = remoteAgent(url, { fetch: (input, init) => current(new Request(input, init)), retryDelay: 1 });
    const chat = conversation(agent);
    const ended = firstValueFrom(
      chat.view$.pipe(filter(({ exchanges, status }) => exchanges.length > 0 && ['idle', 'failed'].includes(status))),
    );
    chat.send('Hi');
    while (first.requests.length === 0) await jest.advanceTimersByTimeAsync(1);
    const leaving = untilEnd(a.shutdown('abandon'));
    await jest.advanceTimersByTimeAsync(500);
    await leaving;
    current = b;
    await jest.advanceTimersByTimeAsync(5000);
    expect((await ended).status).toBe('idle');
    expect(JSON.stringify(chat.view)).toContain('Done.');
  });
});

describe('memoryStore', () => {
  const record = (id: string, owner: string, fields: Partial<RunRecord>): RunRecord => ({
    id,
    owner,
    updated: 0,
    attempt: 1,
    input: [],
    state: 'waiting',
    ...fields,
  });
  const big = [{ role: 'user', parts: [{ type: 'text', text: 'x'.repeat(1000) }] }] as const;

  it.each([
    ['running', { state: 'running', executor: { id: 'e', until: Infinity } }],
    ['waiting', {}],
    ['ended', { state: 'ended' }],
  ] as const)('keeps the waiting run of one owner in a flood of %s runs of another', async (_, fields) => {
    const store = memoryStore({ maxBytes: 10_000 });
    await firstValueFrom(store.put(record('mine', 'ann', {}), 0));
    for (let n = 0; n < 50; n++) await firstValueFrom(store.put(record(`e${n}`, 'eve', { ...fields, input: big }), 0));
    expect((await firstValueFrom(store.get('mine')))?.record.state).toBe('waiting');
    const kept = (await firstValueFrom(store.list({ owner: 'eve' }))).records.length;
    expect(kept).toBe('executor' in fields ? 50 : 4);
  });
});

const result = { type: 'result', result: { messages: [], text: '' } as unknown as RunResult } as StreamEvent;

describe('the record of a run', () => {
  const execute = (store: RunStore, source: Observable<StreamEvent>, checkpoints = false, stored?: StoredRun) => {
    const errors: unknown[] = [];
    const executor = new Executor(store, {
      checkpoints,
      describe: () => ({ code: 'internal' }),
      onError: (thrown) => errors.push(thrown),
    });
    const log = observe<StreamEvent>(
      executor
        .execute({ record: { id: 'r', owner: '', input: [] }, stored, events: () => source })
        .pipe(concatMap((events) => events({ stop: NEVER, cancel: NEVER, prompts: NEVER }))),
    );
    return { log, errors, executor };
  };

  it('is renewed each 10 seconds, until the run ends', () => {
    virtual((flush) => {
      const untils: (number | undefined)[] = [];
      const store = mapStore(undefined, ({ executor }) => untils.push(executor?.until));
      const { log } = execute(store, timer(25_000).pipe(map(() => result)));
      flush();
      expect(untils).toEqual([30_000, 40_000, 50_000, undefined]);
      expect(log.completed).toBe(true);
    });
  });

  it('is released at once if the run is left, and no timer remains', () => {
    virtual((flush) => {
      const untils: (number | undefined)[] = [];
      const store = mapStore(undefined, ({ executor }) => untils.push(executor?.until));
      const { log } = execute(store, NEVER);
      log.subscription.unsubscribe();
      flush();
      expect(untils).toEqual([30_000, undefined]);
    });
  });

  it('is what it was before if the request ends while the run is taken over', () => {
    const before: RunRecord = { id: 'r', owner: '', input: [], state: 'waiting', updated: 0, attempt: 1 };
    const store = mapStore();
    observe(store.put(before, 0));
    const written = new Subject<never>();
    const put: RunStore['put'] = (record, version) =>
      concat(store.put(record, version).pipe(ignoreElements()), version === 1 ? written : EMPTY, of(true));
    const { log, errors } = execute({ ...store, put }, NEVER, false, { record: before, version: 1 });
    expect(store.records.get('r')?.record).toMatchObject({ state: 'running', attempt: 2 });
    log.subscription.unsubscribe();
    written.complete();
    expect([store.records.get('r')?.record, errors]).toEqual([before, []]);
  });

  it('ends the run if another process has taken it over', () => {
    virtual((flush) => {
      const store = mapStore();
      const { log } = execute(store, NEVER);
      const taken = store.records.get('r');
      if (taken) store.records.set('r', { ...taken, version: taken.version + 1 });
      flush();
      expect(log.error).toMatchObject({ code: 'run_taken' });
    });
  });

  it.each([
    ['before it writes', false],
    ['after it has written', true],
  ])('survives a store that fails once %s a renewal', (_, isWritten) => {
    virtual((flush) => {
      const store = mapStore();
      let puts = 0;
      const put: RunStore['put'] = (record, version) =>
        defer(() => {
          const written = store.put(record, version);
          const failed = throwError(() => new Error('The connection broke.'));
          if (++puts !== 2) return written;
          return isWritten ? concat(written.pipe(ignoreElements()), failed) : failed;
        });
      const { log } = execute({ ...store, put }, timer(25_000).pipe(map(() => result)));
      flush();
      expect([log.error, log.completed]).toEqual([undefined, true]);
      expect(store.records.get('r')?.record.state).toBe('ended');
    });
  });

  it('reports why a run failed if its end cannot be written: whoever reads the record next settles it', () => {
    virtual((flush) => {
      const store = mapStore(undefined, ({ state }) => {
        if (state === 'ended') throw new Error('The store is away.');
      });
      const { log, errors } = execute(
        store,
        concat(
          of({ type: 'text', text: 'a' }),
          throwError(() => new Error('Why')),
        ),
      );
      flush();
      expect(log.error).toBeInstanceOf(ExecutorLostError);
      expect(errors).toMatchObject([{ message: 'Why' }]);
    });
  });

  it('passes each event before the error of the run, also those that wait for the store', () => {
    virtual((flush) => {
      const written = observe(
        concat(
          of('a', 'b'),
          throwError(() => new Error('no')),
        ).pipe(writeFirst((event) => (event === 'a' ? timer(5).pipe(ignoreElements()) : undefined))),
      );
      flush();
      expect([written.values, written.error]).toEqual([['a', 'b'], expect.objectContaining({ message: 'no' })]);
    });
  });
});

describe('a store that never answers', () => {
  const bodies: Readonly<Record<string, readonly [(store: RunStore) => Handler, unknown]>> = {
    agentHandler: [(store) => agentHandler(endless(), { store }), { input: 'Hi' }],
    agUiHandler: [(store) => agUiHandler(endless, { store }), { ...agUiBody, resume: [] }],
    uiChatHandler: [
      (store) => uiChatHandler(endless(), { store }),
      { id: 'chat', messages: [...chatMessages, { id: 'a', role: 'assistant', parts: [] }] },
    ],
  };

  it.each(Object.entries(bodies))('%s answers 503 after 30 seconds', async (_, [create, body]) => {
    const asked = new Subject<void>();
    const isAsked = firstValueFrom(asked, { defaultValue: undefined });
    const get = () =>
      defer(() => {
        asked.complete();
        return NEVER;
      });
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const response = post(create({ ...mapStore(), get }), body, { 'x-run-id': newId() });
    await isAsked;
    jest.advanceTimersByTime(30_000);
    jest.useRealTimers();
    const { status, headers } = await response;
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    expect(await (await response).text()).toContain('The store of the service does not answer. Ask again.');
  });
});

describe('ids, types and owners', () => {
  const agent = () => createAgent({ model: scriptedModel(() => ['Hi']) });
  /** Handlers, and the ids that their store and their context have seen. */
  function createHandlers() {
    const seen: string[] = [];
    const store: RunStore = {
      ...mapStore(),
      get: (id) => {
        seen.push(id);
        return of(undefined);
      },
    };
    return {
      seen,
      agUiHandler: agUiHandler(agent, { store }),
      uiChatHandler: uiChatHandler(agent(), {
        store,
        context: (_request, _incoming, id) => void seen.push(id),
        owner: () => '',
      }),
    };
  }

  it.each(['../../etc/passwd', '__proto__', 'x'.repeat(200_000), '', 'a\nb', '\ud800'])(
    'the name %# reaches no store as it is, nor the context',
    async (name) => {
      const { seen, ...handlers } = createHandlers();
      const isLong = name === '' || name.length > 200 || !/^[ -~]*$/.test(name);
      const answer = { id: name, role: 'assistant', parts: [] };
      const statuses = [
        (await post(handlers.agUiHandler, { ...agUiBody, threadId: name, resume: [] })).status,
        (await post(handlers.uiChatHandler, { id: name, messages: chatMessages })).status,
        (await post(handlers.uiChatHandler, { id: 'chat', messages: [...chatMessages, answer] })).status,
        ...(isLong ? [(await post(handlers.agUiHandler, { ...agUiBody, runId: name })).status] : []),
      ];
      expect(statuses).toEqual(statuses.map(() => (isLong ? 400 : 200)));
      for (const id of seen) expect(id).toMatch(/^[\w.~:%!'()*/-]{1,1000}$/);
    },
  );

  it('uiChatHandler answers 400 to a URL that is not valid', async () => {
    const { uiChatHandler: handler } = createHandlers();
    for (const id of ['%E0%A4%A', '%00', 'x'.repeat(201)])
      expect((await handler(new Request(`${url}/${id}/stream`))).status).toBe(400);
  });

  it.each([
    ['agUiHandler', agUiBody],
    ['uiChatHandler', { id: 'chat', messages: chatMessages }],
  ] as const)('%s refuses what a page of another site can send without asking', async (name, body) => {
    const handlers = createHandlers();
    const statusOf = async (type: string) => (await post(handlers[name], body, { 'content-type': type })).status;
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/plain; application/json', ''])
      expect(await statusOf(type)).toBe(415);
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON'])
      expect(await statusOf(type)).toBe(200);
  });

  it('an owner that is not a text is refused', async () => {
    const errors: unknown[] = [];
    const owner = () => undefined as unknown as string;
    const options = { context: () => 1, owner, onError: (thrown: unknown) => errors.push(thrown) };
    const response = await post(agentHandler<number>(agent(), options), { input: 'Hi' }, { 'x-run-id': newId() });
    expect([response.status, errors]).toEqual([403, [expect.objectContaining({ code: 'configuration' })]]);
  });
});
