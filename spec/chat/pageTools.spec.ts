import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BehaviorSubject, defer, filter, firstValueFrom, ReplaySubject, Subject, take } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation } from '../../lib/chat/conversation.js';
import type { Conversation } from '../../lib/chat/conversation.js';
import { pageTools } from '../../lib/chat/pageTools.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import type { ViewStatus } from '../../lib/operators/view/view.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { backgroundTool } from '../../lib/agent/backgroundTool.js';
import { payTool } from '../support/toolCalls.js';
import { shutDown } from '../support/services.js';

/** The Web Locks of the tabs of a browser, as far as `pageTools` uses them. */
function createLocks() {
  const held = new Map<string, Promise<unknown>>();
  /** Emits when a tab waits for another one. */
  const queued = new ReplaySubject<void>(1);
  const hold = (name: string, use: (lock: object) => Promise<unknown>) => {
    const done = use({ name }).finally(() => held.delete(name));
    held.set(name, done);
    return done;
  };
  return {
    queued,
    async request(
      name: string,
      { ifAvailable = false }: { readonly ifAvailable?: boolean },
      use: (lock: object | null) => Promise<unknown>,
    ): Promise<unknown> {
      if (held.has(name) && ifAvailable) return use(null);
      while (held.has(name)) {
        queued.next();
        await held.get(name);
      }
      return hold(name, use);
    },
  };
}

let locks = createLocks();

const zone = { name: 'zone', description: 'The time zone of the user.' } as const;

/** Two tabs with one conversation, whose tool has been called, and runs until `results` emits. */
async function twoTabs() {
  const handler = agentHandler(
    createAgent({ model: scriptedModel([[toolCall('zone')], 'Done']), tools: [tool(zone)] }),
  );
  const results = new Subject<string>();
  let executions = 0;
  const execute = () => defer(() => (executions++, results.pipe(take(1))));
  const open = (saved?: string) => {
    const agent = remoteAgent('http://localhost/chat', { fetch: (input, init) => handler(new Request(input, init)) });
    const chat = conversation(agent, { saved, tools: pageTools([tool({ ...zone, execute })]) });
    return { chat, view: chat.view$.subscribe() };
  };
  const first = open();
  first.chat.send('Where am I?');
  await until(first.chat, 'runningTools');
  const second = open(JSON.stringify(first.chat.save()));
  await until(second.chat, 'waiting');
  await firstValueFrom(locks.queued);
  return {
    first,
    second,
    results,
    executions: () => executions,
    shutdown: () => firstValueFrom(handler.shutdown(), { defaultValue: undefined }),
  };
}

const until = (chat: Conversation, expected: ViewStatus) =>
  firstValueFrom(chat.view$.pipe(filter(({ status }) => status === expected)));

const answer = ({ view }: Conversation) => view.exchanges[0]?.messages[1]?.parts;

describe('pageTools: several tabs', () => {
  beforeEach(() => {
    locks = createLocks();
    Object.defineProperty(globalThis, 'navigator', { value: { locks }, configurable: true });
  });
  afterEach(() => {
    Reflect.deleteProperty(globalThis, 'navigator');
  });

  it('a call that two tabs show is executed once, and both show the answer', async () => {
    const { first, second, results, executions, shutdown } = await twoTabs();
    expect(executions()).toBe(1);
    results.next('Europe/Oslo');
    await Promise.all([until(first.chat, 'idle'), until(second.chat, 'idle')]);
    expect(executions()).toBe(1);
    expect(answer(second.chat)).toEqual(answer(first.chat));
    expect(answer(second.chat)).toMatchObject([{ status: 'completed', result: 'Europe/Oslo' }, { text: 'Done' }]);
    for (const { view } of [first, second]) view.unsubscribe();
    await shutdown();
  });

  it('a call of a tab that was closed is executed by the other one', async () => {
    const { first, second, results, executions, shutdown } = await twoTabs();
    first.view.unsubscribe();
    await until(second.chat, 'runningTools');
    expect(executions()).toBe(2);
    results.next('Europe/Oslo');
    await until(second.chat, 'idle');
    expect(answer(second.chat)).toMatchObject([{ status: 'completed' }, { text: 'Done' }]);
    second.view.unsubscribe();
    await shutdown();
  });

  it('a tab that waits for the tab that executes its call can be stopped', async () => {
    const { first, second, executions, shutdown } = await twoTabs();
    second.chat.stop();
    expect(second.chat.view.status).toBe('stopped');
    second.chat.send('Never mind.');
    expect(second.chat.view).toMatchObject({ status: 'sending', queued: [] });
    expect(executions()).toBe(1);
    for (const { view } of [second, first]) view.unsubscribe();
    await shutdown();
  });
});

