import { afterEach, describe, expect, it } from '@jest/globals';
import { concatMap, defer, EMPTY, finalize, NEVER, of, ReplaySubject, Subject, take, throwError, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { createAgent, type Agent } from '../../lib/agent/createAgent.js';
import { agUiHandler } from '../../lib/agUi.js';
import { uiChatHandler } from '../../lib/service/uiChat/index.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { userMessage, type Message } from '../../lib/core/message.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { setUsageOfError } from '../../lib/core/usageOfError.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { createRunUsage, OwnerLimits } from '../../lib/service/ownerLimits.js';
import type { OwnerLimitOptions } from '../../lib/service/ownerLimits.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import type { ServiceOptions } from '../../lib/service/serviceOptions.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';
import { shutDown } from '../support/services.js';
import { mapStore } from '../support/stores.js';
import { ignorePrintedErrors } from '../support/printedErrors.js';

ignorePrintedErrors();

const started: object[] = [];
afterEach(() => started.splice(0).forEach(shutDown));
/** Remembers a handler, whose runs end after the test. */
function ending<H extends object>(handler: H): H {
  started.push(handler);
  return handler;
}

const url = 'http://service.test/api/chat';
const newId = () => crypto.randomUUID();
type Handler = (request: Request) => Promise<Response>;
const post = (handler: Handler, body: unknown, headers: Record<string, string> = {}) =>
  handler(
    new Request(url, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', 'x-run-id': newId(), ...headers },
    }),
  );
const owned = { context: (request: Request) => request.headers.get('x-user') ?? 'ann', owner: (name: string) => name };
const uiMessage = (id: string, role: string) => ({ id, role, parts: [{ type: 'text', text: 'Hi' }] });
const withUsage = (usage: object): Observable<Chunk> =>
  of({ type: 'text', text: 'Hi' } as Chunk, { type: 'finish', reason: 'stop', usage } as Chunk);

type Options = { readonly limits: OwnerLimitOptions } & typeof owned;
type Model = ReturnType<typeof scriptedModel>;
const handlers: Readonly<Record<string, (model: Model, options: Options) => (user: string) => Promise<Response>>> = {
  agentHandler(model, options) {
    const handler = ending(agentHandler<string>(createAgent({ model }), options));
    return (user) => post(handler, { input: 'Hi' }, { 'x-user': user });
  },
  agUiHandler(model, options) {
    const handler = ending(agUiHandler<string>(() => createAgent({ model }), options));
    const messages = [{ id: 'm', role: 'user', content: 'Hi' }];
    return (user) => post(handler, { threadId: newId(), runId: 'r', messages }, { 'x-user': user });
  },
  uiChatHandler(model, options) {
    const handler = ending(uiChatHandler<string>(createAgent({ model }), { ...options, grace: 60_000 }));
    return (user) => post(handler, { id: newId(), messages: [uiMessage('m', 'user')] }, { 'x-user': user });
  },
};

it.each<[string, (agent: Agent, options: ServiceOptions<string>) => Handler, (input: string) => object]>([
  ['agentHandler', (agent, options) => agentHandler(agent, options), (input) => ({ input })],
  [
    'uiChatHandler',
    (agent, options) => uiChatHandler(agent, options),
    (text) => ({ id: 'c', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text }] }] }),
  ],
])('%s counts the bodies of requests until their runs have them', async (_, create, bodyOf) => {
  const memory = memoryStore();
  const isOpen = new ReplaySubject<void>(1);
  const late = <T>(work: Observable<T>) =>
    isOpen.pipe(
      take(1),
      concatMap(() => work),
    );
  const store: RunStore = {
    ...memory,
    get: (id) => late(memory.get(id)),
    put: (record, version) => late(memory.put(record, version)),
  };
  const agent = createAgent({ model: scriptedModel(() => 'Hi', { keep: 0 }) });
  const handler = ending(create(agent, { ...owned, store, limits: { maxOwnerBytes: 5000 } }));
  const ask = (user: string) => post(handler, bodyOf('x'.repeat(2000)), { 'x-user': user });
  const waiting = [ask('ann'), ask('ann')];
  await new Promise(setImmediate);
  const refused = await ask('ann');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
  waiting.push(ask('eve'));
  isOpen.next();
  for (const answer of waiting) {
    const response = await answer;
    await response.text();
    expect(response.status).toBe(200);
  }
  await new Promise((resolve) => void setTimeout(resolve));
  expect((await ask('ann')).status).toBe(200);
});

