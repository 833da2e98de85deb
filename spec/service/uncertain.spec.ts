import { describe, expect, it, jest } from '@jest/globals';
import { concat, defer, firstValueFrom, ignoreElements, NEVER, of, Subject, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { agUiHandler } from '../../lib/agUi.js';
import { uiChatHandler } from '../../lib/service/uiChat/index.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { tool } from '../../lib/core/tool.js';
import { keepChats } from '../../lib/service/chats/keepChats.js';
import { createService } from '../../lib/service/createService.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { mapStore } from '../support/stores.js';
import { inVirtualTime } from '../support/virtualTime.js';
import { ignorePrintedErrors } from '../support/printedErrors.js';

ignorePrintedErrors();

const url = 'http://service.test/api/chat';
const newId = () => crypto.randomUUID();
type Handler = (request: Request) => Promise<Response>;
const json = { 'content-type': 'application/json' };
const post = (handler: Handler, body: unknown, headers: Record<string, string> = {}) =>
  handler(new Request(url, { method: 'POST', body: JSON.stringify(body), headers: { ...json, ...headers } }));
const untilEnd = (work: Observable<never>) => firstValueFrom(work, { defaultValue: undefined });
/** Waits until all that is due at once was done. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A store of which the writes with these numbers fail: after they are done, or before. */
function brokenStore(isBroken: (write: number) => boolean, isDone: boolean) {
  const store = mapStore();
  let writes = 0;
  const put: RunStore['put'] = (record, version) =>
    defer(() => {
      const written = store.put(record, version);
      if (!isBroken(++writes)) return written;
      const failed = throwError(() => new Error('The connection broke.'));
      return isDone ? concat(written.pipe(ignoreElements()), failed) : failed;
    });
  return { ...store, put };
}

describe('a store whose write fails', () => {
  it.each([
    ['before', false],
    ['after', true],
  ])('agentHandler starts the run if the first write fails once, %s it is done', async (_, isDone) => {
    const store = brokenStore((write) => write === 1, isDone);
    const handler = agentHandler(createAgent({ model: scriptedModel(['Done.']) }), { store });
    expect(await (await post(handler, { input: 'Hi' }, { 'x-run-id': newId() })).text()).toContain('Done.');
  });

  it('agentHandler does not take the run of another process whose record was written meanwhile', async () => {
    const records = mapStore();
    const executor = { id: 'other', until: Infinity };
    const put: RunStore['put'] = (record, version) => {
      const written = records.put({ ...record, ...(version === 0 ? { executor } : {}) }, version);
      return version === 0
        ? concat(
            written.pipe(ignoreElements()),
            throwError(() => new Error('Broken.')),
          )
        : written;
    };
    const model = scriptedModel(['Done.']);
    const handler = agentHandler(createAgent({ model }), { store: { ...records, put } });
    expect((await post(handler, { input: 'Hi' }, { 'x-run-id': newId() })).status).toBe(503);
    expect([...records.records.values()]).toMatchObject([{ version: 1, record: { executor: { id: 'other' } } }]);
    expect(model.requests).toEqual([]);
  });

  it('agentHandler leaves no record behind if the first write fails three times', async () => {
    const errors: unknown[] = [];
    const store = brokenStore((write) => write <= 3, true);
    const handler = agentHandler(createAgent({ model: scriptedModel(['Done.']) }), {
      store,
      onError: (thrown) => errors.push(thrown),
    });
    const headers = { 'x-run-id': newId() };
    const response = await inVirtualTime(() => post(handler, { input: 'Hi' }, headers));
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(errors).toMatchObject([{ message: 'The connection broke.' }]);
    expect(store.records.size).toBe(0);
    expect(await (await post(handler, { input: 'Hi' }, headers)).text()).toContain('Done.');
  });

  it.each([1, 2])('agentHandler loses no approval if the store fails %d times after it took it', async (failures) => {
    const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' });
    // Writes: 1 and 2 are the first run; 3 begins the second one, and the next one takes the checkpoint.
    const store = brokenStore((write) => write > 3 && write <= 3 + failures, true);
    const model = scriptedModel([[toolCall('pay', {}, 'c1')], 'Done.']);
    const handler = agentHandler(createAgent({ model, tools: [pay] }), { store });
    const resume = newId();
    await (await post(handler, { input: 'Pay.' }, { 'x-run-id': resume })).text();
    const headers = { 'x-run-id': newId() };
    const body = { resume, decisions: { c1: { approve: true } } };
    const first = await post(handler, body, headers);
    const text = await (first.status === 503 ? await post(handler, body, headers) : first).text();
    expect(text).toContain('Done.');
  });
});

describe('a store that is away', () => {
  const id = newId();
  const requests: readonly (readonly [method: string, query: string, body: object | undefined])[] = [
    ['POST', '', {}],
    ['POST', '', { input: 'Hi' }],
    ['POST', '', { resume: id, results: { c1: 1 } }],
    ['PATCH', '', { results: { c1: 1 } }],
    ['PATCH', '', { input: 'Hi' }],
    ['DELETE', '', undefined],
    ['DELETE', '?call=c1', undefined],
    ['GET', `?file=${id}.0`, undefined],
    ['GET', '?state=waiting', undefined],
    ['GET', '?chats', undefined],
    ['GET', `?chat=${id}`, undefined],
  ];
  it.each(requests)('is answered with 503: %s %s %j', async (method, query, body) => {
    const fail = () => throwError(() => new Error('The database is away.'));
    const errors: unknown[] = [];
    const store = { ...mapStore(), get: fail, put: fail, list: fail };
    const service = createService({
      ...{
        agent: createAgent({ model: scriptedModel(['Done.']) }),
        store,
        chats: keepChats(store as never),
      },
      ...{ checkpoints: true, patience: 60_000, lease: 1000, onError: (thrown: unknown) => errors.push(thrown) },
    });
    const init = { method, headers: { 'x-run-id': newId() }, ...(body ? { body: JSON.stringify(body) } : {}) };
    const response = await agentHandler(service)(new Request(url + query, init));
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(errors).toHaveLength(1);
  });
});

describe('a run that fails before it begins', () => {
  it('has ended: its record has the failure without messages, and nobody can stop it', async () => {
    const store = mapStore();
    const fail = () => throwError(() => new Error('No.'));
    const handler = agentHandler({ stream: fail, resume: fail }, { store, keep: 0 });
    const headers = { 'x-run-id': newId() };
    expect(await (await post(handler, { input: 'Hi' }, headers)).text()).toContain('event: failed');
    expect(store.records.get(headers['x-run-id'])?.record).toMatchObject({ state: 'ended', failure: { messages: [] } });
    expect((await handler(new Request(url, { method: 'DELETE', headers }))).status).toBe(404);
  });
});

describe('a page that has received nothing but the start of its run', () => {
  it('receives the run from another process that resumes it', async () => {
    const options = { store: mapStore(), checkpoints: true };
    const a = agentHandler(createAgent({ model: scriptedModel([() => NEVER]) }), options);
    const b = agentHandler(createAgent({ model: scriptedModel(['Done.']) }), options);
    const headers = { 'x-run-id': newId() };
    await post(a, { input: 'Hi' }, headers);
    await untilEnd(a.shutdown('abandon'));
    const response = await post(b, { input: 'Hi' }, { ...headers, 'last-event-id': '0' });
    expect(await response.text()).toContain('Done.');
  });
});

describe('a log that processes share', () => {
  it('takes the events of the next process when one leaves its runs', async () => {
    const options = { store: mapStore(), log: { ...memoryLog(), isShared: true }, checkpoints: true };
    const chunks = new Subject<Chunk>();
    const a = agentHandler(createAgent({ model: scriptedModel([chunks]) }), options);
    const b = agentHandler(createAgent({ model: scriptedModel(['Done.']) }), options);
    const headers = { 'x-run-id': newId() };
    const first = await post(a, { input: 'Hi' }, headers);
    chunks.next({ type: 'text', text: 'Lost.' });
    await untilEnd(a.shutdown('abandon'));
    const text = await first.text();
    expect(text).not.toMatch(/failed|event: end/);
    const after = /id: ([\d.]+)\n(?!.*id: )/s.exec(text)?.[1] ?? '';
    const rest = await (await post(b, {}, { ...headers, 'last-event-id': after })).text();
    expect(rest).not.toContain('Lost.');
    expect(rest).toMatch(/retract.*Done\..*event: end/s);
    expect(await (await post(b, {}, { ...headers, 'last-event-id': after })).text()).toBe(rest);
  });
});

describe('a thread of AG-UI whose run was resumed', () => {
  it('refuses another run until it has ended, and is not overwritten', async () => {
    const paying = new Subject<string>();
    const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => paying });
    const model = scriptedModel([[toolCall('pay', {}, 'c1')], 'Done.', 'Other.']);
    const store = mapStore();
    const handler = agUiHandler(() => createAgent({ model, tools: [pay] }), { store });
    const body = { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Pay.' }] };
    await (await post(handler, body)).text();
    const resume = [{ interruptId: 'c1', status: 'resolved', payload: { approved: true } }];
    const resumed = await post(handler, { ...body, resume });
    const other = await post(handler, { ...body, runId: 'other' });
    expect([other.status, other.headers.get('retry-after')]).toEqual([503, '1']);
    paying.next('paid');
    paying.complete();
    expect(await resumed.text()).toContain('Done.');
    expect([...store.records.values()]).toMatchObject([{ record: { state: 'ended' } }]);
    expect(await (await post(handler, { ...body, runId: 'other' })).text()).toContain('Other.');
  });

  it('is not overwritten by a run that began before it', async () => {
    const chunks = new Subject<Chunk>();
    const paying = new Subject<string>();
    const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => paying });
    const model = scriptedModel([chunks, [toolCall('pay', {}, 'c1')], 'Done.']);
    const store = mapStore();
    const handler = agUiHandler(() => createAgent({ model, tools: [pay] }), { store });
    const body = { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Pay.' }] };
    const early = await post(handler, { ...body, runId: 'early' });
    await (await post(handler, body)).text();
    const resume = [{ interruptId: 'c1', status: 'resolved', payload: { approved: true } }];
    const resumed = await post(handler, { ...body, resume });
    for (const chunk of [toolCall('pay', {}, 'c9')].flat() as Chunk[]) chunks.next(chunk);
    chunks.next({ type: 'finish', reason: 'toolCalls' });
    chunks.complete();
    expect(await early.text()).toContain('RUN_ERROR');
    paying.next('paid');
    paying.complete();
    expect(await resumed.text()).toContain('Done.');
  });
});

