import { afterEach, describe, expect, it } from '@jest/globals';
import { concatMap, filter, firstValueFrom, lastValueFrom, of, Subscription, throwError, toArray } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation } from '../../lib/chat/conversation.js';
import type { Conversation, ConversationView } from '../../lib/chat/conversation.js';
import { pageTools } from '../../lib/chat/pageTools.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { tool } from '../../lib/core/tool.js';
import { createService } from '../../lib/service/createService.js';
import type { RunQuery } from '../../lib/service/service.js';
import type { ServiceOptions } from '../../lib/service/serviceOptions.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import { createServers } from '../support/services.js';
import { mapStore } from '../support/stores.js';
import { inVirtualTime } from '../support/virtualTime.js';

const servers = createServers();
let shown = new Subscription();
/** Shows a chat until the end of the test. */
const show = (chat: Conversation, next?: (view: ConversationView) => void): void => {
  shown.add(chat.view$.subscribe(next));
};
afterEach(() => {
  shown.unsubscribe();
  shown = new Subscription();
  servers.close();
});

const isFilled = z.object({ account: z.enum(['house', 'shop']) });

/** A process of a service whose tool asks two questions. It pays once for each payment. */
function startProcess(
  store: RunStore,
  {
    atMostOnce = false,
    within = undefined as number | undefined,
    service: more = undefined as Pick<ServiceOptions, 'limits' | 'onError'> | undefined,
  } = {},
) {
  const paid: string[] = [];
  const pay = askTool({
    name: 'pay',
    description: 'Pays an invoice.',
    atMostOnce,
    execute: (_, { ask, once }) =>
      ask({ message: 'Which account?', schema: isFilled, within }).pipe(
        concatMap(({ account }) =>
          once('payment', (key) => {
            paid.push(key);
            return of(`paid from ${account}`);
          }),
        ),
        concatMap((text) =>
          ask({ message: 'Send a receipt?', schema: z.object({ send: z.boolean() }) }).pipe(
            concatMap(({ send }) => of(`${text}, receipt: ${send}`)),
          ),
        ),
      ),
  });
  const answering = (call: ReturnType<typeof toolCall>) =>
    scriptedModel(({ messages }) => (messages.length === 1 ? [call] : 'Done.'));
  const accountant = createAgent({ model: answering(toolCall('pay', {}, 'c1')), tools: [pay] });
  const delegate = agentTool(accountant, { name: 'delegate', description: 'Delegates.' });
  const model = answering(toolCall('delegate', { prompt: 'Pay.' }, 'd1'));
  const service = createService<string>({
    agent: createAgent({ model, tools: [delegate] }),
    store,
    checkpoints: true,
    context: (request) => request.headers.get('x-user') ?? 'ann',
    owner: (user) => user,
    ...more,
  });
  return { service, paid, handler: agentHandler(service) };
}

const until = (chat: Conversation, isThere: (view: ConversationView) => boolean) =>
  firstValueFrom(chat.view$.pipe(filter(isThere)));
const asks = (message: string) => (view: ConversationView) => view.waiting[0]?.question?.message === message;
const ended = ({ status }: ConversationView) => status === 'idle' || status === 'failed';
/** A question is shown before the record says that the run waits. Another process is refused until then. */
const settled = async ({ records }: ReturnType<typeof mapStore>) => {
  while ([...records.values()].some(({ record }) => record.state === 'running'))
    await new Promise((resolve) => setImmediate(resolve));
};
const first = 'd1/c1/1';
const second = 'd1/c1/2';

