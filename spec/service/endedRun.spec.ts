import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { NEVER } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { tool } from '../../lib/core/tool.js';
import { typed } from '../../lib/agent/typed.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { shutDown } from '../support/services.js';
import { mapStore } from '../support/stores.js';
import { ignorePrintedErrors } from '../support/printedErrors.js';

ignorePrintedErrors();

beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }));
const handlers: ReturnType<typeof agentHandler>[] = [];
afterEach(() => {
  handlers.splice(0).forEach(shutDown);
  jest.useRealTimers();
});

const usage = { input: 3, output: 2, total: 5 };
/** A process whose agent looks, pays after a decision, and answers with a typed output that needs a repair. */
function startProcess(store: RunStore, log?: RunLog) {
  let looked = 0;
  const look = tool({ name: 'look', description: 'Looks.', execute: () => (looked += 1) });
  const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' });
  const model = scriptedModel(({ messages }) => {
    const turn = messages.filter(({ role }) => role === 'model').length;
    const calls = [toolCall('look', {}, 'c1'), toolCall('pay', {}, 'c2')][turn];
    if (calls) return [calls, { type: 'finish', reason: 'toolCalls', usage }];
    return [turn === 2 ? '{"done":' : '{"done":true}', { type: 'finish', reason: 'stop', usage }];
  });
  const agent = createAgent({ model, tools: [look, pay], output: typed(z.object({ done: z.boolean() })) });
  const handler = agentHandler(agent, { store, log, checkpoints: true, keep: 0 });
  handlers.push(handler);
  return { handler, looked: () => looked };
}
type Handler = ReturnType<typeof agentHandler>;

/** Sends a request, and reads its response for a minute at most. */
async function post(handler: Handler, id: string, body: unknown, lastId?: string) {
  const request = new Request('http://service.test', {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'x-run-id': id, ...(lastId === undefined ? {} : { 'last-event-id': lastId }) },
  });
  let text = '';
  const reading = handler(request).then((response) =>
    response.body
      ?.pipeThrough(new TextDecoderStream())
      .pipeTo(new WritableStream({ write: (part) => void (text += part) })),
  );
  reading.catch(() => undefined);
  await jest.advanceTimersByTimeAsync(60_000);
  const events = [...text.matchAll(/^data: (.*"type".*)$/gm)].map(([, json = '']) => JSON.parse(json) as Event);
  return { text, events };
}
interface Event {
  readonly type: string;
  readonly text?: string;
  readonly usage?: { readonly total: number };
}
const textOf = (events: readonly Event[]) => events.map(({ type, text }) => (type === 'text' ? text : '')).join('');
const totalOf = (events: readonly Event[]) =>
  events.reduce((sum, { type, usage: own }) => sum + (type === 'turn' ? (own?.total ?? 0) : 0), 0);

/** Executes a run that waits, and the run that resumes it. */
async function execute(store: ReturnType<typeof mapStore>, log?: RunLog) {
  const { handler } = startProcess(store, log);
  const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
  await post(handler, first, { input: 'Pay.' });
  const live = await post(handler, second, { resume: first, decisions: { c2: { approve: true } } });
  return { handler, first, second, live: live.events };
}

describe('a run that has ended', () => {
  it('is replayed from its record with the usage of its own turns, and without the text of prompts', async () => {
    const store = mapStore();
    const { second, live } = await execute(store);
    const replayed = await post(startProcess(store).handler, second, {});
    expect(textOf(live)).toBe('{"done":\n{"done":true}');
    expect(textOf(replayed.events)).toBe(textOf(live));
    expect(totalOf(live)).toBe(15);
    expect(totalOf(replayed.events)).toBe(15);
  });

  it('is read from a log that processes share, so that a reader continues after a broken connection', async () => {
    const [store, log] = [mapStore(), { ...memoryLog({ maxAge: Infinity }), isShared: true }];
    const { second, live } = await execute(store, log);
    const { handler } = startProcess(store, log);
    const { events, text } = await post(handler, second, {});
    expect(events).toEqual(live);
    const [, middle = ''] = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id = '']) => id);
    const rest = await post(handler, second, {}, middle);
    expect(rest.events.length).toBeLessThan(events.length);
    expect(events.slice(-rest.events.length)).toEqual(rest.events);
  });

  it('keeps its state while its log is completed, also if that process ends too', async () => {
    const [store, log] = [mapStore(), { ...memoryLog({ maxAge: Infinity }), isShared: true }];
    // Its process has ended after its last write of the record, and before the end of the log.
    const { second } = await execute(store, { ...log, end: () => NEVER });
    const state = () => store.records.get(second)?.record;
    const release = () => {
      const stored = store.records.get(second);
      if (stored) store.records.set(second, { ...stored, record: { ...stored.record, executor: undefined } });
    };
    expect(state()).toMatchObject({ state: 'ended', attempt: 1 });
    release();
    // Another process ends while it completes the log.
    let isDead = false;
    const put: RunStore['put'] = (record, version) => (isDead ? NEVER : store.put(record, version));
    const stuck = startProcess(
      { ...store, put },
      {
        ...log,
        append: (run, attempt, events) => (events.length > 0 ? NEVER : log.append(run, attempt, events)),
        end: () => NEVER,
      },
    );
    await post(stuck.handler, second, {}, '3');
    isDead = true;
    expect(state()).toMatchObject({ state: 'ended', attempt: 2 });
    release();
    const third = startProcess(store, log);
    const { text, events } = await post(third.handler, second, {}, '3');
    expect(text).not.toContain('retry: 2147483647\ndata: {}\n\ndata:'); // a replay from the start, which has no ids
    expect(textOf(events).match(/true/g)).toHaveLength(1);
    expect(events.at(-1)?.type).toBe('result');
    expect(state()).toMatchObject({ state: 'ended', attempt: 3 });
    expect(third.looked()).toBe(0);
  });
});
