import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { defer, EMPTY } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../../../lib/agent/createAgent.js';
import { tool } from '../../../../lib/core/tool.js';
import { agentHandler } from '../../../../lib/service/http/agentHandler.js';
import { Kernel } from '../../../../lib/service/kernel.js';
import { executeStored } from '../../../../lib/service/stores/dbos/executeStored.js';
import type { OwnerLimitOptions } from '../../../../lib/service/ownerLimits.js';
import type { HandledAgent } from '../../../../lib/service/handledAgent.js';
import { memoryLog } from '../../../../lib/service/stores/memory/memoryLog.js';
import { scriptedModel, toolCall } from '../../../../lib/testing/index.js';
import type { ScriptedTurn } from '../../../../lib/testing/index.js';
import { userMessage } from '../../../../lib/core/message.js';
import { observe } from '../../../support/observe.js';
import { shutDown } from '../../../support/services.js';
import { mapStore } from '../../../support/stores.js';

const handlers: object[] = [];
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }));
afterEach(() => {
  handlers.splice(0).forEach(shutDown);
  jest.useRealTimers();
});

const newId = () => crypto.randomUUID();

/** A front and a worker over one store and one log. The queue is a list of what the front enqueued. */
function startService(script: readonly ScriptedTurn[], store = mapStore(), limits: OwnerLimitOptions = {}) {
  const shared = { store, log: { ...memoryLog(), isShared: true } };
  const enqueued: [string, unknown][] = [];
  const contexts: unknown[] = [];
  const owner = () => 'ann';
  const model = scriptedModel(script);
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({}),
    needsApproval: true,
    execute: (_, { context }: { context: unknown }) => {
      contexts.push(context);
      return 'paid';
    },
  });
  const agent: HandledAgent<string> = createAgent({ model, tools: [pay] });
  const enqueue = (id: string, context: string) =>
    defer(() => {
      enqueued.push([id, context]);
      return EMPTY;
    });
  const names = { queue: 'rivulet', version: '1' };
  const durable = { names, enqueue, resume: () => EMPTY, cancel: () => EMPTY };
  const front = agentHandler<string>({ ...agent, durable }, { ...shared, context: () => 'Ann', owner, limits });
  const worker = new Kernel<string>({ agent, ...shared, owner, checkpoints: true });
  handlers.push(front, worker);
  const send = (method: string, id: string, body?: unknown) =>
    front(
      new Request('http://service.test', {
        method,
        headers: { 'x-run-id': id },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  const post = (id: string, body: unknown) => send('POST', id, body);
  const execute = async (id: string) => {
    const execution = observe(executeStored(worker)(id, 'Ann', (_, run) => run(() => undefined)));
    await jest.advanceTimersByTimeAsync(5000);
    return execution;
  };
  const logged = (id: string) => observe(shared.log.read(id)).values.map(({ event }) => event);
  return { ...shared, model, enqueued, contexts, send, post, execute, logged };
}

describe('agentHandler of a durable agent', () => {
  it('enqueues a run with its context, and sends what the worker does with it', async () => {
    const { store, enqueued, post, execute, logged, model } = startService(['Hello.', 'Again.']);
    const [first, second] = [newId(), newId()];
    const response = await post(first, { input: 'a' });
    expect(enqueued).toEqual([[first, 'Ann']]);
    expect(store.records.get(first)?.record).toMatchObject({ owner: 'ann', state: 'running', attempt: 0 });
    expect(await execute(first)).toMatchObject({ values: [], error: undefined, completed: true });
    expect(await response.text()).toContain('Hello.');
    expect(store.records.get(first)?.record).toMatchObject({ state: 'ended', attempt: 1, owner: 'ann' });
    expect(logged(first).at(-1)).toMatchObject({ type: 'result', result: { finishReason: 'stop' } });
    await post(second, { input: 'b', history: [{ id: first, input: [userMessage('a')] }] });
    await execute(second);
    expect(model.requests[1]?.messages).toHaveLength(3);
    for (const id of [second, newId()])
      // it has ended, and its log too; there is no such run
      expect(await execute(id)).toMatchObject({ values: [], error: undefined, completed: true });
    expect(model.requests).toHaveLength(2);
  });

  it('enqueues no run that has more bytes than the runs of its owner may have', async () => {
    const { store, enqueued, post } = startService(['Hello.'], mapStore(), { maxOwnerBytes: 1000 });
    expect((await post(newId(), { input: 'a' })).status).toBe(200);
    const response = await post(newId(), { input: 'a'.repeat(1000) });
    expect([response.status, await response.text()]).toEqual([413, expect.stringContaining('at most 1000 bytes')]);
    expect([enqueued.length, store.records.size]).toEqual([1, 1]);
  });

  it('resumes a run that waits, and notes a call before it is executed', async () => {
    const begun: unknown[] = [];
    const store = mapStore(new Map(), (record) => begun.push(record.begun?.length));
    const script = [[toolCall('pay', {}, 'p')], 'Done.'];
    const { enqueued, post, execute, contexts } = startService(script, store);
    const [first, second] = [newId(), newId()];
    await post(first, { input: 'a' });
    await execute(first);
    expect(store.records.get(first)?.record.state).toBe('waiting');
    const response = await post(second, { resume: first, decisions: { p: { approve: true } } });
    expect(enqueued.map(([id]) => id)).toEqual([first, second]);
    await execute(second);
    expect(await response.text()).toContain('Done.');
    expect(contexts).toEqual(['Ann']);
    expect(begun).toContain(1);
  });

  it('completes the log of a run whose process ended after the last write of its record', async () => {
    const { store, log, post, execute, logged, model } = startService(['Hello.']);
    const [id, other] = [newId(), newId()];
    await post(id, { input: 'a' });
    await execute(id);
    const ended = store.records.get(id);
    if (ended) store.records.set(other, { record: { ...ended.record, id: other }, version: 1 });
    observe(log.append(other, 1, []));
    expect(await execute(other)).toMatchObject({ error: undefined, completed: true });
    expect(logged(other).map(({ type }) => type)).toEqual(expect.arrayContaining(['retract', 'text', 'result']));
    expect(observe(log.read(other)).completed).toBe(true);
    expect(store.records.get(other)?.record).toMatchObject({ state: 'ended', attempt: 2 });
    expect(model.requests).toHaveLength(1);
  });

  it('a run that is not executed yet ends at once when it is stopped, and is not executed later', async () => {
    const { store, log, model, send, post, execute } = startService([]);
    const id = newId();
    const response = await post(id, { input: 'a' });
    expect((await send('DELETE', id)).status).toBe(204);
    expect(store.records.get(id)?.record).toMatchObject({ state: 'ended', result: { finishReason: 'stopped' } });
    expect(observe(log.read(id)).completed).toBe(true);
    expect(await response.text()).toMatch(/"finishReason":"stopped"[^]*event: end/);
    expect(await execute(id)).toMatchObject({ values: [], completed: true });
    expect(model.requests).toEqual([]);
  });

  it('a run that a worker executes is stopped by it', async () => {
    const { store, log, send, post } = startService([]);
    const id = newId();
    await post(id, { input: 'a' });
    const messages = observe(log.messages(id));
    const stored = store.records.get(id);
    const executor = { id: 'w', until: Date.now() + 30_000 };
    if (stored) store.records.set(id, { ...stored, record: { ...stored.record, executor } });
    expect((await send('DELETE', id)).status).toBe(204);
    expect(messages.values.map(({ message }) => message)).toEqual([{ type: 'stop' }]);
  });
});