describe.each(Object.entries(handlers))('%s', (_, create) => {
  it('refuses another run of an owner who has as many as allowed, until one has ended', async () => {
    const chunks = new Subject<Chunk>();
    const ask = create(
      scriptedModel(() => chunks),
      { ...owned, limits: { maxRunsPerOwner: 2 } },
    );
    const answered = await Promise.all([ask('ann'), ask('ann'), ask('ann')]);
    expect(answered.map(({ status }) => status).sort()).toEqual([200, 200, 429]);
    const refused = answered.find(({ status }) => status === 429);
    expect(refused?.headers.get('retry-after')).toBe('5');
    expect(await refused?.clone().text()).toContain('At most 2 runs of a user are executed at once.');
    expect((await ask('eve')).status).toBe(200);
    chunks.next({ type: 'finish', reason: 'stop' });
    chunks.complete();
    for (const response of answered) await response.text();
    expect((await ask('ann')).status).toBe(200);
  });

  it('refuses a run of an owner whose budget is used up', async () => {
    const model = scriptedModel(() => withUsage({ input: 8, output: 2 }));
    const ask = create(model, { ...owned, limits: { budget: { tokens: 15, window: 60_000 } } });
    const statuses = [];
    for (let n = 0; n < 3; n++) {
      const response = await ask('ann');
      statuses.push(response.status);
      const text = await response.text();
      if (response.status !== 429) continue;
      expect(response.headers.get('retry-after')).toMatch(/^(60|59)$/);
      expect(text).toContain('The budget of this user is used up for now.');
    }
    expect(statuses).toEqual([200, 200, 429]);
    expect((await ask('eve')).status).toBe(200);
  });
});

describe('the limits of an owner', () => {
  const createOwnerLimits = (options: OwnerLimitOptions) => new OwnerLimits(options, memoryStore());
  const turn = (fields: object) => of({ type: 'turn', turn: 1, finishReason: 'stop', ...fields } as StreamEvent);
  const isAdmitted = (limits: OwnerLimits) => observe(limits.admit('ann', of(1))).error === undefined;

  it.each([
    ['the cost that the provider reports', { cost: 1 }, { metadata: { cost: 0.6 } }],
    ['the cost by prices', { cost: 1, prices: { input: 1, output: 1 } }, { usage: { input: 600_000 } }],
    ['the tokens', { tokens: 100 }, { usage: { total: 60 } }],
  ])('counts %s', (_, budget, fields) => {
    const limits = createOwnerLimits({ budget });
    const admitted = [0, 1, 2].map(() => {
      const before = isAdmitted(limits);
      observe(turn(fields).pipe(limits.count('ann')));
      return before;
    });
    expect(admitted).toEqual([true, true, false]);
  });

  it.each([
    ['waits', { finishReason: 'waiting', checkpoint: { open: { finish: { usage: { total: 60 } } } } }, false],
    [
      'reports its cost',
      { finishReason: 'waiting', checkpoint: { open: { finish: {}, metadata: { cost: 6 } } } },
      false,
    ],
    ['waits without an open turn', { finishReason: 'waiting', checkpoint: {} }, true],
    ['ends', { finishReason: 'stop', checkpoint: { open: { finish: { usage: { total: 60 } } } } }, true],
  ])('counts the open turn of a run that %s: %j', (_, result, isAllowed) => {
    const limits = createOwnerLimits({ budget: { tokens: 60, cost: 6 } });
    observe(of({ type: 'result', result } as unknown as StreamEvent).pipe(limits.count('ann')));
    expect(isAdmitted(limits)).toBe(isAllowed);
  });

  it('counts the open turn of a run that is resumed in the run that waited', () => {
    const limits = createOwnerLimits({ budget: { tokens: 61 } });
    const checkpoint = { open: { finish: { usage: { total: 60 } } } } as unknown as Checkpoint;
    observe(turn({ usage: { total: 120 } }).pipe(limits.count('ann', undefined, createRunUsage(checkpoint))));
    expect(isAdmitted(limits)).toBe(true);
    observe(turn({ usage: { total: 1 } }).pipe(limits.count('ann')));
    expect(isAdmitted(limits)).toBe(false);
  });

  it.each([
    ['nothing', {}, 'stopped', { input: 2, output: 3, total: 5 }],
    ['its input only', { usage: { input: 50, output: 1, total: 51 } }, 'stopped', { input: 50, output: 3, total: 53 }],
    ['more than the estimate', { usage: { input: 50, output: 9 } }, 'stopped', { input: 50, output: 9, total: 59 }],
    ['nothing, and was not stopped', {}, 'stop', {}],
  ] as const)('estimates a stopped turn whose provider has reported %s', (_, reported, finishReason, expected) => {
    const { wrapTurn, usageOf } = createRunUsage();
    const messageOf = (role: 'user' | 'model', text: string): Message => ({ role, parts: [{ type: 'text', text }] });
    const begin = wrapTurn(() => EMPTY);
    void begin({ messages: [messageOf('user', 'x'.repeat(8))], turn: 1, usage: {} }, {} as never);
    const events = [
      { type: 'message', message: messageOf('model', 'y'.repeat(12)) },
      { type: 'turn', finishReason, ...reported },
    ];
    const used = events.map((event) => usageOf(event as StreamEvent));
    expect(used).toEqual([undefined, expected]);
    void begin({ messages: [], turn: 1, usage: {} }, {} as never);
    expect(usageOf({ type: 'turn', finishReason: 'stopped' } as StreamEvent)).toMatchObject({ output: 0 });
  });

  it('counts the cost of a turn after one whose cost the provider did not report', () => {
    const limits = createOwnerLimits({ budget: { cost: 1 } });
    observe(turn({}).pipe(limits.count('ann')));
    expect(isAdmitted(limits)).toBe(true);
    observe(turn({ metadata: { cost: 1 } }).pipe(limits.count('ann')));
    expect(isAdmitted(limits)).toBe(false);
  });

  it('counts the cost that `priceModel` has set', () => {
    const limits = createOwnerLimits({ budget: { cost: 1 } });
    observe(turn({ usage: { cost: 1 }, metadata: { cost: 0.1 } }).pipe(limits.count('ann')));
    expect(isAdmitted(limits)).toBe(false);
  });

  it('counts no usage of an event of the application', () => {
    const limits = createOwnerLimits({ budget: { tokens: 1 } });
    observe(of({ type: 'disk', usage: { total: 5 } } as StreamEvent).pipe(limits.count('ann')));
    expect(isAdmitted(limits)).toBe(true);
  });

  it('counts what the provider reported before a run failed', () => {
    const failure = new Error('The connection broke.');
    setUsageOfError(failure, { input: 4, output: 1 });
    const limits = createOwnerLimits({ budget: { tokens: 5 } });
    observe(throwError(() => failure).pipe(limits.count('ann')));
    expect(isAdmitted(limits)).toBe(false);
  });

  it('gives an owner a new budget when the time is over', () => {
    new TestScheduler(() => undefined).run(({ cold, flush }) => {
      const limits = createOwnerLimits({ budget: { tokens: 1, window: 1000 } });
      const admitted: boolean[] = [];
      observe(turn({ usage: { total: 5 } }).pipe(limits.count('ann')));
      cold('a 998ms b c').subscribe(() => admitted.push(isAdmitted(limits)));
      flush();
      expect(admitted).toEqual([false, false, true]);
    });
  });

  it('counts nothing for a run that waits without a checkpoint', () => {
    const limits = createOwnerLimits({ budget: { tokens: 60 } });
    const waits = { type: 'result', result: { finishReason: 'waiting' } } as unknown as StreamEvent;
    expect(observe(of(waits).pipe(limits.count('ann'))).error).toBeUndefined();
    expect(isAdmitted(limits)).toBe(true);
  });

  it.each([
    ['maxRunsPerOwner is 0.', { maxRunsPerOwner: 0 }],
    ['budget.tokens is -1.', { budget: { tokens: -1 } }],
    ['budget.cost is -1.', { budget: { cost: -1 } }],
    ['budget.window is NaN.', { budget: { window: NaN } }],
  ])('says that %s', (message, options) => {
    expect(() => createOwnerLimits(options)).toThrow(message);
  });
});