describe('a request that is late', () => {
  const agent = () => createAgent({ model: scriptedModel(() => NEVER) });
  const late = { context: () => NEVER, owner: () => '' };
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }];
  const cases: Readonly<Record<string, readonly [(options: typeof late | undefined) => Handler, unknown]>> = {
    agentHandler: [(options) => agentHandler<never>(agent(), options), { input: 'Hi' }],
    agUiHandler: [(options) => agUiHandler<never>(agent, options), { threadId: 't', runId: 'r', messages: [] }],
    uiChatHandler: [(options) => uiChatHandler<never>(agent(), options), { id: 'chat', messages }],
  };
  const in30Seconds = async (begin: () => Promise<Response>) => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const response = begin();
    for (let step = 0; step < 5; step++) await turn();
    jest.advanceTimersByTime(30_000);
    jest.useRealTimers();
    const { status, headers } = await response;
    return [status, await (await response).text(), headers.get('retry-after')];
  };

  it.each(Object.entries(cases))(
    '%s answers 503 if `context` says nothing for 30 seconds',
    async (_, [create, body]) => {
      expect(await in30Seconds(() => post(create(late), body, { 'x-run-id': newId() }))).toEqual([
        503,
        expect.stringContaining('The service could not identify the client in time. Ask again.'),
        '5',
      ]);
    },
  );

  it.each(Object.entries(cases))('%s answers 408 to a body that does not end in 30 seconds', async (_, [create]) => {
    const body = new ReadableStream<Uint8Array>({ start: (stream) => stream.enqueue(new TextEncoder().encode('{')) });
    const request = new Request(url, {
      method: 'POST',
      headers: { ...json, 'x-run-id': newId() },
      body,
      duplex: 'half',
    } as RequestInit);
    expect(await in30Seconds(() => create(undefined)(request))).toEqual([
      408,
      expect.stringContaining('The body of the request did not arrive in time. Send it again.'),
      null,
    ]);
  });

  it('agentHandler answers 503 to a stop if the store does not answer', async () => {
    const handler = agentHandler(agent(), { store: { ...mapStore(), get: () => NEVER } });
    const stop = () => handler(new Request(url, { method: 'DELETE', headers: { 'x-run-id': newId() } }));
    expect(await in30Seconds(stop)).toEqual([503, expect.stringContaining('does not answer. Ask again.'), '5']);
  });

  it('agentHandler gives a run up whose record the store writes too late', async () => {
    const answers = new Subject<never>();
    const store = mapStore();
    const put: RunStore['put'] = (record, version) =>
      concat(store.put(record, version).pipe(ignoreElements()), answers, of(true));
    const handler = agentHandler(agent(), { store: { ...store, put } });
    const [status] = await in30Seconds(() => post(handler, { input: 'Hi' }, { 'x-run-id': newId() }));
    expect(status).toBe(503);
    await turn();
    expect(store.records.size).toBe(0);
  });

  it.each(['99999', '-1', 'abc', '1e3'])('agentHandler knows no run at the forged position %s', async (position) => {
    const errors: unknown[] = [];
    const handler = agentHandler(createAgent({ model: scriptedModel(['Done.']) }), {
      onError: (thrown) => errors.push(thrown),
    });
    const headers = { 'x-run-id': newId() };
    await (await post(handler, { input: 'Hi' }, headers)).text();
    const forged = await post(handler, {}, { ...headers, 'last-event-id': position });
    expect(await forged.text()).toContain('run_not_found');
    expect(errors).toEqual([]);
  });
});
