import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  defer,
  filter,
  firstValueFrom,
  lastValueFrom,
  map,
  NEVER,
  of,
  Subject,
  Subscription,
  take,
  takeWhile,
  toArray,
  type Observable,
} from 'rxjs';
import { createAgent, type AgentOptions } from '../../lib/agent/createAgent.js';
import { conversation, remoteAgent } from '../../lib/chat/index.js';
import type { Conversation, SavedConversation } from '../../lib/chat/index.js';
import { mergeSaved } from '../../lib/chat/mergeSaved.js';
import { isMessage, isTurn } from '../../lib/core/eventGuards.js';
import { filePart, messageText, userMessage, type Message } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { AgentHandlerOptions } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { payTool } from '../support/toolCalls.js';
import { createServers, shutDown, type Handler } from '../support/services.js';
import { mapStore } from '../support/stores.js';

/** What the network does with a request that is on its way to the service. */
type Fault = (right: () => Promise<Response>, method: string, run: string | null) => Promise<Response>;
const down = () => Promise.reject(new TypeError('reset'));
/** The service has the first PATCH, and its answer is another one. */
function answeredBy(answer: () => Promise<Response>): Fault {
  let count = 0;
  return (right, method) => {
    if (method !== 'PATCH' || count++ > 0) return right();
    return right().then(answer);
  };
}

const servers = createServers();
const handlers: object[] = [];
let used = new Subscription();
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
});
afterEach(() => {
  used.unsubscribe();
  used = new Subscription();
  handlers.splice(0).forEach(shutDown);
  servers.close();
  jest.useRealTimers();
});

/** Lets virtual time pass, with the turns that promises and streams need. */
async function pass(milliseconds = 0) {
  for (let passed = 0; passed <= milliseconds; passed += 10_000) {
    await jest.advanceTimersByTimeAsync(Math.min(10_000, milliseconds - passed));
    for (let count = 0; count < 12; count += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

interface WorldOptions extends AgentHandlerOptions {
  /** How often the model calls the tool. Default: once. */
  readonly rounds?: number;
  /** Whether the model pays then, which waits for a decision. */
  readonly pays?: boolean;
  readonly agent?: Pick<AgentOptions, 'prepareTurn'>;
}

/** Processes with one store and one log, and pages. */
function createWorld({ rounds = 1, pays = false, agent: agentOptions, ...options }: WorldOptions = {}) {
  const toolings: Subject<string>[] = [];
  let calls = 0;
  const work = tool({
    name: 'work',
    description: 'Works.',
    execute: () => {
      calls += 1;
      const tooling = new Subject<string>();
      toolings.push(tooling);
      return tooling.pipe(take(1));
    },
  });
  const requests: (readonly Message[])[] = [];
  let isSilent = false;
  const model = scriptedModel(({ messages }) => {
    requests.push(messages);
    if (isSilent) return NEVER;
    if (calls < rounds) return [toolCall('work', {}, `c${calls}`)];
    return pays && !JSON.stringify(messages).includes('"pay"') ? [toolCall('pay', {}, 'pay')] : 'Done.';
  });
  const store = mapStore();
  const log = { ...memoryLog(), isShared: true };
  const cuts: Subject<void>[] = [];
  function start(keep: RunStore = store) {
    const handler = agentHandler(createAgent({ model, tools: [work, payTool()], ...agentOptions }), {
      ...{ store: keep, log, checkpoints: true, onError: () => undefined, grace: 600_000 },
      ...options,
    });
    handlers.push(handler);
    return handler;
  }
  let service: Handler = start();
  let fault: Fault = (right) => right();
  const statuses: number[] = [];
  const network: typeof fetch = (input, init) => {
    const request = new Request(input, init);
    const right = async () => {
      const response = await service(request);
      if (request.method === 'PATCH') statuses.push(response.status);
      const cut = new Subject<void>();
      cuts.push(cut);
      return breakable(response, cut);
    };
    return fault(right, request.method, request.headers.get('x-run-id'));
  };
  const agent = remoteAgent('http://service.test/', { fetch: network });
  return {
    agent,
    store,
    statuses,
    start,
    open(saved?: SavedConversation) {
      const chat = conversation(agent, { whenBusy: 'merge', saved: saved && JSON.stringify(saved) });
      const views = chat.view$.subscribe();
      used.add(views);
      return Object.assign(chat, { close: () => views.unsubscribe() });
    },
    break(next: Fault) {
      fault = next;
    },
    heal: () => (fault = (right) => right()),
    cut() {
      for (const cut of cuts.splice(0)) cut.next();
    },
    finish: () => toolings.at(-1)?.next('worked'),
    finishAll: () => toolings.forEach((tooling) => tooling.next('worked')),
    silence: (silent: boolean) => (isSilent = silent),
    /** The model calls the tool once more. */
    workAgain: () => (rounds = calls + 1),
    /** The process is gone, and another one has its place. */
    kill(next: Handler = start()) {
      for (const [id, { record, version }] of store.records)
        store.records.set(id, { version, record: { ...record, executor: undefined } });
      service = next;
      for (const cut of cuts.splice(0)) cut.next();
    },
    use: (next: Handler) => (service = next),
    patch: (run: string, message: unknown) =>
      network('http://service.test/', {
        method: 'PATCH',
        headers: { 'content-type': 'application/json', 'x-run-id': run },
        body: JSON.stringify({ input: message }),
      }),
    calls: () => calls,
    requests,
    /** How often a prompt is in each request of the model. */
    counts: (text: string) =>
      requests.map((messages) => messages.filter((message) => messageText(message) === text).length),
  };
}
type World = ReturnType<typeof createWorld>;
type Page = ReturnType<World['open']>;

/** A response whose connection may break. */
function breakable(response: Response, cut: Observable<void>): Response {
  if (!response.body) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) =>
      void cut.pipe(take(1)).subscribe(() => {
        void reader.cancel();
        controller.error(new TypeError('The connection broke.'));
      }),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => reader.cancel(),
  });
  return new Response(body, { status: response.status, headers: response.headers });
}

