import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { firstValueFrom, Subscription, timer } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation, persist, remoteAgent } from '../../lib/chat/index.js';
import type { Conversation, SavedConversation } from '../../lib/chat/index.js';
import { resultsIn } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { askTool } from '../../lib/tools/askTool.js';
import { followingId } from '../../lib/transport/randomId.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { anyTool } from '../support/toolCalls.js';

/** The time of a question, in milliseconds. */
const WITHIN = 100_000;

/** A conversation asks the service at this interval whether its run still waits. */
const LOOK = 30_000;

/** The time that a request needs which resumes a run. */
const DELAY = 600;

/** Tabs that send more requests than this would go on without end. */
const MOST_SENT = 30;

let used = new Subscription();
afterEach(() => {
  used.unsubscribe();
  used = new Subscription();
  jest.useRealTimers();
});

/** Lets virtual time pass, with the turns that promises and streams need. */
async function pass(milliseconds: number) {
  const step = 500;
  for (let passed = 0; passed < milliseconds; passed += step) {
    await jest.advanceTimersByTimeAsync(Math.min(step, milliseconds - passed));
    for (let count = 0; count < 3; count += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A service whose answers need two approvals, or one and the answer to a question, and what it has done. */
function createService() {
  const executed: string[] = [];
  const act = (name: string) => anyTool(name, () => executed.push(name));
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ sum: z.int() }),
    needsApproval: true,
    execute: ({ sum }) => executed.push(`pay ${sum}`),
  });
  const ask = askTool({
    name: 'ask',
    description: 'Asks.',
    execute: (_, context) =>
      context.ask({ message: 'How many?', schema: z.int(), within: WITHIN, otherwise: executed.length }),
  });
  const model = scriptedModel(({ messages }) => {
    const count = messages.flatMap(resultsIn).length;
    if (count === 0) return ['First a mail.', toolCall('mail')];
    if (count === 1) return ['Then 1.', toolCall('pay', { sum: 1 })];
    if (count > 2) return ['Done.'];
    return ['Then 2.', JSON.stringify(messages[0]).includes('ask') ? toolCall('ask') : toolCall('pay', { sum: 2 })];
  });
  const create = () => agentHandler(createAgent({ model, tools: [act('mail'), pay, ask] }));
  let handler = create();
  return {
    executed,
    requests: () => model.requests.length,
    fetch: (request: Request) => handler(request),
    /** It has lost its memory. */
    restart: () => (handler = create()),
  };
}

/** A response as a page sees it whose clock is ahead: each time is earlier there. */
function aheadBy(milliseconds: number, { body, status, headers }: Response): Response {
  const earlier = (text: string) =>
    text.replace(/"expires":(\d+)/g, (_, at) => `"expires":${Number(at) - milliseconds}`);
  const change = new TransformStream<Uint8Array, Uint8Array>({
    transform: (bytes, controller) =>
      controller.enqueue(new TextEncoder().encode(earlier(new TextDecoder().decode(bytes)))),
  });
  return new Response(body?.pipeThrough(change), { status, headers });
}

const NEVER_ANSWERED = new Promise<never>(() => undefined);

/**
 * Tabs of a browser with one storage, and their service. A tab creates its conversation again from each value of
 * another one, as a page does at a `storage` event.
 */