describe('a page that is left while its run waits', () => {
  const calls = {
    'a call of the page': [toolCall('zone')],
    'a call of the page, of a sub-agent': [toolCall('sub', { prompt: 'Go.' })],
    'a call that runs in the background': [toolCall('report'), toolCall('pay')],
  };
  const rows = Object.keys(calls).flatMap((what) => ['a reload', 'another subscription'].map((how) => [what, how]));

  it.each(rows as ['a call of the page', string][])('%s, after %s', async (what, how) => {
    const report = tool({ name: 'report', description: 'Reports.', execute: () => reported });
    const reported = new Subject<string>();
    const inner = createAgent({ model: scriptedModel([[toolCall('zone')], 'Found.']), tools: [tool(zone)] });
    const model = scriptedModel([calls[what], 'Done', 'All done']);
    const tools = [
      tool(zone),
      payTool(),
      backgroundTool(report),
      agentTool(inner, { name: 'sub', description: 'Asks.' }),
    ];
    const handler = agentHandler(createAgent({ model, tools }));
    const executions = new BehaviorSubject(0);
    let resumptions = 0;
    const results = new Subject<string>();
    const execute = () => defer(() => (executions.next(executions.value + 1), results.pipe(take(1))));
    const executed = (count: number) => firstValueFrom(executions.pipe(filter((value) => value === count)));
    const fetch: typeof globalThis.fetch = (input, init) => {
      if (typeof init?.body === 'string' && init.body.includes('"resume"')) resumptions += 1;
      return handler(new Request(input, init));
    };
    const open = (saved?: string) =>
      conversation(remoteAgent('http://localhost/chat', { fetch }), {
        saved,
        tools: pageTools([tool({ ...zone, execute })]),
      });
    const isOfPage = what !== ('a call that runs in the background' as string);
    const first = open();
    const shown = first.view$.subscribe();
    first.send('Go.');
    const asks = (chat: Conversation) => firstValueFrom(chat.view$.pipe(filter(({ waiting }) => waiting.length > 0)));
    await (isOfPage ? executed(1) : asks(first));
    const saved = JSON.stringify(first.save());
    shown.unsubscribe();
    const chat = how === 'a reload' ? open(saved) : first;
    const again = chat.view$.subscribe();
    if (isOfPage) {
      await executed(2);
      expect(chat.view.waiting).toEqual([]);
      results.next('Europe/Oslo');
    } else {
      await asks(chat);
      expect(chat.view.waiting).toMatchObject([{ name: 'pay' }]);
      chat.decide(chat.view.waiting[0]?.id ?? '', { approve: true });
    }
    reported.next('Reported.');
    reported.complete();
    await until(chat, 'idle');
    expect(resumptions).toBe(1);
    expect(JSON.stringify(answer(chat))).toContain(isOfPage ? 'Europe/Oslo' : 'paid');
    again.unsubscribe();
    shutDown(handler);
  });
});

describe('a page that executes very many calls', () => {
  it.each(['now', 'later'])('what is to be stored changes a few times, and the results arrive (%s)', async (when) => {
    const count = 200;
    const here = tool({ ...zone, execute: () => (when === 'now' ? 'Oslo' : Promise.resolve('Oslo')) });
    const model = scriptedModel([Array.from({ length: count }, () => toolCall('zone')), 'Done']);
    const chat = conversation(createAgent({ model, tools: [tool(zone)] }), { tools: pageTools([here]) });
    let changes = 0;
    const shown = chat.view$.subscribe();
    shown.add(chat.saved$.subscribe(() => (changes += 1)));
    chat.send('Where am I?');
    await until(chat, 'idle');
    const completed = answer(chat)?.filter((part) => part.type === 'toolCall' && part.result === 'Oslo');
    expect(completed).toHaveLength(count);
    expect(changes).toBeLessThan(count / 4); // with a change for each result, 1,000 calls held a page for half a minute
    shown.unsubscribe();
  });
});