const textsOf = (chat: Conversation) =>
  chat.view.exchanges.map(({ messages }) =>
    messages.map(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('')).filter(Boolean),
  );
const merged = [['Write.', 'Hurry.', 'Done.']];

/** Sends a prompt, and another one while the tool of its run works. */
async function begin(world: World, text = 'Hurry.'): Promise<Page> {
  const chat = world.open();
  chat.send('Write.');
  await pass(100);
  chat.send(text);
  await pass(100);
  expect(chat.view.queued).toEqual([text]);
  return chat;
}
async function finish(world: World) {
  world.finish();
  await pass(100);
}

interface Row {
  readonly title: string;
  readonly fault?: () => Fault;
  /** Returns the pages that are open at the end. */
  readonly act: (world: World, chat: Page) => Promise<readonly Conversation[]>;
  /** How often each request of the model has the prompt. Default: the second of two. */
  readonly counts?: readonly number[];
  /** How often the tool has begun. Default: once. */
  readonly calls?: number;
}

const rows: readonly Row[] = [
  {
    title: 'is reloaded before the run takes the prompt',
    async act(world, chat) {
      chat.close();
      const again = world.open(chat.save());
      await pass(100);
      await finish(world);
      return [again];
    },
  },
  {
    title: 'is opened from a copy of before the run has taken the prompt',
    async act(world, chat) {
      const copy = chat.save();
      await finish(world);
      chat.close();
      const again = world.open(copy);
      await pass(100);
      return [again];
    },
  },
  {
    title: 'is opened in a second tab that offers the prompt, too',
    async act(world, chat) {
      const second = world.open(chat.save());
      await pass(100);
      await finish(world);
      return [chat, second];
    },
  },
  {
    title: 'is opened in a second tab, and the first one is closed',
    async act(world, chat) {
      const second = world.open(chat.save());
      await pass(100);
      chat.close();
      await finish(world);
      return [second];
    },
  },
  {
    title: 'loses the answer of the PATCH',
    fault: () => answeredBy(() => Promise.reject(new TypeError('reset'))),
    async act(world, chat) {
      await pass(5000);
      await finish(world);
      return [chat];
    },
  },
  ...[502, 503].map((status): Row => ({
    title: `receives ${status} after the service has accepted the prompt`,
    fault: () => answeredBy(() => Promise.resolve(new Response('No', { status }))),
    async act(world, chat) {
      await pass(5000);
      await finish(world);
      return [chat];
    },
  })),
  {
    title: 'repeats the PATCH when the run has taken the prompt',
    fault: () => answeredBy(() => Promise.reject(new TypeError('reset'))),
    async act(world, chat) {
      world.silence(true); // the run goes on
      await finish(world);
      await pass(5000);
      expect(world.statuses).toEqual([204, 204]);
      world.silence(false);
      world.kill();
      await pass(30_000);
      return [chat];
    },
    counts: [0, 1, 1],
  },
  {
    title: 'goes on with another process, which has not seen the prompt join',
    async act(world, chat) {
      world.kill();
      await pass(30_000);
      await finish(world);
      return [chat];
    },
    calls: 2,
  },
  {
    title: 'goes on with another process, since the first one has not written that the prompt has joined',
    async act(world, chat) {
      chat.close();
      const { store } = world;
      let isDead = false;
      world.kill(world.start({ ...store, put: (...given) => defer(() => (isDead ? NEVER : store.put(...given))) }));
      const again = world.open(chat.save());
      await pass(30_000);
      isDead = true;
      await finish(world);
      expect(again.view).toMatchObject({ status: 'runningTools', queued: ['Hurry.'] }); // what joined is not written
      world.kill();
      await pass(30_000);
      await finish(world);
      return [again];
    },
    calls: 3,
    counts: [0, 1, 1], // the request of the process that has ended, too
  },
  {
    title: 'goes on with another process, which has the checkpoint with the prompt',
    async act(world, chat) {
      world.silence(true);
      await finish(world);
      world.silence(false);
      world.kill();
      await pass(30_000);
      return [chat];
    },
    counts: [0, 1, 1],
  },
  {
    title: 'was offline when the run took the prompt and ended',
    async act(world, chat) {
      world.break(down);
      world.cut();
      await pass(120_000); // it gives up
      expect(chat.view).toMatchObject({ status: 'failed', queued: ['Hurry.'] });
      await finish(world);
      world.heal();
      await pass(60_000);
      return [chat];
    },
  },
  {
    title: 'was offline when the run took the prompt, and is reloaded offline',
    async act(world, chat) {
      world.break(down);
      world.cut();
      await pass(120_000);
      await finish(world);
      chat.close();
      const again = world.open(chat.save());
      await pass(60_000);
      expect(again.save().queued).toHaveLength(1);
      world.heal();
      again.reconnect();
      await pass(100);
      return [again];
    },
  },
  {
    title: 'is online again while the run works',
    async act(world, chat) {
      world.break(down);
      world.cut();
      await pass(120_000);
      world.heal();
      await pass(60_000);
      expect(chat.view).toMatchObject({ status: 'runningTools', queued: ['Hurry.'] });
      await finish(world);
      return [chat];
    },
  },
  {
    title: 'is merged with a copy that still has the prompt',
    async act(world, chat) {
      const copy = chat.save();
      await finish(world);
      chat.close();
      const stored = [mergeSaved(chat.save(), {}, copy), mergeSaved(copy, {}, chat.save())];
      expect(stored.map(({ queued }) => queued)).toEqual([undefined, undefined]);
      const pages = stored.map((saved) => world.open(saved));
      await pass(100);
      return pages;
    },
  },
];

