import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { concat, concatMap, firstValueFrom, ignoreElements, NEVER, of, Subject, Subscription, take, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { followingId } from '../../lib/transport/randomId.js';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation, remoteAgent, remoteChats } from '../../lib/chat/index.js';
import type { Conversation, WhenBusy } from '../../lib/chat/index.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { errorText } from '../../lib/core/errors.js';
import { messageText } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { keepChats, memoryStore } from '../../lib/service/index.js';
import { askTool } from '../../lib/tools/askTool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { payTool } from '../support/toolCalls.js';
import type { ScriptedRequest } from '../../lib/testing/index.js';

/** What the network does with a request. `right` sends it to the service. */
type Fault = (right: () => Promise<Response>, signal: AbortSignal | null | undefined) => Promise<Response>;

const silence = (signal: AbortSignal | null | undefined) =>
  new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
const refuse =
  (status: number, headers: Record<string, string> = {}): Fault =>
  () =>
    Promise.resolve(new Response('<h1>No</h1>', { status, headers: { 'content-type': 'text/html', ...headers } }));
const half: Fault = () => {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('event: he')),
  });
  return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
};
/** A fault of the first request only. */
function once(fault: Fault): Fault {
  let count = 0;
  return (right, signal) => (count++ === 0 ? fault(right, signal) : right());
}

const faults: Readonly<Record<string, () => Fault>> = {
  'no answer': () => (_, signal) => silence(signal),
  reset: () => () => Promise.reject(new TypeError('reset')),
  '401, then right': () => once(refuse(401)),
  '403': () => refuse(403),
  '404': () => refuse(404),
  '413': () => refuse(413),
  '429 with 10 s': () => refuse(429, { 'retry-after': '10' }),
  '429 with an hour': () => refuse(429, { 'retry-after': '3600' }),
  '502 of a balancer': () => refuse(502),
  '503': () => refuse(503),
  HTML: () => () => Promise.resolve(new Response('<h1>Sign in</h1>', { headers: { 'content-type': 'text/html' } })),
  'half an answer': () => half,
};

/** The longest time of six attempts of 30 s, and 31 s between them. */
const GIVEN_UP = 215_000;

const work = tool({
  name: 'work',
  description: 'Works.',
  parameters: { type: 'object', properties: {} },
  execute: (): Observable<string> => NEVER,
});

/** What the tool `ask` has received. */
let received: string[] = [];
const ask = askTool({
  name: 'ask',
  description: 'Asks.',
  execute: (_, context) =>
    context
      .ask({ message: 'What?', schema: z.object({ text: z.string() }) })
      .pipe(concatMap(({ text }) => context.once('note', () => received.push(text)))),
});

let used = new Subscription();
afterEach(() => {
  used.unsubscribe();
  used = new Subscription();
  received = [];
  jest.restoreAllMocks();
  jest.useRealTimers();
});

