import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  concat,
  ignoreElements,
  lastValueFrom,
  NEVER,
  Subject,
  Subscription,
  take,
  timer,
  toArray,
  type Observable,
} from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation, remoteAgent } from '../../lib/chat/index.js';
import type { Conversation, WhenBusy } from '../../lib/chat/index.js';
import { messageText } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler, createService } from '../../lib/service/index.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';

let used = new Subscription();
afterEach(() => {
  used.unsubscribe();
  used = new Subscription();
  jest.useRealTimers();
});

async function turns() {
  for (let count = 0; count < 3; count += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** The time between two turns of streams, in milliseconds. */
const STEP = 5000;

async function pass(milliseconds: number) {
  await turns();
  for (let passed = 0; passed < milliseconds; passed += STEP) {
    await jest.advanceTimersByTimeAsync(Math.min(STEP, milliseconds - passed));
    await turns();
  }
}

/** Of a model that calls a tool after the page has lost its run. */
const silence = timer(20_000).pipe(ignoreElements());

/** A page and a service whose tools do not end, with a network that can be cut. */
function createPage(whenBusy: WhenBusy = 'concat') {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
  const endless = (name: string, needsApproval: boolean) =>
    tool({
      name,
      description: 'Works without end.',
      parameters: { type: 'object', properties: {} },
      needsApproval,
      execute: (): Observable<string> => NEVER,
    });
  const model = scriptedModel(({ messages }) => {
    const prompt = messages.findLast(({ role }) => role === 'user');
    const name = prompt ? messageText(prompt) : '';
    const called = (tool: string) => [toolCall(tool, {}, `${tool}-${messages.length}`)];
    if (name === 'slow') return concat(silence, scriptedModel([called('pay')]).stream({ messages }));
    return name === 'hello' ? ['An answer.'] : called(name);
  });
  const service = createService({
    agent: createAgent({ model, tools: [endless('work', false), endless('pay', true)] }),
    grace: 36_000_000, // a run that no page reads goes on
  });
  const handler = agentHandler(service);
  const cut = new Subject<void>();
  let isBroken: (request: Request) => boolean = () => false;
  const network: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    if (isBroken(request)) throw new TypeError('offline');
    const response = await handler(request);
    return response.body ? breakable(response, response.body, cut) : response;
  };
  const agent = remoteAgent('http://service.test/', { fetch: network });
  let reading = new Subscription();
  const read = (chat: Conversation): Conversation => {
    used.add((reading = chat.view$.subscribe()));
    return chat;
  };
  const page = {
    chat: read(conversation(agent, { whenBusy })),
    unsubscribe: () => reading.unsubscribe(),
    subscribe: () => read(page.chat),
    reload() {
      const saved = JSON.stringify(page.chat.save());
      reading.unsubscribe();
      page.chat = read(conversation(agent, { whenBusy, saved }));
    },
    /** From now on, no request of these arrives, and the open connections break. */
    break(matches: (request: Request) => boolean) {
      isBroken = matches;
      cut.next();
    },
    heal: () => (isBroken = () => false),
    /** How many runs are executed at the service, or wait there. */
    async live(): Promise<number> {
      const runs = lastValueFrom(service.runs({ everyOwner: true }).pipe(toArray()));
      return (await runs).filter(({ state }) => state === 'running' || state === 'waiting').length;
    },
    /** How many runs the page shows as begun, waiting, or `isIncomplete`. A prompt may wait for them as `sending`. */
    shown: (): number =>
      page.chat.save().exchanges.filter(({ base, hasBegun, lost, view: { status } }) => {
        const isLost = lost !== undefined && status === 'failed';
        return isLost || (base && hasBegun) === true || ['runningTools', 'waiting'].includes(status);
      }).length,
  };
  return page;
}
type TestPage = ReturnType<typeof createPage>;

function breakable({ status, headers }: Response, source: ReadableStream<Uint8Array>, cut: Observable<void>): Response {
  const reader = source.getReader();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const breaks = cut.pipe(take(1)).subscribe(() => {
        void reader.cancel();
        controller.error(new TypeError('The connection broke.'));
      });
      used.add(breaks);
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => reader.cancel(),
  });
  return new Response(body, { status, headers });
}

const everything = () => true;
const last = ({ chat }: TestPage) => chat.view.exchanges.at(-1);
const firstVersion = (page: TestPage) => last(page)?.versions[0] ?? '';

/** A second version of a prompt, whose run is lost. It calls a tool, or waits at the service then. */
async function loseRun(page: TestPage, prompt = 'work', act: (page: TestPage) => void = () => undefined) {
  page.chat.send('hello');
  await pass(100);
  page.chat.edit(firstVersion(page), prompt);
  await pass(2000);
  page.break(everything);
  act(page);
  await pass(40_000);
  expect(last(page)).toMatchObject({ status: 'failed', isIncomplete: true });
}

const approve = ({ chat }: TestPage) => chat.view.waiting.forEach(({ id }) => chat.decide(id, { approve: true }));

interface Situation {
  readonly title: string;
  readonly lose: (page: TestPage) => Promise<void>;
  /** What happens between the loss and the act. The network is well again after it. */
  readonly then: (page: TestPage) => unknown;
  /** How many runs live after a prompt with `concat`: it waits for a lost run before it, but not for another branch. */
  readonly afterPrompt?: number;
}