describe('a prompt that joins a run is asked once if the page', () => {
  it.each(rows)('$title', async ({ act, fault, counts = [0, 1], calls = 1 }) => {
    const world = createWorld();
    if (fault) world.break(fault());
    const pages = await act(world, await begin(world));
    await pass(60_000); // whatever would be sent later
    for (const chat of pages) {
      expect(textsOf(chat)).toEqual(merged);
      expect(chat.view).toMatchObject({ status: 'idle', queued: [] });
      expect(chat.save().queued).toBeUndefined();
    }
    expect(world.counts('Hurry.')).toEqual(counts);
    expect(world.calls()).toBe(calls);
    expect(world.statuses).toContain(204);
  });
});

/** What happens to the PATCH with the prompt. */
const patches: Readonly<Record<string, () => Fault>> = {
  'has arrived': () => (right) => right(),
  'has arrived, and its answer is lost': () => answeredBy(() => Promise.reject(new TypeError('reset'))),
  'has not arrived': () => (right, method) => (method === 'PATCH' ? down() : right()),
};

/** What happens while the run works. Returns the pages that are open at the end. */
type Loss = (world: World, chat: Page, lose: (page: Page) => Promise<void>) => Promise<readonly Conversation[]>;
const losses: Readonly<Record<string, Loss>> = {
  'given up': (_, chat, lose) => lose(chat).then(() => [chat]),
  async 'given up, and reloaded'(world, chat, lose) {
    await lose(chat);
    chat.close();
    return [world.open(chat.save())];
  },
  async 'reloaded, and given up'(world, chat, lose) {
    chat.close();
    const again = world.open(chat.save());
    await pass(100);
    await lose(again);
    return [again];
  },
  async 'given up in two tabs'(world, chat, lose) {
    const second = world.open(chat.save());
    await pass(100);
    await lose(chat);
    return [chat, second];
  },
  async 'given up, and the view is subscribed to again'(_, chat, lose) {
    await lose(chat);
    chat.close();
    used.add(chat.view$.subscribe());
    return [chat];
  },
};

