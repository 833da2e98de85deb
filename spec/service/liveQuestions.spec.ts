import { describe, expect, it } from '@jest/globals';
import { concatMap, defer, filter, firstValueFrom, lastValueFrom, map, NEVER, Subscription } from 'rxjs';
import { tap, timer, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { CallAnswers } from '../../lib/core/approval.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { conversation } from '../../lib/chat/conversation.js';
import type { Conversation, ConversationView } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { isResult } from '../../lib/core/eventGuards.js';
import { tool } from '../../lib/core/tool.js';
import type { Tool } from '../../lib/core/tool.js';
import { createService } from '../../lib/service/createService.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import type { SharedRun } from '../../lib/service/runs/sharedRun.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import { followingId } from '../../lib/transport/randomId.js';
import { mapStore } from '../support/stores.js';
import { inVirtualTime } from '../support/virtualTime.js';

const n = z.object({ n: z.number() });
const context = undefined;

interface Options {
  readonly patience?: number;
  readonly isInner?: boolean;
  readonly within?: number;
  /** The tools that the model calls beside the one that asks. */
  readonly others?: readonly Tool[];
  readonly grace?: number;
}

/** Processes that share a store and a log, until they are killed. */
function createWorld({ patience = 600_000, isInner = false, within, others = [], grace = 60_000 }: Options = {}) {
  const store = mapStore();
  const log: RunLog = { ...memoryLog(), isShared: true };
  /** One for each time that the tool has begun. */
  const begun: string[] = [];
  const problems: string[] = [];
  /** How long a write of a record takes, in milliseconds. */
  const times = { write: 0 };
  const put: RunStore['put'] = (record, version) =>
    times.write === 0
      ? store.put(record, version)
      : timer(times.write).pipe(concatMap(() => store.put(record, version)));
  const isStored = (text: string) =>
    [...store.records.values()].some(({ record }) => JSON.stringify(record).includes(text));
  const answering = (calls: readonly ReturnType<typeof toolCall>[]) =>
    scriptedModel(({ messages }) => (messages.length === 1 ? [...calls] : 'Done.'));

  function startProcess(name: string) {
    const death = { isDead: false };
    const add = askTool({
      name: 'add',
      description: 'Adds.',
      execute: (_, { ask }) => {
        begun.push(name);
        return ask({ message: 'First?', schema: n, within }).pipe(
          tap((first) => isStored(JSON.stringify(first)) || problems.push('received before it is stored')),
          concatMap((first) => ask({ message: 'Second?', schema: n }).pipe(map((second) => first.n + second.n))),
        );
      },
    });
    const inner = createAgent({ model: answering([toolCall('add', {}, 'c1')]), tools: [add] });
    const asking = isInner ? agentTool(inner, { name: 'delegate', description: 'Delegates.' }) : add;
    const calls = [asking, ...others].map((each, index) => toolCall(each.name, { prompt: 'Go.' }, `d${index}`));
    const service = createService({
      agent: createAgent({ model: answering(calls), tools: [asking, ...others], toolConcurrency: 2 }),
      store: mortal<RunStore>({ ...store, put }, death),
      log: mortal(log, death),
      checkpoints: true,
      patience,
      grace,
      lease: 3000,
      context: () => undefined,
      owner: () => 'ann',
      onError: (thrown) => death.isDead || problems.push(String(thrown)),
    });
    return { service, handler: agentHandler(service), kill: () => (death.isDead = true) };
  }
  return { store, begun, problems, times, startProcess };
}

function mortal<P extends object>(port: P, death: { readonly isDead: boolean }): P {
  const calls = Object.entries(port).map(([name, call]: [string, unknown]) => {
    if (typeof call !== 'function') return [name, call] as const;
    const work = call as (...args: readonly unknown[]) => Observable<unknown>;
    return [name, (...args: readonly unknown[]) => defer(() => (death.isDead ? NEVER : work(...args)))] as const;
  });
  return Object.fromEntries(calls) as P;
}

type Process = ReturnType<ReturnType<typeof createWorld>['startProcess']>;

const waitingIn = ({ service }: Process) =>
  lastValueFrom(service.runs({ owner: 'ann', state: 'waiting' }).pipe(toArray())).then((runs) =>
    runs.flatMap(({ waiting = [] }) =>
      waiting.map(({ id, question }) => `${id} ${question?.problem ?? question?.message}`),
    ),
  );

/** Waits until the list has exactly this. */
const listed = async (process: Process, expected: readonly string[]) => {
  let last: readonly string[] = [];
  for (let tries = 0; tries < 200; tries += 1) {
    last = await waitingIn(process);
    if (JSON.stringify(last) === JSON.stringify(expected)) return;
    await pause(10);
  }
  expect(last).toEqual(expected);
};

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const start = async ({ service }: Process) => {
  const id = crypto.randomUUID();
  const run = await firstValueFrom(service.run(id, 'Add.', { context }));
  const end = resultOf(run);
  return { id, run, end };
};

const resultOf = ({ events$ }: Pick<SharedRun, 'events$'>) =>
  lastValueFrom(events$.pipe(filter((event: StreamEvent) => isResult(event)))).then((event) =>
    isResult(event) ? event.result : undefined,
  );

const first = (path: string, value: unknown = { n: 1 }): CallAnswers => ({
  results: { [`${path}/1`]: value as never },
});
const second = (path: string): CallAnswers => ({ results: { [`${path}/2`]: { n: 2 } } });

const send = async ({ handler }: Process, method: string, id: string, body: object) => {
  const headers = { 'x-run-id': id, 'content-type': 'application/json' };
  const response = await handler(new Request('http://service.test', { method, headers, body: JSON.stringify(body) }));
  return { status: response.status, text: method === 'POST' && response.ok ? response.body : await response.text() };
};

type Answer = (process: Process, id: string, answers: CallAnswers) => Promise<unknown>;

const channels: Readonly<Record<string, Answer>> = {
  'service.answer': ({ service }, id, answers) => firstValueFrom(service.answer(id, answers, { context })),
  'a POST that resumes': (process, id, answers) => send(process, 'POST', followingId(id), { resume: id, ...answers }),
  'a PATCH': (process, id, answers) => send(process, 'PATCH', id, answers),
};

const table = Object.entries(channels).flatMap(([name, answer]) =>
  [true, false].flatMap((isHere) => [true, false].map((isInner) => [name, isHere, isInner, answer] as const)),
);

describe('a run of a service whose tool asks, with `patience`', () => {
  it.each(table)(
    'waits in memory, and continues by %s (in its process: %s, in a sub-agent: %s)',
    (_, isHere, isInner, answer) =>
      inVirtualTime(async () => {
        const { begun, problems, startProcess, store } = createWorld({ isInner });
        const [here, other] = [startProcess('here'), startProcess('other')];
        const path = isInner ? 'd0/c1' : 'd0';
        const { id, end } = await start(here);
        await listed(other, [`${path}/1 First?`]);
        const process = isHere ? here : other;
        await answer(process, id, first(path, { n: 'one' }));
        await listed(other, [`${path}/1 n: Invalid input: expected number, received string`]);
        await answer(process, id, first(path));
        await listed(other, [`${path}/2 Second?`]);
        await answer(process, id, second(path));
        expect(await end).toMatchObject({ finishReason: 'stop', text: 'Done.' });
        const results = JSON.stringify([...store.records.values()].map(({ record }) => record.result?.messages));
        expect(results).toContain(isInner ? '"result":"Done."' : '"result":3');
        expect([begun, problems, await waitingIn(here)]).toEqual([['here'], [], []]);
      }),
  );

  it('ends as waiting when the patience is over, and an answer continues it as another run', () =>
    inVirtualTime(async () => {
      const { begun, startProcess } = createWorld({ patience: 5000 });
      const process = startProcess('here');
      const { id, end } = await start(process);
      expect(await end).toMatchObject({ finishReason: 'waiting', waiting: [{ id: 'd0/1' }] });
      await listed(process, ['d0/1 First?']);
      await firstValueFrom(process.service.answer(id, first('d0'), { context }));
      await listed(process, ['d0/2 Second?']);
      expect(await resultOf(await firstValueFrom(process.service.answer(id, second('d0'), { context })))).toMatchObject(
        {
          text: 'Done.',
        },
      );
      expect(begun).toEqual(['here', 'here']);
    }));

  it.each([
    ['service.answer', ['d0/2 Second?']],
    ['a POST that resumes', ['d0/2 Second?']],
    ['a PATCH', ['d0/1 First?']], // refused with 409: the page resumes it
  ] as const)('loses no answer that arrives by %s while it ends as waiting', (name, expected) =>
    inVirtualTime(async () => {
      const { startProcess, times, store } = createWorld({ patience: 5000 });
      const [here, other] = [startProcess('here'), startProcess('other')];
      const { id, end } = await start(here);
      await listed(other, ['d0/1 First?']);
      times.write = 800;
      await pause(5200);
      expect(store.records.get(id)?.record.result).toBeUndefined();
      const answered = await channels[name]?.(other, id, first('d0'));
      if (name === 'a PATCH') expect(answered).toMatchObject({ status: 409 });
      expect(await end).toMatchObject({ finishReason: 'waiting' });
      times.write = 0;
      await listed(other, expected);
    }),
  );

  it('takes any number of answers in a turn', () =>
    inVirtualTime(async () => {
      const { startProcess, problems } = createWorld();
      const [here, other] = [startProcess('here'), startProcess('other')];
      const { id, end } = await start(here);
      for (let answers = 0; answers < 110; answers += 1) {
        const [process, wrong] = answers % 2 === 0 ? [here, 'one'] : [other, true];
        expect((await send(process, 'PATCH', id, first('d0', { n: wrong }))).status).toBe(204);
      }
      await send(here, 'PATCH', id, first('d0'));
      await send(other, 'PATCH', id, second('d0'));
      expect(await end).toMatchObject({ text: 'Done.' });
      expect(problems).toEqual([]);
    }));

  it('does not use an answer again that a killed process has used', () =>
    inVirtualTime(async () => {
      const { startProcess } = createWorld();
      const [here, other] = [startProcess('here'), startProcess('other')];
      const { id, end } = await start(here);
      end.catch(() => undefined); // its log is that of the next one
      await send(here, 'PATCH', id, first('d0', { n: 'one' }));
      await listed(other, ['d0/1 n: Invalid input: expected number, received string']);
      here.kill();
      expect((await send(other, 'PATCH', id, first('d0'))).status).toBe(204); // its lease is valid
      await pause(4000);
      await send(other, 'POST', id, {});
      await listed(other, ['d0/2 Second?']);
    }));

  it.each(['stop', 'finish'] as const)('ends as waiting at a shutdown (%s), and the next process continues it', (how) =>
    inVirtualTime(async () => {
      const { begun, startProcess } = createWorld();
      const process = startProcess('here');
      const { id, end } = await start(process);
      await listed(process, ['d0/1 First?']);
      await lastValueFrom(process.service.shutdown(how), { defaultValue: undefined });
      expect(await end).toMatchObject({ finishReason: 'waiting' });
      const next = startProcess('next');
      await firstValueFrom(next.service.answer(id, { results: { 'd0/1': { n: 1 } } }, { context }));
      await firstValueFrom(next.service.answer(id, second('d0'), { context }));
      await listed(next, []);
      expect(begun).toEqual(['here', 'next']);
    }),
  );

  it('ends as waiting when its reader has left for longer than the grace', () =>
    inVirtualTime(async () => {
      const { startProcess, store } = createWorld({ grace: 2000 });
      const process = startProcess('here');
      const id = crypto.randomUUID();
      const { text } = await send(process, 'POST', id, { input: 'Add.' });
      await listed(process, ['d0/1 First?']);
      await (text as ReadableStream).cancel();
      await pause(4000);
      expect(store.records.get(id)?.record).toMatchObject({ state: 'waiting', result: { finishReason: 'waiting' } });
    }));

  const ways: readonly (readonly [string, (process: Process, id: string) => Promise<unknown>])[] = [
    ['an answer', (process, id) => firstValueFrom(process.service.answer(id, first('d0'), { context }))],
    ['a PATCH', (process, id) => send(process, 'PATCH', id, first('d0'))],
    [
      'a page that joins it, and answers',
      async (process, id) => {
        await send(process, 'POST', id, {});
        await pause(50);
        return send(process, 'PATCH', id, first('d0'));
      },
    ],
  ];
  it.each(ways)('that is killed while it waits is listed, and continued in the next process by %s', (_, way) =>
    inVirtualTime(async () => {
      const { begun, startProcess, store } = createWorld();
      const process = startProcess('here');
      const { id } = await start(process);
      await listed(process, ['d0/1 First?']);
      process.kill();
      const next = startProcess('next');
      await listed(next, ['d0/1 First?']);
      await pause(4000); // the lease
      await way(next, id);
      await listed(next, ['d0/2 Second?']);
      await firstValueFrom(next.service.answer(id, second('d0'), { context }));
      await listed(next, []);
      expect(begun).toEqual(['here', 'next']);
      expect(JSON.stringify(store.records.get(id)?.record.result)).toContain('"result":3');
    }),
  );

  it('uses the first of two answers, and refuses one to what does not wait', () =>
    inVirtualTime(async () => {
      const { problems, startProcess, store } = createWorld();
      const [here, other] = [startProcess('here'), startProcess('other')];
      const { id, end } = await start(here);
      await listed(other, ['d0/1 First?']);
      const [one, two] = [first('d0', { n: 10 }), first('d0', { n: 20 })];
      await Promise.allSettled([send(here, 'PATCH', id, one), send(other, 'PATCH', id, two)]);
      await listed(other, ['d0/2 Second?']);
      expect((await send(other, 'PATCH', id, first('d0', { n: 30 }))).status).toBe(409);
      expect((await send(other, 'PATCH', id, { results: { 'd0/typo': 1 } })).status).toBe(409);
      expect((await send(other, 'PATCH', id, { results: { 'd0/2': { n: 2 }, 'd0/typo': 1 } })).status).toBe(400);
      expect((await send(other, 'PATCH', crypto.randomUUID(), one)).status).toBe(404);
      await send(here, 'PATCH', id, second('d0'));
      await end;
      expect(JSON.stringify(store.records.get(id)?.record.result)).toMatch(/"result":(12|22)/);
      expect((await send(here, 'PATCH', id, second('d0'))).status).toBe(409);
      expect(problems).toEqual([]);
    }));

  it('is stopped by DELETE, and its question is cancelled', () =>
    inVirtualTime(async () => {
      const { startProcess } = createWorld();
      const [here, other] = [startProcess('here'), startProcess('other')];
      const { id, end } = await start(here);
      await listed(other, ['d0/1 First?']);
      expect(
        (await other.handler(new Request('http://service.test', { method: 'DELETE', headers: { 'x-run-id': id } })))
          .status,
      ).toBe(204);
      expect(await end).toMatchObject({ finishReason: 'stopped' });
      await listed(other, []);
    }));

  it('goes on by itself when the time of its question is over', () =>
    inVirtualTime(async () => {
      const { startProcess, begun } = createWorld({ within: 5000 });
      const { end } = await start(startProcess('here'));
      expect(await end).toMatchObject({ finishReason: 'stop', text: 'Done.' });
      expect(begun).toEqual(['here']);
    }));

  it('is not listed while an answer is used, and another call still runs', () =>
    inVirtualTime(async () => {
      const slow = tool({ name: 'slow', description: 'Slow.', execute: () => timer(3000).pipe(map(() => 'slow')) });
      const { startProcess } = createWorld({ others: [slow] });
      const process = startProcess('here');
      const { id, end } = await start(process);
      await listed(process, ['d0/1 First?']);
      await send(process, 'PATCH', id, first('d0'));
      await listed(process, ['d0/2 Second?']);
      await send(process, 'PATCH', id, second('d0'));
      await listed(process, []);
      expect(await end).toMatchObject({ finishReason: 'stop' });
    }));

  it.each([
    ['a decision', tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' })],
    ['a page', tool({ name: 'locate', description: 'Locates.' })],
  ])('ends as waiting at once if it also waits for %s', (_, other) =>
    inVirtualTime(async () => {
      const { startProcess } = createWorld({ others: [other] });
      const { end } = await start(startProcess('here'));
      expect(await end).toMatchObject({ finishReason: 'waiting', waiting: [{ id: 'd1' }, { id: 'd0/1' }] });
    }),
  );

  it('is answered by pages: the first answer counts, after a reload and on another device', () =>
    inVirtualTime(async () => {
      const { begun, problems, startProcess } = createWorld();
      const [here, other] = [startProcess('here'), startProcess('other')];
      const views = new Subscription();
      const open = ({ handler }: Process, saved?: string) => {
        const fetchHere: typeof fetch = (url, init) => handler(new Request(url, init));
        const chat = conversation(remoteAgent('http://service.test', { fetch: fetchHere }), { saved });
        views.add(chat.view$.subscribe());
        return chat;
      };
      const until = (chat: Conversation, isThere: (view: ConversationView) => boolean) =>
        firstValueFrom(chat.view$.pipe(filter(isThere)));
      const asks = (text: string) => (view: ConversationView) =>
        [view.waiting[0]?.question?.message, view.waiting[0]?.question?.problem].includes(text);
      const chat = open(here);
      chat.send('Add.');
      await until(chat, asks('First?'));
      chat.answer('d0/1', { n: 'one' });
      await until(chat, asks('n: Invalid input: expected number, received string'));
      const device = open(other, JSON.stringify(chat.save()));
      await until(device, asks('n: Invalid input: expected number, received string'));
      device.answer('d0/1', { n: 1 });
      chat.answer('d0/1', { n: 10 });
      await Promise.all([chat, device].map((each) => until(each, asks('Second?'))));
      chat.answer('d0/2', { n: 2 });
      const ends = await Promise.all([chat, device].map((each) => until(each, ({ status }) => status === 'idle')));
      for (const end of ends) expect(JSON.stringify(end)).toMatch(/"result":(3|12)/);
      expect([begun, problems]).toEqual([['here'], []]);
      views.unsubscribe();
    }));

  it('does not wait in memory by default', () =>
    inVirtualTime(async () => {
      const { startProcess } = createWorld({ patience: 0 });
      expect(await (await start(startProcess('here'))).end).toMatchObject({ finishReason: 'waiting' });
    }));
});