const situations: readonly Situation[] = [
  { title: 'a lost run', lose: loseRun, then: (page) => page.heal() },
  { title: 'a lost run that waits', lose: (page) => loseRun(page, 'slow'), then: (page) => page.heal() },
  { title: 'a run whose approval is lost', lose: (page) => loseRun(page, 'pay', approve), then: (page) => page.heal() },
  {
    title: 'a lost run whose service does not answer',
    lose: loseRun,
    then(page) {
      const id = last(page)?.id;
      page.break((request) => request.headers.get('x-run-id') === id);
    },
    afterPrompt: 2, // the prompt does not wait for what cannot be reached
  },
  {
    title: 'a run that was lost in another branch',
    lose: loseRun,
    then(page) {
      page.chat.select(firstVersion(page));
      page.heal();
    },
    afterPrompt: 2,
  },
  {
    title: 'a lost run after a reload',
    lose: loseRun,
    then(page) {
      page.reload();
      page.heal();
    },
  },
];

interface Act {
  readonly title: string;
  readonly act: (page: TestPage) => unknown;
  readonly whenBusy?: WhenBusy;
  /** How many runs live after it. */
  readonly live: (situation: Situation) => number;
}

const acts: readonly Act[] = [
  { title: 'stop', act: ({ chat }) => chat.stop(), live: () => 0 },
  { title: 'edit', act: (page) => page.chat.edit(last(page)?.id ?? '', 'work'), live: () => 1 },
  {
    title: 'regenerate',
    act: ({ chat }) => chat.regenerate(),
    live: ({ title }) => (title.includes('another branch') ? 0 : 1), // the other version is answered at once
  },
  { title: 'a prompt', act: ({ chat }) => chat.send('work'), live: ({ afterPrompt = 1 }) => afterPrompt },
  { title: 'a prompt with `switch`', whenBusy: 'switch', act: ({ chat }) => chat.send('work'), live: () => 1 },
  { title: 'select', act: (page) => page.chat.select(firstVersion(page)), live: () => 1 },
  { title: 'unsubscribe', act: (page) => page.unsubscribe(), live: () => 1 },
];

const cells = situations.flatMap((situation) => acts.map((act) => ({ situation, act })));

describe('what lives at the service is what the page shows', () => {
  it.each(cells)('$situation.title, then $act.title', async ({ situation, act }) => {
    const page = createPage(act.whenBusy);
    await situation.lose(page);
    expect([await page.live(), page.shown()]).toEqual([1, 1]);
    situation.then(page);
    act.act(page);
    await pass(45_000);
    page.heal();
    await pass(60_000);
    expect([await page.live(), page.shown()]).toEqual([act.live(situation), act.live(situation)]);
    if (act.title === 'unsubscribe') page.subscribe();
    await pass(1000);
    page.chat.stop();
    await pass(60_000);
    expect([await page.live(), page.shown()]).toEqual([0, 0]);
    expect(page.chat.save().exchanges.filter(({ stopping, notice }) => stopping ?? notice)).toEqual([]);
  });

  it.each([
    ['stop', 0, ({ chat }: TestPage) => chat.stop()],
    ['regenerate', 1, ({ chat }: TestPage) => chat.regenerate()],
    ['edit', 1, (page: TestPage) => page.chat.edit(last(page)?.id ?? '', 'work')],
  ])('a lost run, then %s while offline, and a reload', async (_, live, act) => {
    const page = createPage();
    await loseRun(page);
    act(page);
    await pass(2000);
    page.reload();
    page.heal();
    await pass(60_000);
    expect([await page.live(), page.shown()]).toEqual([live, live]);
  });
});

describe('a lost run that is stopped', () => {
  it('is shown as stopped at once, without its error, and with what it had', async () => {
    const page = createPage();
    await loseRun(page);
    page.chat.stop();
    expect(last(page)).toMatchObject({ status: 'stopped', messages: [{}, { parts: [{ name: 'work' }] }] });
    expect(last(page)).not.toHaveProperty('error');
    expect(last(page)).not.toHaveProperty('isIncomplete');
    page.heal();
    await pass(60_000);
    expect(last(page)).toMatchObject({ status: 'stopped', messages: [{}, { parts: [{ name: 'work' }] }] });
    expect(last(page)).not.toHaveProperty('error');
  });

  it('stays another version of the exchange that replaces it', async () => {
    const page = createPage();
    await loseRun(page);
    page.heal();
    const lost = last(page)?.id ?? '';
    page.chat.regenerate();
    expect(last(page)?.versions).toHaveLength(3);
    page.chat.select(lost);
    expect(last(page)).toMatchObject({ id: lost, status: 'stopped' });
  });
});

describe('a run that waits, whose approval is sent in the moment of', () => {
  const moments = acts.filter(({ title }) => ['stop', 'edit', 'regenerate', 'a prompt with `switch`'].includes(title));
  const networks = [
    { network: 'a good network', matches: () => false },
    { network: 'a network that loses the approval', matches: ({ method }: Request) => method === 'POST' },
  ];
  it.each(networks.flatMap((one) => moments.map((act) => ({ ...one, ...act }))))(
    '$title, does not wait at the service any more: $network',
    async ({ whenBusy, act, matches }) => {
      const page = createPage(whenBusy);
      page.chat.send('pay');
      await pass(2000);
      expect([page.chat.view.status, await page.live()]).toEqual(['waiting', 1]);
      page.break(matches);
      approve(page);
      act(page);
      await pass(5000);
      page.heal();
      await pass(60_000);
      expect(await page.live()).toBe(page.shown());
      page.chat.stop();
      await pass(60_000);
      expect([await page.live(), page.shown()]).toEqual([0, 0]);
    },
  );
});