/** Requests of the model with the prompt. */
const requestsWith = ({ requests }: World, text: string) =>
  requests.filter((messages) => messages.map(messageText).includes(text));

/** Starts a run that works, and another version beside it, which is selected and works, too, or ends at once. */
async function beginVersions(world: World): Promise<Page> {
  const chat = world.open();
  chat.send('Write.');
  await pass(100);
  world.workAgain();
  chat.regenerate();
  await pass(100);
  expect(chat.view.status).toBe('runningTools');
  return chat;
}

describe('a prompt that was offered to the run of a version is asked once', () => {
  const rows = Object.entries(patches).flatMap(([patch, fault]) =>
    Object.entries(losses).flatMap(([loss, act]) => [0, 1].map((selected) => ({ patch, fault, loss, act, selected }))),
  );
  it.each(rows)('its PATCH $patch, the run is $loss, and $selected is selected', async ({ fault, act, selected }) => {
    const world = createWorld({ rounds: 0 });
    const chat = await beginVersions(world);
    world.break(fault());
    chat.send('Hurry.');
    await pass(100);
    chat.select(chat.view.exchanges[0]?.versions[selected] ?? '');
    const pages = await act(world, chat, async (page) => {
      world.break(down);
      world.cut();
      await pass(120_000);
      expect(page.save().exchanges[1]?.lost).toBeDefined();
      expect(page.view.queued).toEqual(['Hurry.']);
      await finish(world);
    });
    world.heal();
    for (const page of pages) page.reconnect();
    await pass(60_000);
    for (const page of pages) expect(page.view).toMatchObject({ status: 'idle', queued: [] });
    expect(requestsWith(world, 'Hurry.')).toHaveLength(1);
  });

  it.each([
    { selected: 0, shown: ['Write.', 'Done.', 'Hurry.', 'Done.'], given: ['Write.', 'Done.', 'Hurry.'] },
    { selected: 1, shown: ['Write.', 'Hurry.', 'Done.'], given: ['Write.', 'Hurry.'] },
  ])('joins a run of the shown exchanges only: version $selected is selected', async ({ selected, shown, given }) => {
    const world = createWorld({ rounds: 0 });
    const chat = await beginVersions(world);
    chat.select(chat.view.exchanges[0]?.versions[selected] ?? '');
    chat.send('Hurry.');
    await pass(100);
    await finish(world);
    expect(textsOf(chat).flat()).toEqual(shown);
    expect(requestsWith(world, 'Hurry.').map((request) => request.map(messageText).filter(Boolean))).toEqual([given]);
  });

  /** A page with the states of two tabs: one has given up its run, if `isLost`; the run of the other one works. */
  async function openTwo(world: World, isLost: boolean): Promise<Page> {
    const chat = await beginVersions(world);
    const common = chat.save();
    chat.send('Hurry.');
    await pass(100);
    if (isLost) {
      world.break(down);
      world.cut();
      await pass(120_000);
      world.heal();
    }
    const first = chat.save();
    chat.close();
    world.workAgain();
    const second = world.open({
      ...common,
      exchanges: common.exchanges.slice(0, 1),
      selected: chat.view.exchanges[0]?.versions[0],
    });
    second.send('Other.');
    await pass(100);
    expect(second.view.status).toBe('runningTools');
    second.close();
    return world.open(mergeSaved(first, {}, second.save()));
  }

  it.each([false, true])('a page has two open runs, and the one with the prompt is lost: %s', async (isLost) => {
    const world = createWorld({ rounds: 0 });
    const page = await openTwo(world, isLost);
    await pass(100);
    world.finishAll();
    await pass(60_000);
    expect(page.view).toMatchObject({ queued: [] });
    expect(requestsWith(world, 'Hurry.')).toHaveLength(1);
  });

  it('waits no longer after a long outage, when another prompt is sent', async () => {
    const world = createWorld();
    const chat = await begin(world);
    world.break(down);
    world.cut();
    await pass(1_200_000);
    world.heal();
    await pass(600_000);
    expect(chat.view.queued).toEqual(['Hurry.']);
    chat.send('And?');
    await pass(60_000);
    expect(chat.view).toMatchObject({ status: 'idle', queued: [] });
    expect(textsOf(chat)).toEqual([
      ['Write.', 'Hurry.'], // the service has stopped the run that nobody read
      ['And?', 'Done.'],
    ]);
  });

  it('waits for no other run that was given up', async () => {
    const world = createWorld({ rounds: 0 });
    const chat = await beginVersions(world);
    const [{ id: lost, versions: [first = ''] } = { id: '', versions: [] }] = chat.view.exchanges;
    world.break(down);
    world.cut();
    await pass(120_000);
    chat.select(first);
    world.break((right, method, run) => (method === 'PATCH' || run === lost ? down() : right()));
    world.workAgain();
    chat.send('Other.');
    await pass(100);
    chat.send('Hurry.');
    await pass(100);
    world.finishAll();
    await pass(60_000);
    expect(chat.save().exchanges[1]?.lost).toBeDefined();
    expect(textsOf(chat).at(-1)).toEqual(['Hurry.', 'Done.']);
  });
});