async function turns() {
  for (let count = 0; count < 3; count += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** The time between two turns of streams, in milliseconds. */
const STEP = 10_000;

/** Lets virtual time pass, with the turns that promises and streams need. */
async function pass(milliseconds: number) {
  await turns();
  for (let passed = 0; passed < milliseconds; passed += STEP) {
    await jest.advanceTimersByTimeAsync(Math.min(STEP, milliseconds - passed));
    await turns();
  }
}

/** A page and its service, with a network between them that may have a fault. */
function createPage(whenBusy: WhenBusy) {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
  const finished = new Subject<void>();
  const slow = concat(of<Chunk>({ type: 'text', text: 'Half' }), finished.pipe(take(1), ignoreElements()));
  const model = scriptedModel(({ messages }: ScriptedRequest) => {
    const prompt = messages.findLast(({ role, parts }) => role === 'user' && parts[0]?.type === 'text');
    const text = prompt ? messageText(prompt) : '';
    if (messages.at(-1) !== prompt) return ['Done.'];
    if (text === 'slow') return concat(slow, of<Chunk>({ type: 'finish', reason: 'stop' }));
    if (text === 'slow pay') return concat(slow, scriptedModel([[toolCall('pay', {}, 'call')]]).stream({ messages }));
    if (text === 'pay') return [toolCall('pay', {}, 'call')];
    if (text === 'ask') return [toolCall('ask', {}, 'call')];
    return text === 'work' ? [toolCall('work', {}, 'call')] : ['An answer.'];
  });
  const handler = agentHandler(createAgent({ model, tools: [payTool(), work, ask] }), {
    chats: keepChats(memoryStore()),
  });
  let isFaulty: (request: Request) => boolean = () => false;
  let fault: Fault = (right) => right();
  const cut = new Subject<void>();
  const sent: string[] = [];
  const network: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    sent.push(request.method);
    const right = () => handler(request).then((response) => breakable(response, cut));
    return isFaulty(request) ? fault(right, init?.signal) : right();
  };
  const options = { fetch: network, headers: () => ({ authorization: 'token' }) };
  const agent = remoteAgent('http://service.test/', options);
  const chats = remoteChats('http://service.test/', { ...options, onError: (thrown) => reported.push(thrown) });
  const reported: unknown[] = [];
  const open = (saved?: Conversation): Conversation => {
    const chat = conversation(agent, { whenBusy, saved: saved && JSON.stringify(saved.save()) });
    used.add(chat.view$.subscribe());
    return chat;
  };
  const page = {
    chat: open(),
    chats,
    reported,
    sent,
    finish: () => finished.next(),
    cut: () => cut.next(),
    requests: () => model.requests.length,
    /** The requests for which the fault holds, from now on. */
    break(next: Fault, matches: (request: Request) => boolean) {
      fault = next;
      isFaulty = matches;
    },
    heal: () => (isFaulty = () => false),
    /** Closes the page. Returns what opens it again. */
    close() {
      const before = page.chat;
      used.unsubscribe();
      used = new Subscription();
      return () => (page.chat = open(before));
    },
    /** Opens the conversation on another device. */
    openAnother: () => open(page.chat),
    /** Answers the question from a list of what waits: on this page, or on another device. */
    answerFromList(text: string, isHere: boolean) {
      const run = page.chat.save().exchanges[0]?.run ?? '';
      const answers = { results: { 'call/1': { text } } };
      const id = followingId(run);
      if (isHere) {
        const notifiers = { stop: NEVER, cancel: NEVER, fragments: true, context: undefined } as const;
        const call = { ...notifiers, ...answers, id, earlier: [{ id: run, input: [] }] };
        used.add(remoteAgent('http://service.test/', options).resume(undefined, call).subscribe());
        return;
      }
      const headers = { 'x-run-id': id, authorization: 'token' };
      const body = JSON.stringify({ resume: run, ...answers });
      void handler(new Request('http://service.test/', { method: 'POST', headers, body })).then((got) => got.text());
    },
    watch(request: Observable<unknown>) {
      used.add(request.subscribe({ error: (thrown: unknown) => reported.push(thrown) }));
    },
  };
  return page;
}
type TestPage = ReturnType<typeof createPage>;

/** A response whose connection may break. */
function breakable(response: Response, cut: Observable<void>): Response {
  if (!response.body) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      used.add(
        cut.pipe(take(1)).subscribe(() => {
          void reader.cancel();
          controller.error(new TypeError('The connection broke.'));
        }),
      );
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => reader.cancel(),
  });
  const { status, headers } = response;
  return new Response(body, { status, headers });
}

const last = ({ chat }: TestPage) => chat.view.exchanges.at(-1);
const textOf = (page: TestPage) =>
  (last(page)?.messages ?? [])
    .flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')))
    .join('|');
const sentences = ({ chat, reported }: TestPage): string =>
  [
    ...chat.view.exchanges.flatMap(({ error, notice }) => [error, notice].map((each) => errorText(each ?? ' '))),
    ...reported.map(errorText),
  ].join(' ');

const isFor =
  (method: string, isChat = false) =>
  (request: Request) =>
    request.method === method && /[?&]chat=/.test(request.url) === isChat;
const isList = (request: Request) => request.method === 'GET';
const isOfFirst =
  ({ chat }: TestPage) =>
  (request: Request) =>
    request.headers.get('x-run-id') === chat.view.exchanges[0]?.id;
const pressStop = async (page: TestPage) => {
  page.chat.stop();
  await pass(1000);
  expect(page.chat.view.status).toBe('stopped');
};
const prompt = async ({ chat }: TestPage, text: string, status: string) => {
  chat.send(text);
  await pass(100);
  expect(chat.view.status).toBe(status);
};