describe('a long conversation', () => {
  it('takes memory in proportion to its length: 100 prompts of 1 KB take less than 250 KB', async () => {
    const store = mapStore();
    const handler = ending(agentHandler(createAgent({ model: scriptedModel(() => ['Yes.']) }), { store }));
    const history: object[] = [];
    for (let n = 0; n < 100; n++) {
      const id = newId();
      const input = [userMessage('x'.repeat(1000))];
      await (await post(handler, { input, history }, { 'x-run-id': id })).text();
      history.push({ id, input: [] });
    }
    expect(JSON.stringify([...store.records.values()]).length).toBeLessThan(250_000);
  });

  it('is refused with 413 if the store has more of it than allowed, before the model is asked', async () => {
    const model = scriptedModel(() => ['x'.repeat(600)]);
    const handler = ending(agentHandler(createAgent({ model }), { limits: { maxHistoryBytes: 2000 } }));
    const ids = [newId(), newId(), newId()];
    for (const id of ids) await (await post(handler, { input: 'Hi' }, { 'x-run-id': id })).text();
    const history = ids.map((id) => ({ id, input: [] }));
    expect((await post(handler, { input: 'Hi', history })).status).toBe(413);
    expect(model.requests).toHaveLength(3);
    expect((await post(handler, { input: 'Hi', history: history.slice(1) })).status).toBe(200);
  });
});

describe('uiChatHandler and many messages', () => {
  it('refuses more than 2000, and reads each response once, 16 at a time', async () => {
    const records = mapStore();
    let reads = 0;
    let open = 0;
    let most = 0;
    const get = (id: string) =>
      defer(() => {
        reads++;
        most = Math.max(most, ++open);
        return timer(0).pipe(
          concatMap(() => records.get(id)),
          finalize(() => open--),
        );
      });
    const store = { ...records, get };
    const handler = ending(uiChatHandler(createAgent({ model: scriptedModel(() => NEVER) }), { store }));
    const messages = Array.from({ length: 2001 }, (_, n) => uiMessage(`m${n}`, n % 2 ? 'assistant' : 'user'));
    expect((await post(handler, { id: 'chat', messages })).status).toBe(413);
    expect(reads).toBe(0);
    expect((await post(handler, { id: 'chat', messages: messages.slice(1) })).status).toBe(200);
    expect([reads, most]).toEqual([1000, 16]);
  });
});
