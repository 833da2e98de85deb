import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { NEVER, Subject, tap, throwError } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { tool } from '../../lib/core/tool.js';
import { ofType } from '../../lib/operators/ofType.js';
import { agUiHandler } from '../../lib/agUi.js';
import { uiChatHandler } from '../../lib/service/uiChat/index.js';
import { createService } from '../../lib/service/createService.js';
import type { Service } from '../../lib/service/service.js';
import type { ServiceOptions } from '../../lib/service/serviceOptions.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';
import { protocolNames, protocols, startRequest } from '../support/services.js';
import { mapStore } from '../support/stores.js';
import { ignorePrintedErrors } from '../support/printedErrors.js';

ignorePrintedErrors();

const services: Service<string>[] = [];
afterEach(() => {
  jest.useRealTimers();
  for (const service of services.splice(0)) observe(service.shutdown('abandon'));
});

const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' });

/** One service for several users, and its three protocols. */
function serve(script: Parameters<typeof scriptedModel>[0], options: ServiceOptions<string> = {}) {
  const model = scriptedModel(script);
  const service = createService<string>({
    agent: createAgent({ model, tools: [pay] }),
    context: (request) => request.headers.get('x-user') ?? 'ann',
    owner: (user) => user,
    ...options,
  });
  services.push(service);
  const handlers = Object.fromEntries(protocolNames.map((name) => [name, protocols[name].over(service)] as const));
  const ask = (name: (typeof protocolNames)[number], user = 'ann') => {
    const handler = handlers[name];
    if (!handler) throw new Error(name);
    return handler(startRequest(protocols[name], { 'x-user': user }));
  };
  /** What a page of `remoteAgent` receives that joins a run. */
  const join = (id: string, user = 'ann') =>
    protocols.agentHandler.over(service)(
      new Request('http://service.test/', { method: 'POST', headers: { 'x-run-id': id, 'x-user': user } }),
    );
  return { service, model, ask, join };
}

const pairs = protocolNames.flatMap((first) => protocolNames.map((second) => [first, second] as const));
const newId = () => crypto.randomUUID();

describe('one service with three protocols', () => {
  it.each(pairs)('counts a run of %s in the limits of %s', async (first, second) => {
    const chunks = new Subject<Chunk>();
    const { ask } = serve(() => chunks, { limits: { maxRunsPerOwner: 1 } });
    const running = await ask(first);
    expect([running.status, (await ask(second)).status, (await ask(second, 'bob')).status]).toEqual([200, 429, 200]);
    chunks.next({ type: 'finish', reason: 'stop' });
    chunks.complete();
    await running.text();
    expect((await ask(second)).status).toBe(200);
  });

  it.each(pairs)('counts the usage of a run of %s in the budget of %s', async (first, second) => {
    const { ask } = serve(
      () => [
        { type: 'text', text: 'Hi' },
        { type: 'finish', reason: 'stop', usage: { total: 9 } },
      ],
      {
        limits: { budget: { tokens: 9 } },
      },
    );
    await (await ask(first)).text();
    expect([(await ask(second)).status, (await ask(second, 'bob')).status]).toEqual([429, 200]);
  });

  it.each(protocolNames)('%s refuses what the options of the service refuse', async (name) => {
    const denied = () => throwError(() => new Error('Who?'));
    expect((await serve(() => 'Hi.', { browser: { allowedHosts: ['other.test'] } }).ask(name)).status).toBe(421);
    expect((await serve(() => 'Hi.', { limits: { maxBodyBytes: 5 } }).ask(name)).status).toBe(413);
    expect((await serve(() => 'Hi.', { context: denied }).ask(name)).status).toBe(403);
  });

  it.each(protocolNames)('%s does not ask the model if the store fails, or the service ends', async (name) => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const broken = () => throwError(() => new Error('The store is away.'));
    const onError = jest.fn();
    const failing = serve(() => 'Hi.', { store: { ...mapStore(), get: broken, put: broken }, onError });
    const answered = failing.ask(name).then(async (response) => [response.status, await response.text()] as const);
    await jest.advanceTimersByTimeAsync(30_000);
    const [status, text] = await answered;
    expect([status === 503 || /RUN_ERROR|error|fail/i.test(text), text.includes('away')]).toEqual([true, false]);
    const ending = serve(() => 'Hi.');
    observe(ending.service.shutdown('finish'));
    const late = await ending.ask(name);
    expect([late.status, late.headers.get('retry-after')]).toEqual([503, '1']);
    expect([failing.model.requests, ending.model.requests]).toEqual([[], []]);
    expect(onError).toHaveBeenCalled();
  });

  it.each(protocolNames)('reports the result of a run of %s once, with its context', async (name) => {
    const seen = jest.fn();
    const observe: ServiceOptions<string>['observe'] = (run$, { context, agent }) =>
      run$.pipe(
        ofType('result'),
        tap(({ result }) => seen(result, context, agent)),
      );
    const { ask } = serve(() => 'Hi.', { observe, name: 'helper' });
    await (await ask(name, 'bob')).text();
    expect(seen.mock.calls).toEqual([[expect.objectContaining({ text: 'Hi.' }), 'bob', 'helper']]);
  });

  it.each(protocolNames)('stops the runs of %s at a shutdown, whose handlers share it', async (name) => {
    const { ask, service } = serve(() => NEVER);
    const response = await ask(name);
    const ended = observe(service.shutdown('stop'));
    await response.text();
    expect(ended.completed).toBe(true);
    expect((await ask('agentHandler')).status).toBe(503);
  });

  it('forgets a run after the time of its own protocol, also after one that is kept longer', async () => {
    const { ask, service } = serve(() => 'Hi.', { keep: 60_000 });
    await (await ask('agentHandler')).text();
    const join = () => new Request('http://service.test/api/chat/chat/stream');
    const statuses = [];
    for (const keep of [0, 1000]) {
      const chat = uiChatHandler(service, { keep });
      await (await chat(startRequest(protocols.uiChatHandler))).text();
      statuses.push((await chat(join())).status);
    }
    expect(statuses).toEqual([204, 200]);
  });

  it('exports and deletes what all protocols have stored of an owner', async () => {
    const { ask, service } = serve(() => [toolCall('pay', {}, 'c1')]);
    for (const name of protocolNames) await (await ask(name)).text();
    await (await ask('agentHandler', 'bob')).text();
    expect(observe(service.exportData('ann')).values).toHaveLength(3);
    expect(observe(service.deleteData('ann')).completed).toBe(true);
    expect([observe(service.exportData('ann')).values, observe(service.exportData('bob')).values.length]).toEqual([
      [],
      1,
    ]);
  });

  it('creates the agent with the tools of an AG-UI client, and without any for a page', async () => {
    const seen: (readonly string[])[] = [];
    const service = createService({
      agent(tools) {
        seen.push(tools.map((each) => each.name));
        return createAgent({ model: scriptedModel(['Hi.']), tools });
      },
    });
    const body = { ...(protocols.agUiHandler.body('Hi') as object), tools: [{ name: 'look', description: 'Looks.' }] };
    const headers = { 'content-type': 'application/json' };
    const request = new Request('http://service.test/', { method: 'POST', headers, body: JSON.stringify(body) });
    await (await agUiHandler(service)(request)).text();
    await (await protocols.agentHandler.over(service)(startRequest(protocols.agentHandler))).text();
    expect(seen).toEqual([['look'], []]);
    observe(service.shutdown());
  });
});