function createBrowser(ahead = 0) {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
  const service = createService();
  const sent: string[] = [];
  let isOffline = false;
  let stored: string | null = null;
  const loads: (() => void)[] = []; // one of each tab
  const network: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    if (request.method === 'POST') sent.push(request.headers.get('x-run-id') ?? '');
    // Other tabs get a `storage` event, and send requests of their own, before.
    if ((await request.clone().text()).includes('"resume"')) await firstValueFrom(timer(DELAY));
    if (isOffline || sent.length > MOST_SENT) return NEVER_ANSWERED;
    return aheadBy(ahead, await service.fetch(request));
  };
  const agent = remoteAgent('http://service.test/', { fetch: network });
  function open(saved?: SavedConversation) {
    let page = new Subscription();
    const load = (value: SavedConversation | string | null): Conversation => {
      page.unsubscribe();
      page = new Subscription();
      const chat = conversation(agent, { saved: value });
      page.add(chat.view$.subscribe());
      page.add(persist(chat, storage, 'chat').subscribe());
      used.add(page);
      return chat;
    };
    const reload = () => loads.includes(reload) && (tab.chat = load(stored));
    const storage = {
      getItem: () => stored,
      setItem(_: string, value: string) {
        stored = value;
        for (const other of loads) if (other !== reload) setImmediate(other);
      },
    };
    loads.push(reload);
    const tab = {
      chat: load(saved ?? stored),
      close() {
        loads.splice(loads.indexOf(reload), 1);
        page.unsubscribe();
      },
    };
    return tab;
  }
  return {
    service,
    sent,
    open,
    setOffline: (value: boolean) => (isOffline = value),
    /** Answers what waits on another device. */
    async approveElsewhere() {
      const list = (await (await service.fetch(new Request('http://service.test/?state=waiting'))).json()) as {
        readonly runs: readonly { readonly id: string; readonly waiting: readonly { readonly id: string }[] }[];
      };
      const [run] = list.runs;
      const decisions = { [run?.waiting[0]?.id ?? '']: { approve: true } };
      const headers = { 'x-run-id': followingId(run?.id ?? '') };
      const body = JSON.stringify({ resume: run?.id, decisions });
      const response = await service.fetch(new Request('http://service.test/', { method: 'POST', headers, body }));
      await response.text();
    },
  };
}
type Browser = ReturnType<typeof createBrowser>;
type Tab = ReturnType<Browser['open']>;

const shown = ({ chat }: Tab) => {
  const [exchange] = chat.view.exchanges;
  const parts = (exchange?.messages ?? []).slice(1).flatMap((message) => message.parts);
  const texts = parts.map((part) => (part.type === 'text' ? part.text.trim() : part.type));
  return [chat.view.status, texts.join(' '), exchange?.error?.['code']];
};

const firstCalls = 'First a mail. toolCall Then 1. toolCall';
const secondCalls = `${firstCalls} Then 2. toolCall`;

interface Way {
  readonly prompt: string;
  readonly approvals: number;
  /** Why the run waits no more. */
  readonly act: (browser: Browser) => unknown;
  readonly time?: number;
  readonly expected: readonly unknown[];
  readonly executed: readonly string[];
  readonly requests: number;
}

const ways: Readonly<Record<string, Way>> = {
  'whose first call was answered on another device': {
    prompt: 'pay',
    approvals: 0,
    act: (browser) => browser.approveElsewhere(),
    expected: ['waiting', secondCalls, undefined],
    executed: ['mail', 'pay 1'],
    requests: 3,
  },
  'whose second call was answered on another device': {
    prompt: 'pay',
    approvals: 1,
    act: (browser) => browser.approveElsewhere(),
    expected: ['idle', `${secondCalls} Done.`, undefined],
    executed: ['mail', 'pay 1', 'pay 2'],
    requests: 4,
  },
  'which the service has lost': {
    prompt: 'pay',
    approvals: 0,
    act: ({ service }) => service.restart(),
    expected: ['failed', firstCalls, 'run_not_found'],
    executed: ['mail'],
    requests: 2,
  },
  'which the service has lost after an approval': {
    prompt: 'pay',
    approvals: 1,
    act: ({ service }) => service.restart(),
    expected: ['failed', secondCalls, 'run_not_found'],
    executed: ['mail', 'pay 1'],
    requests: 3,
  },
  'whose question is over': {
    prompt: 'ask',
    approvals: 1,
    act: () => undefined,
    time: WITHIN,
    expected: ['idle', `${secondCalls} Done.`, undefined],
    executed: ['mail', 'pay 1'],
    requests: 4,
  },
};

/** What the person has open when the page notices it. Returns the tabs. */
const readers: Readonly<Record<string, (browser: Browser, first: Tab, time: number) => Promise<readonly Tab[]>>> = {
  'two tabs': async ({ open }, first, time) => {
    const tabs = [first, open()];
    await pass(time);
    return tabs;
  },
  'a tab that is reloaded before its request arrives': async ({ setOffline, open }, first, time) => {
    const reading = first.chat.view$.subscribe(({ status }) => status === 'sending' && setOffline(true));
    await pass(time);
    reading.unsubscribe();
    first.close();
    setOffline(false);
    const again = open();
    await pass(2000);
    return [again];
  },
};

