import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { concat, defer, EMPTY, ignoreElements, NEVER } from 'rxjs';
import type { Observable } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../../../lib/agent/createAgent.js';
import { typed } from '../../../../lib/agent/typed.js';
import { conversation } from '../../../../lib/chat/conversation.js';
import { remoteAgent } from '../../../../lib/chat/remoteAgent.js';
import type { Message } from '../../../../lib/core/message.js';
import { tool } from '../../../../lib/core/tool.js';
import { memoryLog } from '../../../../lib/service/stores/memory/memoryLog.js';
import { scriptedModel, toolCall } from '../../../../lib/testing/index.js';
import type { ScriptedTurn } from '../../../../lib/testing/index.js';
import { agentTool } from '../../../../lib/tools/agentTool.js';
import { openDurableService } from '../../../support/durableService.js';
import { lateLog, lateStore, mapStore } from '../../../support/stores.js';

const cleanups: (() => void)[] = [];
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }));
afterEach(() => {
  for (const cleanUp of cleanups.splice(0)) cleanUp();
  jest.useRealTimers();
});

const turnOf = (messages: readonly Message[]) =>
  messages.slice(messages.findIndex(({ role }) => role === 'user')).filter(({ role }) => role === 'model').length;
const pause = { delay: 15 };
const outer: readonly ScriptedTurn[] = [
  ['Two ', pause, 'calls. ', toolCall('look', {}, 'a1'), toolCall('look', {}, 'a2')],
  ['Ask ', pause, 'an agent. ', toolCall('ask', { prompt: 'Please.' }, 'b1'), toolCall('look', {}, 'b2')],
  [pause, '{"done":'], // it is asked for a repair
  [pause, '{"done":', pause, 'true}'],
];
const inner = (name: string): readonly ScriptedTurn[] => [
  ['Inner. ', pause, toolCall(name, {}, 'i1')],
  ['More. ', pause, toolCall('look', {}, 'i2')],
  ['Inner ', pause, 'done.'],
];

interface Kill {
  /** The number of the write at which the worker is killed. */
  readonly at: number;
  readonly when: 'before' | 'after';
}

/** Lets a page ask, and returns what it shows in the end. The store and the log answer late. */
async function ask(inside: string, [storeTime, logTime]: readonly [number, number], kill?: Kill) {
  const store = lateStore(mapStore(), () => storeTime);
  const log = lateLog(memoryLog(), () => logTime);
  const service = openDurableService(cleanups, { store, log });
  let writes = 0;
  let isKilled = false;
  const killedAt = <T>(write: Observable<T>): Observable<T> =>
    defer(() => {
      if (++writes !== kill?.at) return write;
      const death = defer(() => {
        isKilled = true;
        worker.die();
        return NEVER;
      });
      return concat(kill.when === 'after' ? write.pipe(ignoreElements()) : EMPTY, death);
    });
  const look = tool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    needsApproval: true,
    atMostOnce: false,
    execute: () => 'paid',
  });
  const model = scriptedModel(({ messages }) => inner(inside)[turnOf(messages)] ?? [], { keep: 0 });
  const asked = agentTool(createAgent({ model, tools: [look, pay] }), { name: 'ask', description: 'Asks.' });
  const worker = service.supervise({
    script: (messages) => outer[turnOf(messages)] ?? [],
    tools: [look, asked],
    agent: { output: typed(z.object({ done: z.boolean() })) },
    store: { ...store, put: (record, version) => killedAt(store.put(record, version)) },
    log: {
      ...log,
      append: (run, attempt, events) => killedAt(log.append(run, attempt, events)),
      end: (run, attempt, end) => killedAt(log.end(run, attempt, end)),
    },
  });
  const front = service.front();
  const page = conversation(
    remoteAgent('http://service.test', { fetch: (url, init) => front(new Request(url, init)), retryDelay: 20 }),
  );
  const reading = page.view$.subscribe();
  page.send('Hi');
  for (let time = 0; time < 60_000 && !['idle', 'failed', 'stopped'].includes(page.view.status); time += 50) {
    await jest.advanceTimersByTimeAsync(50);
    for (const { id } of page.view.waiting) page.decide(id, { approve: true });
  }
  const { status, exchanges } = page.view;
  reading.unsubscribe();
  for (const cleanUp of cleanups.splice(0)) cleanUp();
  const shown = exchanges.map(({ messages, usage }) => ({ usage, parts: messages.map(({ parts }) => parts) }));
  return { writes, isKilled, view: JSON.parse(JSON.stringify({ status, shown })) as object };
}

describe('a page whose run goes on after its worker was killed at any write', () => {
  it.each([
    ['calls a tool', 'look', [0, 0]],
    ['calls a tool', 'look', [6, 1]],
    ['waits for a person', 'pay', [0, 0]],
    ['waits for a person', 'pay', [6, 1]],
  ] as const)(
    'shows what it shows otherwise: an agent in it %s (%s), with delays of %j ms',
    async (_, inside, times) => {
      const expected = await ask(inside, times);
      expect(expected).toMatchObject({ isKilled: false, view: { status: 'idle' } });
      for (let at = 1; at <= expected.writes; at++)
        for (const when of ['before', 'after'] as const) {
          const { isKilled, view } = await ask(inside, times, { at, when });
          expect({ at, when, isKilled, view }).toEqual({ at, when, isKilled: true, view: expected.view });
        }
    },
    60_000,
  );
});