describe('createService', () => {
  const limits = [
    ...['maxRunsPerOwner', 'maxPromptsPerMinute', 'budget', 'maxOwnerBytes'],
    ...['maxWaitingPrompts', 'maxWaitingBytes', 'maxBodyBytes', 'maxHistoryBytes'],
  ];
  const browser = [
    ...['allowedHosts', 'allowedOrigins', 'allowFileUrl', 'allowEdits'],
    ...['exposeToolErrors', 'exposeMetadata', 'describeError'],
  ];
  const agent = createAgent({ model: scriptedModel([]) });

  it.each([...limits, ...browser])('createService refuses the option %s beside its group', (name) => {
    const group = limits.includes(name) ? 'limits' : 'browser';
    expect(() => createService({ agent, [name]: undefined })).toThrow(
      `The service has the option "${name}" beside "${group}". Pass \`${group}: { ${name}: ... }\`.`,
    );
    expect(() => createService({ agent, [group]: { [name]: undefined } })).not.toThrow();
  });

  it('createService refuses an unknown option in a group', () => {
    const options: object = { limits: { maxBytes: 5 } };
    expect(() => createService({ agent, ...options })).toThrow('There is no option "maxBytes" in "limits".');
  });
});

describe('service.run', () => {
  it('starts a run that goes on without a reader, and that the page of its owner joins later', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const chunks = new Subject<Chunk>();
    const { service, join } = serve(() => chunks, { grace: 1000 });
    const id = newId();
    const { values, completed } = observe(service.run(id, 'What is new?', { context: 'ann' }));
    expect([values.length, completed]).toEqual([1, true]);
    await jest.advanceTimersByTimeAsync(600_000);
    chunks.next({ type: 'text', text: 'Nothing.' });
    const [page, stranger] = [await join(id), await join(id, 'bob')];
    chunks.next({ type: 'finish', reason: 'stop' });
    chunks.complete();
    expect(await page.text()).toMatch(/Nothing\.[^]*event: end/);
    expect(await stranger.text()).not.toContain('Nothing.');
  });

  it('joins the run that there is, also one that has ended, so a job that is repeated asks nothing twice', () => {
    const { service, model } = serve(() => 'Done.', { keep: 0 });
    const id = newId();
    const texts = [0, 1, 2].map(() => {
      const [run] = observe(service.run(id, 'Go.', { context: 'ann' })).values;
      return run && observe(run.events$).values.flatMap((event) => ('text' in event ? [event.text] : []));
    });
    expect(texts).toEqual([['Done.'], ['Done.'], ['Done.']]);
    expect(model.requests).toHaveLength(1);
  });

  it('reads the runs before it, of the same owner only', () => {
    const { service, model } = serve(() => 'Done.');
    const [first, second, third] = [newId(), newId(), newId()];
    observe(service.run(first, 'One.', { context: 'ann' }));
    observe(service.run(second, 'Two.', { context: 'ann', history: [first] }));
    observe(service.run(third, 'Three.', { context: 'bob', history: [first] }));
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 1]);
  });

  it('fails if a limit of the owner, or the end of the service, refuses it', () => {
    const { service, model } = serve(() => NEVER, { limits: { maxRunsPerOwner: 1 } });
    const run = (user: string) => observe(service.run(newId(), 'Go.', { context: user })).error;
    expect([run('ann'), run('ann'), run('bob')]).toEqual([
      undefined,
      expect.objectContaining({ status: 429 }),
      undefined,
    ]);
    observe(service.shutdown('finish'));
    expect(run('eve')).toMatchObject({ status: 503 });
    expect(model.requests).toHaveLength(2);
  });

  it.each(['', 'report', '42'])('refuses the id %j, which a stranger could guess', (id) => {
    const { error } = observe(serve(() => 'Hi.').service.run(id, 'Go.', { context: 'ann' }));
    expect(error).toMatchObject({ code: 'configuration', message: expect.stringContaining('crypto.randomUUID()') });
  });

  it('reports a run that fails to onError once, and not to who started it', () => {
    const onError = jest.fn();
    const { service } = serve(() => throwError(() => new Error('Broken.')), { onError });
    expect(observe(service.run(newId(), 'Go.', { context: 'ann' })).error).toBeUndefined();
    expect(onError).toHaveBeenCalledTimes(1);
  });
});