const sendAndWait = async ({ chat }: Tab, prompt: string) => {
  chat.send(prompt);
  await pass(2000);
  expect(chat.view.status).toBe('waiting');
};
const approve = async ({ chat }: Tab) => {
  chat.decide(chat.view.waiting[0]?.id ?? '', { approve: true });
  await pass(2000);
};

describe('a run that is resumed without an answer', () => {
  const cells = Object.entries(ways).flatMap(([way, steps]) =>
    Object.entries(readers).map(([reader, read]) => ({ way, steps, reader, read })),
  );

  it.each(cells)('goes on once, with all of its text: one $way, in $reader', async ({ steps, read }) => {
    const browser = createBrowser();
    const { service, sent, open } = browser;
    const { prompt, approvals, act, time = 0, expected, executed, requests } = steps;
    const first = open();
    await sendAndWait(first, prompt);
    for (let count = 0; count < approvals; count += 1) await approve(first);
    await act(browser);
    const tabs = await read(browser, first, time + LOOK + 5000);
    for (const tab of tabs) {
      expect(shown(tab)).toEqual(expected);
      expect(tab.chat.save().exchanges[0]).toHaveProperty('hasBegun', true); // the service has its prompt
    }
    expect(service.executed).toEqual(executed);
    expect(service.requests()).toBe(requests);
    expect(sent.length).toBeLessThan(12);
  });

  it('is stopped with its text, also if the page is closed as the stop is stored', async () => {
    const { open, setOffline, service } = createBrowser();
    const first = open();
    await sendAndWait(first, 'pay');
    const values: SavedConversation[] = [];
    used.add(first.chat.saved$.subscribe((saved) => values.push(saved)));
    setOffline(true);
    await approve(first);
    first.chat.stop();
    first.close();
    const saved = values.find(({ exchanges }) => exchanges[0]?.stopping && exchanges[0].base);
    setOffline(false);
    const again = open(saved);
    await pass(10_000);
    expect(shown(again)).toEqual(['stopped', firstCalls, undefined]);
    expect(service.executed).toEqual(['mail']);
  });
});

describe('the time of a question', () => {
  const cells = [
    { clock: 'right', ahead: 0, count: 2 },
    { clock: '2 s ahead', ahead: 2000, count: 1 },
    { clock: '2 s ahead', ahead: 2000, count: 2 },
    { clock: 'an hour ahead', ahead: 3_600_000, count: 1 },
    { clock: 'an hour ahead', ahead: 3_600_000, count: 2 },
    { clock: 'an hour behind', ahead: -3_600_000, count: 1 },
    { clock: 'an hour behind', ahead: -3_600_000, count: 2 },
  ];

  it.each(cells)('is over when the service says so: tabs $count, their clock $clock', async ({ ahead, count }) => {
    const { open, sent, service } = createBrowser(ahead);
    const first = open();
    await sendAndWait(first, 'ask');
    await approve(first);
    const tabs = [first, ...(count === 2 ? [open()] : [])];
    await pass(WITHIN - 3000);
    for (const tab of tabs) expect(tab.chat.view.waiting).toHaveLength(1);
    expect(new Set(sent).size).toBe(2);
    await pass(LOOK + 6000);
    for (const tab of tabs) expect(shown(tab)).toEqual(['idle', `${secondCalls} Done.`, undefined]);
    expect(new Set(sent).size).toBe(3);
    expect(sent.length).toBeLessThan(12);
    expect(service.requests()).toBe(4);
  });

  it('does not keep an answer from the run while the clock of two tabs is ahead', async () => {
    const { open } = createBrowser(3_600_000);
    const first = open();
    await sendAndWait(first, 'ask');
    await approve(first);
    const second = open();
    await pass(LOOK + 1000);
    second.chat.answer(second.chat.view.waiting[0]?.id ?? '', 5);
    await pass(2000);
    for (const { chat } of [first, second]) {
      expect(chat.view.status).toBe('idle');
      expect(JSON.stringify(chat.view.exchanges)).toContain('"result":5');
    }
  });
});