interface Row {
  readonly request: string;
  readonly state: 'running' | 'waiting' | 'stopping';
  readonly whenBusy?: WhenBusy;
  /** What happens before the fault. */
  readonly before: (page: TestPage) => Promise<unknown>;
  readonly isFaulty: (request: Request) => boolean;
  /** What sends the request, and what the person does then. */
  readonly act: (page: TestPage) => unknown;
  /** Whether the fault does not concern the run. */
  readonly goesOn?: boolean;
  /** The faults that a person does not have to know: the request is not needed, or repeated. */
  readonly silent?: readonly string[];
}

const nothing = () => Promise.resolve();
const all = Object.keys(faults);
const saving = {
  isFaulty: isFor('PUT', true),
  act: (page: TestPage) => page.watch(page.chats.keep(page.chat, { id: crypto.randomUUID() })),
};
const listing = { isFaulty: isList, act: (page: TestPage) => page.watch(page.chats.list()) };

const rows: readonly Row[] = [
  {
    request: 'start',
    state: 'running',
    before: nothing,
    isFaulty: isFor('POST'),
    act: ({ chat }) => chat.send('hello'),
  },
  {
    request: 'start',
    state: 'waiting',
    whenBusy: 'switch',
    before: (page) => prompt(page, 'pay', 'waiting'),
    isFaulty: isFor('POST'),
    act: ({ chat }) => chat.send('hello'),
  },
  {
    request: 'start',
    state: 'stopping',
    before: nothing,
    isFaulty: isFor('POST'),
    act: async (page) => {
      page.chat.send('hello');
      await pressStop(page);
    },
    silent: all,
  },
  {
    request: 'join',
    state: 'running',
    before: (page) => prompt(page, 'slow', 'streaming'),
    isFaulty: isFor('POST'),
    act: ({ cut }) => cut(),
  },
  {
    request: 'join',
    state: 'waiting',
    before: (page) => prompt(page, 'slow pay', 'streaming'),
    isFaulty: isFor('POST'),
    act: async (page) => {
      const openAgain = page.close();
      page.finish(); // the run waits at the service
      await pass(100);
      openAgain();
    },
  },
  {
    request: 'join',
    state: 'stopping',
    before: (page) => prompt(page, 'slow', 'streaming'),
    isFaulty: isFor('POST'),
    act: async (page) => {
      page.cut();
      await pass(100);
      await pressStop(page);
    },
    silent: all,
  },
  {
    request: 'decision',
    state: 'waiting',
    before: (page) => prompt(page, 'pay', 'waiting'),
    isFaulty: isFor('POST'),
    act: ({ chat }) => chat.decide('call', { approve: true }),
  },
  {
    request: 'decision',
    state: 'stopping',
    before: (page) => prompt(page, 'pay', 'waiting'),
    isFaulty: isFor('POST'),
    act: async (page) => {
      page.chat.decide('call', { approve: true });
      await pressStop(page);
    },
    silent: all,
  },
  {
    request: 'answer',
    state: 'waiting',
    before: (page) => prompt(page, 'ask', 'waiting'),
    isFaulty: isFor('POST'),
    act: ({ chat }) => chat.answer('call/1', { text: 'yes' }),
  },
  {
    request: 'answer',
    state: 'stopping',
    before: (page) => prompt(page, 'ask', 'waiting'),
    isFaulty: isFor('POST'),
    act: async (page) => {
      page.chat.answer('call/1', { text: 'yes' });
      await pressStop(page);
    },
    silent: all,
  },
  {
    request: 'decline',
    state: 'waiting',
    before: (page) => prompt(page, 'ask', 'waiting'),
    isFaulty: isFor('POST'),
    act: ({ chat }) => chat.decline('call/1', 'no'),
  },
  {
    request: 'stop',
    state: 'running',
    before: (page) => prompt(page, 'slow', 'streaming'),
    isFaulty: isFor('DELETE'),
    act: pressStop,
    silent: ['404'],
  },
  {
    request: 'stop',
    state: 'waiting',
    before: (page) => prompt(page, 'pay', 'waiting'),
    isFaulty: isFor('DELETE'),
    act: pressStop,
    silent: all, // nothing runs at the service
  },
  {
    request: 'stop',
    state: 'stopping',
    before: (page) => prompt(page, 'slow', 'streaming'),
    isFaulty: isFor('DELETE'),
    act: async (page) => {
      await pressStop(page);
      await pressStop(page);
    },
    silent: ['404'],
  },
  {
    request: 'cancel of a call',
    state: 'running',
    before: (page) => prompt(page, 'work', 'runningTools'),
    isFaulty: isFor('DELETE'),
    act: ({ chat }) => chat.cancel('call'),
    goesOn: true,
    silent: ['404'],
  },
  {
    request: 'cancel of a call',
    state: 'stopping',
    before: (page) => prompt(page, 'work', 'runningTools'),
    isFaulty: isFor('DELETE'),
    act: async (page) => {
      page.chat.cancel('call');
      await pressStop(page);
    },
    silent: ['404'],
  },
  {
    request: 'prompt during a run',
    state: 'running',
    whenBusy: 'merge',
    before: (page) => prompt(page, 'slow', 'streaming'),
    isFaulty: isFor('PATCH'),
    act: ({ chat }) => chat.send('hello'),
    goesOn: true,
    silent: all, // it is shown as queued, and sent after the run
  },
  {
    request: 'prompt during a run',
    state: 'stopping',
    whenBusy: 'merge',
    before: (page) => prompt(page, 'slow', 'streaming'),
    isFaulty: isFor('PATCH'),
    act: async (page) => {
      page.chat.send('hello');
      await pressStop(page);
    },
    silent: all,
  },
  {
    request: 'list of chats',
    state: 'running',
    before: (page) => prompt(page, 'slow', 'streaming'),
    goesOn: true,
    ...listing,
  },
  { request: 'list of chats', state: 'waiting', before: (page) => prompt(page, 'pay', 'waiting'), ...listing },
  { request: 'save', state: 'running', before: (page) => prompt(page, 'slow', 'streaming'), goesOn: true, ...saving },
  { request: 'save', state: 'waiting', before: (page) => prompt(page, 'pay', 'waiting'), ...saving },
  {
    request: 'save',
    state: 'stopping',
    before: (page) => prompt(page, 'slow', 'streaming'),
    isFaulty: saving.isFaulty,
    act: async (page) => {
      await pressStop(page);
      saving.act(page);
    },
  },
];

