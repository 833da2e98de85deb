import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { concat, concatMap, defer, filter, ignoreElements, NEVER, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { ScriptedTurn } from '../../lib/testing/index.js';
import { mapStore } from '../support/stores.js';
import { ignorePrintedErrors } from '../support/printedErrors.js';

ignorePrintedErrors();

beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }));
afterEach(() => void jest.useRealTimers());

const usage = { input: 3, output: 2, total: 5 };
const scriptOf = ({ messages }: { readonly messages: readonly unknown[] }): ScriptedTurn => {
  const finish = (reason: 'stop' | 'toolCalls') => ({ type: 'finish', reason, usage }) as const;
  if (messages.length === 1)
    return [
      { type: 'thinking', text: 'Hm.' },
      'Let me ',
      'see. ',
      toolCall('add', { to: 1 }, 'c1'),
      finish('toolCalls'),
    ];
  if (messages.length === 3)
    return ['Two more. ', toolCall('add', { to: 2 }, 'c2'), toolCall('add', { to: 3 }, 'c3'), finish('toolCalls')];
  return [{ type: 'thinking', text: 'So.' }, 'That ', 'is ', 'six.', finish('stop')];
};

/** A process: what it reads and writes ends for ever when it is killed, at one of its writes. */
class Process {
  isDead = false;
  writes = 0;
  readonly executed: number[] = [];
  private readonly connections = new Set<() => void>();

  /**
   * @param killAt The number of the write at which it is killed. Default: never.
   * @param isDone Whether that write is done.
   */
  constructor(
    store: RunStore,
    log: RunLog,
    private readonly killAt = Infinity,
    private readonly isDone = false,
  ) {
    const model = scriptedModel(scriptOf);
    const add = tool({
      name: 'add',
      description: 'Adds one.',
      parameters: z.object({ to: z.number() }),
      execute: ({ to }) => timer(60).pipe(concatMap(() => (this.isDead ? NEVER : (this.executed.push(to), [to + 1])))),
    });
    this.handler = agentHandler(createAgent({ model, tools: [add] }), {
      checkpoints: true,
      store: {
        ...store,
        get: (id) => this.read(store.get(id)),
        put: (record, version) => this.write(store.put(record, version)),
      },
      log: {
        isShared: true,
        append: (run, attempt, events) => this.write(concat(log.append(run, attempt, events), pause)),
        end: (run, attempt, end) => this.write(log.end(run, attempt, end)),
        read: (run, from) => this.read(log.read(run, from)),
        state: (run) => this.read(log.state(run)),
        send: (run, message) => this.read(log.send(run, message)),
        messages: (run, from) => this.read(log.messages(run, from)),
      },
    });
  }

  private readonly handler: (request: Request) => Promise<Response>;

  readonly fetch = async (request: Request): Promise<Response> => {
    if (this.isDead) throw new TypeError('fetch failed');
    const gone = new Promise<never>((_, reject) => this.connections.add(() => reject(new TypeError('fetch failed'))));
    const response = await Promise.race([this.handler(request), gone]);
    if (this.hasDied()) throw new TypeError('fetch failed');
    const reader = response.body?.getReader();
    if (!reader) return response;
    const cut = new AbortController();
    this.connections.add(() => cut.abort());
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => cut.signal.addEventListener('abort', () => controller.error(new Error('cut'))),
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (cut.signal.aborted) return;
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => reader.cancel(),
    });
    return new Response(body, response);
  };

  private hasDied(): boolean {
    return this.isDead; // it may have died while the handler worked
  }

  kill(): void {
    this.isDead = true;
    for (const cut of this.connections) cut();
  }

  private read<T>(work: Observable<T>): Observable<T> {
    return defer(() => (this.isDead ? NEVER : work)).pipe(filter(() => !this.isDead));
  }
  private write<T>(work: Observable<T>): Observable<T> {
    return defer(() => {
      if (this.isDead) return NEVER;
      this.writes += 1;
      if (this.writes !== this.killAt) return work;
      const last = this.isDone ? concat(work.pipe(ignoreElements()), NEVER) : NEVER;
      queueMicrotask(() => this.kill());
      return last;
    });
  }
}

/** The log is slower than the store, as one that writes in intervals. */
const pause = timer(40).pipe(ignoreElements());

/** Sends a prompt to the first of two processes, which may be killed. Then the page finds the second one. */
async function chat(killAt?: number, isDone?: boolean) {
  const [store, log] = [mapStore(), memoryLog()];
  const first = new Process(store, log, killAt, isDone);
  const second = new Process(store, log);
  const fetch = (url: unknown, init?: RequestInit) => {
    const request = new Request(String(url), init);
    return (first.isDead ? second : first).fetch(request);
  };
  const page = conversation(remoteAgent('http://service.test/', { fetch, retryDelay: 50, retries: 100 }));
  const reading = page.view$.subscribe();
  page.send('Add.');
  for (let step = 0; step < 400 && !['idle', 'failed', 'stopped'].includes(page.view.status); step++)
    await jest.advanceTimersByTimeAsync(250);
  reading.unsubscribe();
  const [exchange] = page.view.exchanges;
  const all = exchange?.messages.flatMap(({ parts }) => parts) ?? [];
  // A record has the thinking as one text: its place between the turns is lost with the log.
  const thinking = all.map((part) => (part.type === 'thinking' ? part.text : '')).join('');
  const parts = all.filter(({ type }) => type !== 'thinking');
  const view = { status: page.view.status, error: exchange?.error, thinking, parts, usage: exchange?.usage };
  return { view, first, second };
}

describe('several fronts over one store and one log', () => {
  it('a run continues on another front after its process was killed at any write, and is shown as an undisturbed one', async () => {
    const undisturbed = await chat();
    expect(undisturbed.view.status).toBe('idle');
    expect(undisturbed.first.executed).toEqual([1, 2, 3]);
    expect(undisturbed.first.writes).toBeGreaterThan(12);
    const wrong: unknown[] = [];
    for (let killAt = 1; killAt <= undisturbed.first.writes; killAt++) {
      for (const isDone of [false, true]) {
        const { view, first, second } = await chat(killAt, isDone);
        const executed = [...first.executed, ...second.executed];
        // A call without a stored result is executed again.
        const isExecuted = [...new Set(executed)].sort().join() === '1,2,3' && executed.length <= 4;
        if (!isExecuted || JSON.stringify(view) !== JSON.stringify(undisturbed.view))
          wrong.push({ killed: `${isDone ? 'after' : 'before'} write ${killAt}`, executed, view });
      }
    }
    expect(wrong).toEqual([]);
  });
});