describe('service.runs', () => {
  const list = () => {
    const { service } = serve(({ messages }) => {
      const text = JSON.stringify(messages);
      if (text.includes('Pay')) return [toolCall('pay', {}, 'c1')];
      return text.includes('Wait') ? NEVER : 'Done.';
    });
    for (const [user, input] of [
      ['ann', 'Pay.'],
      ['ann', 'Go.'],
      ['bob', 'Wait.'],
      ['bob', 'Go.'],
    ] as const)
      observe(service.run(newId(), input, { context: user }));
    return service;
  };

  it.each([
    [{ owner: 'ann' }, ['ann ended', 'ann waiting']],
    [{ owner: 'ann', state: 'waiting' as const }, ['ann waiting']],
    [{ owner: 'bob', state: 'running' as const }, ['bob running']],
    [{ owner: 'eve' }, []],
    [{ everyOwner: true as const, state: 'ended' as const }, ['ann ended', 'bob ended']],
    [{ everyOwner: true as const }, ['ann ended', 'ann waiting', 'bob ended', 'bob running']],
  ])('lists for %j', (query, expected) => {
    const { values, completed } = observe(list().runs(query));
    expect([values.map(({ owner, state }) => `${owner} ${state}`).sort(), completed]).toEqual([expected, true]);
  });

  it.each([{}, { owner: undefined }, { owner: null }, { everyOwner: false }, { everyOwner: 'yes' }])(
    'requires an owner: %j',
    (query) => {
      const { values, error } = observe(list().runs(query as never));
      expect([values, error]).toEqual([[], expect.objectContaining({ subject: 'options' })]);
    },
  );

  it.each(protocolNames)('is not a route of %s', async (name) => {
    const service = list();
    for (const path of ['/runs', '/api/chat?everyOwner=true', '/api/chat?owner=ann']) {
      const response = await protocols[name].over(service)(new Request(`http://service.test${path}`));
      expect(response.status).toBeGreaterThanOrEqual(400);
    }
  });
});

describe('the request of a framework', () => {
  it.each(protocolNames)('reaches the option `context` through %s', async (name) => {
    const seen: unknown[] = [];
    const service = createService({
      agent: createAgent({ model: scriptedModel(['Hi.']) }),
      context: (_, incoming: { readonly user: string }) => incoming.user, // what a guard has put there
      owner: (user: string) => (seen.push(user), user),
    });
    services.push(service);
    const handler = protocols[name].over(service) as (request: Request, incoming: unknown) => Promise<Response>;
    expect((await handler(startRequest(protocols[name]), { user: 'ann' })).status).toBe(200);
    expect(seen).toEqual(['ann']);
  });
});