/** What is right after a fault that is over, or that the page survives. */
const settled = ['idle', 'waiting', 'stopped', 'failed'];

describe('a page on a bad network', () => {
  const cells = rows.flatMap((row) => all.map((fault) => ({ ...row, fault })));
  it.each(cells)('$request while $state: $fault', async ({ fault, silent = [], ...row }) => {
    const page = createPage(row.whenBusy ?? 'concat');
    await row.before(page);
    const create = faults[fault];
    if (!create) throw new Error('There is no such fault.');
    page.break(create(), row.isFaulty);
    await row.act(page);
    await pass(GIVEN_UP);
    // 1. The view is settled, unless the run goes on.
    const { status } = page.chat.view;
    if (!row.goesOn && !(row.request === 'join' && fault === '401, then right')) expect(settled).toContain(status);
    expect(last(page)?.reconnecting).toBeUndefined();
    if (row.state === 'stopping') expect(status).toBe('stopped');
    // 2. A sentence says what happened.
    if (!['401, then right', ...silent].includes(fault)) expect(sentences(page)).toMatch(/[A-Z][^.]{8,}\./);
    // 3. The next prompt works.
    page.heal();
    page.finish();
    if (page.chat.view.status === 'runningTools') page.chat.stop();
    const decide = () => page.chat.view.waiting.forEach(({ id }) => page.chat.decline(id));
    await pass(40_000);
    decide();
    await pass(1000);
    page.chat.send('hello');
    await pass(35_000);
    decide(); // of a run that is joined again before the prompt
    await pass(35_000);
    expect([page.chat.view.status, textOf(page), page.chat.view.queued]).toEqual(['idle', 'hello|An answer.', []]);
  });
});