describe('a run', () => {
  const id = 'a'.repeat(32);
  const prompt = (own: unknown = id, text = 'Hurry.') => ({ id: own, ...userMessage(text) });
  const runOf = (chat: Conversation) => chat.view.exchanges[0]?.id ?? '';
  const textsOfLast = ({ requests }: World) => requests.at(-1)?.map(messageText).filter(Boolean);

  it('takes a prompt once, also if the model does not read it any more', async () => {
    const prepareTurn: AgentOptions['prepareTurn'] = ({ messages }) => ({
      messages: messages.filter((message) => messageText(message) !== 'Hurry.'),
    });
    const world = createWorld({ rounds: 3, agent: { prepareTurn } });
    const chat = await begin(world, 'Early.');
    const again = async () => expect((await world.patch(runOf(chat), prompt())).status).toBe(204);
    await again();
    await finish(world);
    await again();
    await finish(world);
    expect(textsOfLast(world)).not.toContain('Hurry.');
    await again();
    world.kill();
    await pass(30_000);
    await again();
    await finish(world);
    expect(textsOf(chat)).toEqual([['Write.', 'Early.', 'Hurry.', 'Done.']]);
  });

  it('takes two prompts with one text, and all messages of a prompt with its file', async () => {
    const world = createWorld();
    world.break(answeredBy(() => Promise.reject(new TypeError('reset'))));
    const chat = await begin(world);
    const file = filePart(new Uint8Array([1, 2, 3]), 'image/png');
    chat.send('Hurry.');
    chat.send([userMessage([{ type: 'text', text: 'See.' }, file]), userMessage('And.'), userMessage('And.')]);
    await pass(5000);
    const copy = chat.save();
    const second = world.open(copy);
    await pass(100);
    await finish(world);
    const third = world.open(copy);
    await pass(100);
    for (const page of [chat, second, third])
      expect(textsOf(page)).toEqual([['Write.', 'Hurry.', 'Hurry.', 'See.', 'And.', 'And.', 'Done.']]);
    expect(textsOfLast(world)).toEqual(['Write.', 'Hurry.', 'Hurry.', 'See.', 'And.', 'And.']);
    expect(world.requests).toHaveLength(2);
    expect(world.requests[1]?.at(-3)?.parts[1]).toEqual(file);
  });

  it.each<readonly [string, AgentHandlerOptions['limits']]>([
    ['that wait', { maxWaitingPrompts: 1 }],
    ['per minute', { maxPromptsPerMinute: 2 }],
    ['that wait, in bytes', { maxWaitingBytes: 1 }],
  ])('counts a prompt that is sent again once among those %s', async (_, limits) => {
    const world = createWorld({ limits });
    const chat = await begin(world);
    const { id: own } = chat.save().queued?.[0] ?? {};
    expect((await world.patch(runOf(chat), prompt(own))).status).toBe(204);
    expect((await world.patch(runOf(chat), prompt())).status).toBe(429);
    world.silence(true);
    await finish(world);
    world.use(world.start()); // it has only the record
    expect((await world.patch(runOf(chat), prompt(own))).status).toBe(204);
    expect(textsOfLast(world)).toEqual(['Write.', 'Hurry.']);
  });

  it('takes a prompt once that arrives at several processes', async () => {
    const world = createWorld();
    const chat = await begin(world);
    world.use(world.start());
    const { id: own } = chat.save().queued?.[0] ?? {};
    for (const again of [own, own, id, id]) expect((await world.patch(runOf(chat), prompt(again))).status).toBe(204);
    await finish(world);
    expect(textsOf(chat)).toEqual([['Write.', 'Hurry.', 'Hurry.', 'Done.']]);
  });

  it('that resumes another one takes no prompt that has joined that one', async () => {
    const world = createWorld({ pays: true });
    const chat = await begin(world);
    const copy = chat.save();
    await finish(world);
    expect(chat.view).toMatchObject({ status: 'waiting', queued: [] });
    const late = world.open(copy);
    await pass(100);
    chat.send('While it waits.');
    chat.decide('pay', { approve: true });
    await pass(60_000);
    late.decide('pay', { approve: true }); // the other page shows the call until it is answered
    await pass(100);
    for (const page of [chat, late]) {
      expect(textsOf(page)[0]).toEqual(['Write.', 'Hurry.', 'Done.']);
      expect(page.view).toMatchObject({ status: 'idle', queued: [] });
    }
    expect(textsOf(chat)[1]).toEqual(['While it waits.', 'Done.']);
    expect(world.counts('Hurry.')).toEqual([0, 1, 1, 1]);
    expect(world.counts('While it waits.')).toEqual([0, 0, 0, 1]);
  });

  it.each([['x'.repeat(10_000_000)], ['__proto__'], [7], [null], [{ id }], [[id]], ['']])(
    'ignores an id that is none, and does not store it (%#)',
    async (own) => {
      const world = createWorld();
      const chat = await begin(world);
      for (let count = 0; count < 2; count += 1)
        expect((await world.patch(runOf(chat), prompt(own, 'Old.'))).status).toBe(204);
      await finish(world);
      expect(textsOfLast(world)).toEqual(['Write.', 'Hurry.', 'Old.', 'Old.']); // as from an older page
      const messages = world.requests.at(-1)?.slice(-2) ?? [];
      expect(messages.some((message) => 'id' in message)).toBe(false);
      expect(JSON.stringify([...world.store.records]).length).toBeLessThan(10_000);
    },
  );

  it('of a local agent takes a prompt once, also when it is resumed', async () => {
    const model = scriptedModel([[toolCall('work', {}, 'c')], 'One.', 'Two.']);
    const work = tool({ name: 'work', description: 'Works.', execute: () => 'worked' });
    const agent = createAgent({ model, tools: [work] });
    const given = { prompts: of(prompt() as Message, prompt() as Message), checkpoints: true } as const;
    const checkpoints = agent.stream('Write.', given).pipe(
      filter(isTurn),
      map(({ checkpoint }) => checkpoint),
      filter((checkpoint) => checkpoint !== undefined),
    );
    const checkpoint = await firstValueFrom(checkpoints);
    const events = await lastValueFrom(agent.resume(checkpoint, given).pipe(toArray()));
    expect(events.filter(isMessage).map(({ message }) => messageText(message))).toEqual(['One.']);
    expect(model.requests.map(({ messages }) => messages.map(messageText).filter(Boolean))).toEqual([
      ['Write.'],
      ['Write.', 'Hurry.'],
    ]);
  });

  it('takes a prompt once that is sent again over a socket', async () => {
    jest.useRealTimers();
    const started = new Subject<void>();
    const tooling = new Subject<string>();
    const execute = () => {
      queueMicrotask(() => started.next());
      return tooling.pipe(take(1));
    };
    const model = scriptedModel([[toolCall('work', {}, 'c')], 'Done.']);
    const agent = createAgent({ model, tools: [tool({ name: 'work', description: 'Works.', execute })] });
    const url = await servers.serve(agentHandler(agent));
    const patches = new Subject<number>();
    let count = 0;
    const lossy: typeof fetch = async (address, init) => {
      const response = await fetch(address, init);
      if (init?.method !== 'PATCH') return response;
      patches.next((count += 1));
      if (count === 1) throw new TypeError('The connection broke.');
      return response;
    };
    const chat = conversation(remoteAgent(url, { fetch: lossy, retryDelay: 0 }), { whenBusy: 'merge' });
    used.add(chat.view$.subscribe());
    const running = firstValueFrom(started);
    chat.send('Write.');
    await running;
    const repeated = lastValueFrom(patches.pipe(take(2)));
    chat.send('Hurry.');
    await repeated;
    const idle = lastValueFrom(chat.view$.pipe(takeWhile(({ status }) => status !== 'idle', true)));
    tooling.next('worked');
    await idle;
    expect(textsOf(chat)).toEqual(merged);
    expect(model.requests).toHaveLength(2);
  });
});