describe('questions of a tool in a service', () => {
  it('are answered after a reload, on another device, and by the next process, and do nothing twice', async () => {
    const store = mapStore();
    const before = startProcess(store);
    const tab = conversation(remoteAgent(await servers.serve(before.handler)));
    const view = tab.view$.subscribe();
    tab.send('Pay.');
    await until(tab, asks('Which account?'));
    const saved = JSON.stringify(tab.save());
    view.unsubscribe();

    const reloaded = conversation(remoteAgent(await servers.serve(before.handler)), { saved });
    show(reloaded);
    await until(reloaded, asks('Which account?'));
    reloaded.answer(first, { account: 'boat' });
    const refused = await until(reloaded, ({ waiting }) => waiting[0]?.question?.problem !== undefined);
    expect(refused.waiting[0]).toMatchObject({ id: first, question: { problem: expect.stringContaining('account') } });
    expect(before.paid).toEqual([]);
    const copy = JSON.stringify(reloaded.save());
    reloaded.answer(first, { account: 'shop' });
    await until(reloaded, asks('Send a receipt?'));
    expect(before.paid).toHaveLength(1);
    await settled(store);

    const after = startProcess(store);
    const url = await servers.serve(after.handler);
    const devices = [copy, JSON.stringify(reloaded.save())].map((state) =>
      conversation(remoteAgent(url), { saved: state }),
    );
    for (const device of devices) show(device);
    const [late, other] = devices as [Conversation, Conversation];
    // Answered already: this device learns how, by itself or when it answers.
    const { waiting } = await until(late, (shown) => shown.waiting[0]?.question !== undefined);
    if (waiting[0]?.id === first) late.answer(first, { account: 'house' });
    await until(late, asks('Send a receipt?'));
    await until(other, asks('Send a receipt?'));
    other.answer(second, { send: true });
    const answers = await Promise.all([
      until(other, ended),
      until(late, asks('Send a receipt?')).then(() => {
        late.answer(second, { send: false });
        return until(late, ended);
      }),
    ]);
    // The answers were given at once: whichever came first is the answer on both devices.
    const results = answers.map(
      (answer) => /paid from shop, receipt: (?:true|false)/.exec(JSON.stringify(answer))?.[0],
    );
    expect(results[0]).toBeDefined();
    expect(results[1]).toBe(results[0]);
    expect(after.paid).toEqual([]);
  });

  it('that another device has answered are not asked again: the run that continues is shown', async () => {
    const store = mapStore();
    const { handler } = startProcess(store);
    const chat = conversation(remoteAgent(await servers.serve(handler)));
    show(chat);
    chat.send('Pay.');
    const saved = JSON.stringify(chat.save()); // before the run waits
    await until(chat, asks('Which account?'));
    chat.answer(first, { account: 'shop' });
    await until(chat, asks('Send a receipt?'));
    await settled(store);
    const late = conversation(remoteAgent(await servers.serve(startProcess(store).handler)), { saved });
    await until(late, asks('Send a receipt?'));
  });

  it('are declined with a reason, which the tool learns', async () => {
    const { handler, paid } = startProcess(mapStore());
    const chat = conversation(remoteAgent(await servers.serve(handler)));
    show(chat);
    chat.send('Pay.');
    await until(chat, asks('Which account?'));
    chat.decline(first, 'Ask Bob.');
    const { exchanges } = await until(chat, ended);
    expect(JSON.stringify(exchanges)).toContain('"status":"denied"');
    expect(JSON.stringify(exchanges)).toContain('"reason":"Ask Bob."');
    expect(paid).toEqual([]);
  });

  it('are not executed as a tool of the page, whatever its name', async () => {
    const { handler } = startProcess(mapStore());
    const ask = tool({ name: 'ask', description: 'Asks.', execute: () => ({ account: 'house' }) });
    const tools = pageTools([ask]);
    const chat = conversation(remoteAgent(await servers.serve(handler)), { tools });
    show(chat);
    chat.send('Pay.');
    const { waiting } = await until(chat, ({ status }) => status === 'waiting');
    expect(waiting.map(({ id }) => id)).toEqual([first]);
  });

  it('are listed for their owner, and answered from the list', async () => {
    const { service, handler } = startProcess(memoryStore());
    const url = await servers.serve(handler);
    const chat = conversation(remoteAgent(url));
    show(chat);
    chat.send('Pay.');
    await until(chat, asks('Which account?'));
    const list = (user: string, query = '') =>
      fetch(`${url}?state=waiting${query}`, { headers: { 'x-user': user } }).then(
        async (response) => [response.status, (await response.json()) as unknown] as const,
      );
    const question = { message: 'Which account?', schema: expect.objectContaining({ type: 'object' }) };
    const waiting = [
      { id: first, name: 'ask', arguments: { message: 'Which account?' }, question, path: ['d1', 'c1', '1'] },
    ];
    const id = chat.save().exchanges[0]?.run ?? '';
    expect(await list('ann')).toEqual([200, { runs: [{ id, title: 'Pay.', updated: expect.any(Number), waiting }] }]);
    expect(await list('bob')).toEqual([200, { runs: [] }]);
    expect((await list('ann', '&cursor=forged'))[0]).toBe(400);
    expect(await lastValueFrom(service.runs({ owner: 'ann', state: 'waiting' }).pipe(toArray()))).toMatchObject([
      { id, state: 'waiting', waiting },
    ]);
    const run = await firstValueFrom(
      service.answer(id, { results: { [first]: { account: 'shop' } } }, { context: 'ann' }),
    );
    await lastValueFrom(run.events$);
    expect(await list('ann')).toMatchObject([200, { runs: [{ waiting: [{ id: second }] }] }]);
    await expect(firstValueFrom(service.answer(id, {}, { context: 'bob' }))).rejects.toThrow();
  });

  it('end when their time is over: the page that shows them goes on, and so does a job of the service', () =>
    inVirtualTime(async () => {
      const { service, handler } = startProcess(mapStore(), { within: 3_600_000 });
      const fetchHere: typeof fetch = (url, init) => handler(new Request(url, init));
      const chat = conversation(remoteAgent('http://service.test', { fetch: fetchHere }));
      show(chat);
      chat.send('Pay.');
      await until(chat, asks('Which account?'));
      const answer = await until(chat, ended);
      expect(JSON.stringify(answer)).toContain('"code":"timeout"');

      const run = await firstValueFrom(service.run(crypto.randomUUID(), 'Pay.', { context: 'ann' }));
      await lastValueFrom(run.events$);
      await new Promise((resolve) => setTimeout(resolve, 3_700_000));
      const [left] = await lastValueFrom(service.runs({ owner: 'ann', state: 'waiting' }).pipe(toArray()));
      expect(left?.waiting?.[0]?.question?.expires).toBeLessThan(Date.now());
      const owners: string[] = [];
      const job = (query: RunQuery) =>
        service.continueExpired(query, ({ owner }) => (owners.push(owner), owner)).pipe(toArray());
      expect(await lastValueFrom(job({ owner: 'bob' }))).toEqual([]);
      const [rest, ...others] = await lastValueFrom(job({ everyOwner: true }));
      expect([others, owners]).toEqual([[], ['ann']]);
      const end = rest && (await lastValueFrom(rest.events$));
      expect(end).toMatchObject({ result: { text: 'Done.', finishReason: 'stop' } });
      expect(await lastValueFrom(job({ everyOwner: true }))).toEqual([]);
    }));

  it('continueExpired goes on when a run cannot be continued, and when the store is away', () =>
    inVirtualTime(async () => {
      const store = mapStore();
      const errors: unknown[] = [];
      const away = { isAway: false };
      const list: RunStore['list'] = (query) =>
        away.isAway ? throwError(() => new Error('The database is away.')) : store.list(query);
      const limits = { maxRunsPerOwner: 1 };
      const onError = (thrown: unknown) => errors.push(String(thrown));
      const { service } = startProcess({ ...store, list }, { within: 1000, service: { limits, onError } });
      for (const owner of ['bob', 'carl', 'ann']) {
        const run = await firstValueFrom(service.run(crypto.randomUUID(), 'Pay.', { context: owner }));
        await lastValueFrom(run.events$);
      }
      await new Promise((resolve) => setTimeout(resolve, 2000));
      await firstValueFrom(service.run(crypto.randomUUID(), 'Pay.', { context: 'bob' })); // bob's only place
      const contextOf = ({ owner }: { readonly owner: string }) => {
        if (owner === 'carl') throw new Error('No such user.');
        return owner;
      };
      const job = () => lastValueFrom(service.continueExpired({ everyOwner: true }, contextOf).pipe(toArray()));
      const [run, ...others] = await job();
      expect([others, errors]).toEqual([[], ['Error: No such user.']]);
      expect(run && (await lastValueFrom(run.events$))).toMatchObject({ result: { text: 'Done.' } });
      away.isAway = true;
      expect(await job()).toEqual([]);
      expect(errors).toHaveLength(2);
      expect(() => service.continueExpired({} as RunQuery, contextOf).subscribe({ error: onError })).not.toThrow();
      expect(errors.at(-1)).toContain('has no owner');
    }));

  it.each([
    ['while its question is open: it resumes', 1, 'paid from shop, receipt: true'],
    ['after the answer was received: its outcome is unknown', 2, 'outcome_unknown'],
  ])('of a tool with atMostOnce, whose process ends %s', async (_, killedAt, end) => {
    let killed: ReturnType<typeof mapStore> | undefined;
    const store = mapStore(new Map(), (record) => {
      const text = JSON.stringify(record.checkpoint ?? {});
      const isOpen = !text.includes('"account":"shop"');
      const isPaid = text.includes('paid from shop') && !text.includes('Send a receipt?');
      if (record.resumes === undefined || !record.begun || !(killedAt === 1 ? isOpen : isPaid)) return;
      const run = { version: 9, record: { ...record, executor: undefined } };
      killed ??= mapStore(new Map([...store.records, [record.id, run]]));
    });
    const { handler } = startProcess(store, { atMostOnce: true });
    const chat = conversation(remoteAgent(await servers.serve(handler)));
    show(chat);
    chat.send('Pay.');
    const saved = JSON.stringify(chat.save());
    await until(chat, asks('Which account?'));
    chat.answer(first, { account: 'shop' });
    await until(chat, asks('Send a receipt?'));
    if (!killed) throw new Error('The process was not killed.');
    const url = await servers.serve(startProcess(killed, { atMostOnce: true }).handler);
    const next = conversation(remoteAgent(url), { saved });
    show(next, (view) => {
      const call = view.waiting[0];
      if (call?.id === first) next.answer(first, { account: 'shop' });
      if (call?.id === second) next.answer(second, { send: true });
    });
    expect(JSON.stringify(await until(next, ended))).toContain(end);
  });
});