describe('an answer to a question', () => {
  it.each(all)('that is given twice, and again after a reload, counts once: %s', async (fault) => {
    const page = createPage('concat');
    await prompt(page, 'ask', 'waiting');
    page.break(faults[fault]?.() ?? refuse(500), isFor('POST'));
    page.chat.answer('call/1', { text: 'first' });
    page.chat.answer('call/1', { text: 'second' });
    await pass(GIVEN_UP);
    const openAgain = page.close();
    page.heal();
    openAgain();
    await pass(40_000);
    for (const { id } of page.chat.view.waiting) page.chat.answer(id, { text: 'third' });
    page.chat.reconnect();
    await pass(40_000);
    expect(received.length).toBeLessThanOrEqual(1);
    expect(received).not.toContain('second');
    expect(page.chat.view.waiting).toEqual([]);
    if (page.chat.view.status === 'idle') expect(received).toHaveLength(1);
  });

  it('that is given twice is sent once, and not to the run that it has continued', async () => {
    const page = createPage('concat');
    await prompt(page, 'ask', 'waiting');
    let patches = 0;
    const refused = refuse(409);
    page.break((...request) => {
      patches += 1;
      return refused(...request);
    }, isFor('PATCH'));
    page.chat.answer('call/1', { text: 'first' });
    await Promise.resolve();
    page.chat.answer('call/1', { text: 'second' });
    await pass(5000);
    expect(received).toEqual(['first']);
    expect(patches).toBe(0);
  });

  it.each(['the page that asked', 'the other page'])('of %s counts, and the late one shows it', async (which) => {
    const page = createPage('concat');
    await prompt(page, 'ask', 'waiting');
    const other = page.openAnother();
    await pass(100);
    expect(other.view.waiting).toHaveLength(1);
    const [early, late] = which === 'the page that asked' ? [page.chat, other] : [other, page.chat];
    early.answer('call/1', { text: 'early' });
    late.answer('call/1', { text: 'late' });
    await pass(5000);
    expect(received).toEqual(['early']);
    for (const { view } of [early, late]) expect([view.status, view.waiting]).toEqual(['idle', []]);
    expect(other.view.exchanges.at(-1)?.messages).toEqual(page.chat.view.exchanges.at(-1)?.messages);
  });

  it('that another device has given is shown when the page is loaded again', async () => {
    const page = createPage('concat');
    await prompt(page, 'ask', 'waiting');
    const openAgain = page.close();
    const other = page.openAnother();
    await pass(100);
    other.answer('call/1', { text: 'elsewhere' });
    await pass(1000);
    openAgain();
    await pass(1000);
    expect([page.chat.view.status, page.chat.view.waiting, received]).toEqual(['idle', [], ['elsewhere']]);
    expect(page.requests()).toBe(2);
  });

  it.each([
    ['this page', true, 0],
    ['this page, after the list was read', true, 5000],
    ['another device', false, 35_000],
  ])('that is given in a list of %s is shown in the chat', async (_, isHere, time) => {
    const page = createPage('concat');
    await prompt(page, 'ask', 'waiting');
    if (isHere) page.break((right) => firstValueFrom(timer(time).pipe(concatMap(right))), isFor('POST'));
    page.answerFromList('listed', isHere);
    await pass(2 * time + 1000);
    expect([page.chat.view.status, page.chat.view.waiting, received]).toEqual(['idle', [], ['listed']]);
  });

  it('is awaited after a reload while the list of what waits cannot be read', async () => {
    const page = createPage('concat');
    await prompt(page, 'ask', 'waiting');
    page.break(refuse(403), isList);
    page.close()();
    await pass(1000);
    expect([page.chat.view.status, page.chat.view.waiting.length]).toEqual(['waiting', 1]);
    page.chat.answer('call/1', { text: 'yes' });
    await pass(1000);
    expect([page.chat.view.status, received]).toEqual(['idle', ['yes']]);
  });
});

describe('a stop', () => {
  it.each(['no answer', 'reset', '502 of a balancer', '429 with 10 s', 'half an answer'])(
    'ends a start that was not answered, which is never sent again: %s',
    async (fault) => {
      const page = createPage('concat');
      page.break(faults[fault]?.() ?? refuse(500), isFor('POST'));
      page.chat.send('slow');
      await pass(100);
      await pressStop(page);
      page.heal();
      page.sent.splice(0);
      await pass(120_000);
      expect(page.requests()).toBe(0);
      expect(page.sent.filter((method) => method === 'DELETE').length).toBeLessThanOrEqual(8);
      expect(page.sent.filter((method) => method === 'POST').length).toBeLessThanOrEqual(1); // asks for the end
      expect(page.chat.view.status).toBe('stopped');
      expect(page.chat.save().exchanges[0]).not.toHaveProperty('stopping', expect.any(String));
    },
  );

  it('is delivered after a reload, and the answer is what the run has written', async () => {
    const page = createPage('concat');
    await prompt(page, 'slow', 'streaming');
    page.break(
      () => Promise.reject(new TypeError('offline')),
      () => true,
    );
    await pressStop(page);
    await pass(35_000);
    expect(last(page)?.notice).toMatchObject({ code: 'not_stopped' });
    const openAgain = page.close();
    page.heal();
    page.sent.splice(0);
    openAgain();
    await pass(5000);
    expect(page.sent).toEqual(['DELETE', 'POST']);
    expect([page.chat.view.status, textOf(page), last(page)?.notice]).toEqual(['stopped', 'slow|Half', undefined]);
    expect(page.chat.save().exchanges[0]).toMatchObject({ messages: [{ parts: [{ text: 'Half' }] }] });
    await pass(60_000);
    expect(page.sent).toHaveLength(2);
  });

  it('wins against a run that ends before the service receives it', async () => {
    const page = createPage('concat');
    await prompt(page, 'slow pay', 'streaming');
    page.break((_, signal) => silence(signal), isFor('DELETE'));
    page.cut();
    await pressStop(page);
    page.finish();
    await pass(35_000);
    page.heal();
    await pass(60_000);
    expect([page.chat.view.status, page.chat.view.waiting]).toEqual(['stopped', []]);
    page.chat.send('hello');
    await pass(1000);
    expect(textOf(page)).toBe('hello|An answer.');
  });
});