describe('a prompt that may have joined a lost run', () => {
  async function lose(world: World): Promise<Page> {
    const chat = await begin(world);
    world.break(down);
    world.cut();
    await pass(120_000);
    return chat;
  }

  it.each<readonly [string, (chat: Page) => void, readonly string[]]>([
    ['a stop', (chat) => chat.stop(), []],
    ['another version of the exchange', (chat) => chat.edit(chat.view.exchanges[0]?.id ?? '', 'Other.'), ['Other.']],
  ])('is dropped by %s', async (_, act, asked) => {
    const world = createWorld();
    const chat = await lose(world);
    act(chat);
    await pass(100);
    expect(chat.view.queued).toEqual([]);
    expect(chat.save().queued).toBeUndefined();
    world.heal();
    await pass(60_000);
    const prompts = textsOf(chat).map(([first]) => first);
    expect(prompts).toEqual(asked.length > 0 ? asked : ['Write.']);
  });

  it('is not offered to a lost run that is read before another one', async () => {
    const world = createWorld();
    const chat = await begin(world, 'Early.');
    world.break(down);
    world.cut();
    await pass(120_000);
    chat.close();
    const page = world.open({ ...chat.save(), queued: [] });
    const lost = page.view.exchanges[0]?.id;
    const answered = new Subject<void>();
    const patched: (string | null)[] = [];
    world.break((right, method, run) => {
      if (method === 'PATCH') patched.push(run);
      return run === lost && method === 'POST' ? firstValueFrom(answered).then(right) : right();
    });
    page.send('Other.');
    await pass(100);
    page.send('Hurry.');
    await pass(100);
    expect(patched).not.toContain(lost);
    answered.next();
    await pass(100);
    world.finishAll();
    await pass(60_000);
    expect(textsOf(page)).toEqual([
      ['Write.', 'Early.', 'Done.'],
      ['Other.', 'Done.'],
      ['Hurry.', 'Done.'],
    ]);
    expect(patched).not.toContain(lost);
  });

  it('does not keep a saved version of that exchange waiting', async () => {
    const world = createWorld();
    const chat = await lose(world);
    chat.close();
    const id = 'e'.repeat(32);
    const queued = [{ id, input: 'Other.', beside: chat.view.exchanges[0]?.id }];
    const page = world.open({ ...chat.save(), queued });
    await pass(100);
    expect(page.view).toMatchObject({ queued: [], exchanges: [{ id }] });
  });

  it('is sent as a run when that run has ended without it', async () => {
    const world = createWorld();
    const chat = world.open();
    chat.send('Write.');
    await pass(100);
    world.break((right, method) => (method === 'PATCH' ? down() : right()));
    chat.send('Hurry.');
    await pass(100);
    world.break(down);
    world.cut();
    await pass(120_000);
    await finish(world);
    expect(textsOf(chat)).toEqual([['Write.']]);
    chat.send('Next.');
    world.heal();
    await pass(60_000);
    expect(textsOf(chat)).toEqual([
      ['Write.', 'Done.'],
      ['Hurry.', 'Done.'],
      ['Next.', 'Done.'],
    ]);
    expect(world.counts('Hurry.').slice(-2)).toEqual([1, 1]);
  });

  it('waits again for the next subscriber of the view', async () => {
    const world = createWorld();
    const chat = await lose(world);
    await finish(world);
    chat.close();
    used.add(chat.view$.subscribe());
    world.heal();
    chat.reconnect();
    await pass(60_000);
    expect(textsOf(chat)).toEqual(merged);
    expect(chat.view.queued).toEqual([]);
  });
});