describe('a run that the page has given up', () => {
  it.each([
    ['by itself', () => undefined],
    ['by reconnect', ({ chat }: TestPage) => chat.reconnect()],
    ['after a reload', (page: TestPage) => page.close()()],
    ['before the next prompt', ({ chat }: TestPage) => chat.send('hello')],
  ])('is joined again, with all of its text: %s', async (_, act) => {
    const page = createPage('concat');
    await prompt(page, 'slow', 'streaming');
    page.break(
      () => Promise.reject(new TypeError('offline')),
      () => true,
    );
    page.cut();
    await pass(40_000);
    expect(last(page)).toMatchObject({ status: 'failed', isIncomplete: true, error: { code: 'connection' } });
    page.finish();
    page.heal();
    act(page);
    await pass(30_000);
    const [first] = page.chat.view.exchanges;
    expect(first).toMatchObject({ status: 'idle', messages: [{}, { parts: [{ text: 'Half' }] }] });
    expect(first).not.toHaveProperty('isIncomplete');
    expect(first).not.toHaveProperty('error');
    expect(page.requests()).toBe(page.chat.view.exchanges.length);
    expect(page.chat.view.status).toBe('idle');
  });

  it.each([
    ['', (page: TestPage) => page.heal()],
    [', also if the stop does not arrive', (page: TestPage) => page.break(refuse(503), isFor('DELETE'))],
    [
      ', also if the service is silent about it',
      (page: TestPage) => page.break((_, signal) => silence(signal), isOfFirst(page)),
    ],
  ])('is stopped by the next prompt, which is sent within a second, with `switch`%s', async (_, mend) => {
    const page = createPage('switch');
    await prompt(page, 'slow', 'streaming');
    page.break(
      () => Promise.reject(new TypeError('offline')),
      () => true,
    );
    page.cut();
    await pass(40_000);
    expect(last(page)).toMatchObject({ status: 'failed', isIncomplete: true });
    mend(page);
    page.chat.send('hello');
    await pass(1100);
    expect([page.chat.view.status, textOf(page)]).toEqual(['idle', 'hello|An answer.']);
    expect(page.chat.view.exchanges[0]).toMatchObject({
      status: 'stopped',
      messages: [{}, { parts: [{ text: 'Half' }] }],
    });
    expect(page.chat.view.exchanges[0]).not.toHaveProperty('isIncomplete');
    page.heal();
    await pass(60_000);
    expect(page.chat.save().exchanges[0]).not.toHaveProperty('stopping', expect.any(String));
    expect(page.chat.view.exchanges[0]).not.toHaveProperty('notice');
  });

  it('takes a decision that did not arrive with it, which the service uses once', async () => {
    const page = createPage('concat');
    await prompt(page, 'pay', 'waiting');
    page.break(
      () => Promise.reject(new TypeError('offline')),
      () => true,
    );
    page.chat.decide('call', { approve: true });
    await pass(40_000);
    expect(last(page)).toMatchObject({ status: 'failed', isIncomplete: true });
    page.heal();
    await pass(30_000);
    expect([page.chat.view.status, textOf(page)]).toEqual(['idle', 'pay||Done.']);
    expect(page.requests()).toBe(2);
  });
});
