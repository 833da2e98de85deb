import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { defer, firstValueFrom, throwError, toArray } from 'rxjs';
import { messageText } from '../../../../lib/core/message.js';
import type { Message } from '../../../../lib/core/message.js';
import { tool } from '../../../../lib/core/tool.js';
import { agentHandler } from '../../../../lib/service/http/agentHandler.js';
import type { RunLog } from '../../../../lib/service/ports/runLog.js';
import { durableAgent } from '../../../../lib/service/stores/dbos/index.js';
import { memoryLog } from '../../../../lib/service/stores/memory/memoryLog.js';
import { toolCall } from '../../../../lib/testing/index.js';
import type { ScriptedTurn } from '../../../../lib/testing/index.js';
import { openDurableService } from '../../../support/durableService.js';
import type { Supervised } from '../../../support/durableService.js';
import { observe } from '../../../support/observe.js';
import { shutDown } from '../../../support/services.js';
import { mapStore } from '../../../support/stores.js';

const cleanups: (() => void)[] = [];
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }));
afterEach(() => {
  for (const cleanUp of cleanups.splice(0)) cleanUp();
  jest.useRealTimers();
});

const wait = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds);
const newId = () => crypto.randomUUID();
const promptOf = ([first]: readonly Message[]) => (first ? messageText(first) : '');

function openService() {
  const store = mapStore();
  const service = openDurableService(cleanups, { store, log: { ...memoryLog(), isShared: true } });
  return { ...service, read: (id: string) => store.records.get(id)?.record };
}
type Front = (request: Request) => Promise<Response>;
const send = (front: Front, method: string, id: string, body?: unknown, user = 'ann') =>
  front(
    new Request('http://service.test', {
      method,
      headers: { 'x-run-id': id, 'x-user': user },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
const start = async (front: Front, input: string, user?: string) => {
  const id = newId();
  const { status } = await send(front, 'POST', id, { input }, user);
  return { id, status };
};
const startAll = async (front: Front, count: number, input = 'Hi', user?: string) => {
  const runs = [];
  for (let n = 0; n < count; n++) runs.push(await start(front, input, user));
  return runs.map(({ id }) => id);
};

describe('a durable worker', () => {
  it('serves its own queue only, also when a worker of another one has ended', async () => {
    const { front, supervise, read } = openService();
    const asked: string[] = [];
    const script = (name: string) => () => {
      asked.push(name);
      return ['one ', { delay: 4000 }, 'two'] as ScriptedTurn;
    };
    supervise({ queue: 'support', script: script('support') });
    const admin = supervise({ queue: 'admin', script: script('admin') });
    await wait(1000);
    const [id = ''] = await startAll(front({}, { queue: 'admin' }), 3);
    await wait(1000);
    admin.stop();
    await wait(30_000);
    expect(asked).toEqual(['admin', 'admin', 'admin']);
    expect(read(id)).toMatchObject({ state: 'running', durable: { queue: 'admin', version: '1' } });
  });

  it('gives up a run that ends its process eight times, and no other run with it', async () => {
    const { front, supervise, read, statusOf } = openService();
    const script = (messages: readonly Message[], supervised: Supervised): ScriptedTurn => {
      if (promptOf(messages) === 'poison') queueMicrotask(() => supervised.die());
      return ['one ', { delay: 4000 }, 'two'];
    };
    const workers = [supervise({ script }), supervise({ script })];
    const handler = front();
    await wait(1000);
    const good = await startAll(handler, 10);
    const [poison = ''] = await startAll(handler, 1, 'poison');
    await wait(90_000);
    expect(workers.reduce((sum, { deaths }) => sum + deaths, 0)).toBe(8);
    expect(good.map((id) => read(id)?.state)).toEqual(good.map(() => 'ended'));
    expect(read(poison)).toMatchObject({ state: 'dead', failures: 8, reason: expect.stringContaining('has ended') });
    expect(statusOf(poison)).toBe('CANCELLED');
    const late = await send(handler, 'POST', poison, {});
    expect(await late.text()).toContain('run_dead');
  });

  it('removes workflows some time after their end, and keeps those of dead letters', async () => {
    const { front, supervise, statusOf } = openService();
    const script = (messages: readonly Message[], supervised: Supervised): ScriptedTurn => {
      if (promptOf(messages) === 'poison') queueMicrotask(() => supervised.die());
      return [{ delay: 100 }, 'Done.'];
    };
    supervise({ script, retention: 600_000, queue: 'x' });
    const removing = front({}, { queue: 'x' });
    const [ended = ''] = await startAll(removing, 1);
    const [poison = ''] = await startAll(removing, 1, 'poison');
    await wait(600_000);
    expect([statusOf(ended), statusOf(poison)]).toEqual(['SUCCESS', 'CANCELLED']);
    await wait(120_000);
    expect([statusOf(ended), statusOf(poison)]).toEqual([undefined, 'CANCELLED']);
    const letters = removing.deadLetters();
    observe(letters.discard(poison));
    await wait(60_000);
    expect(statusOf(poison)).toBeUndefined();
  });

  it('lists dead letters, and an operator retries or discards them', async () => {
    const { front, supervise, read } = openService();
    let isPoison = true;
    const script = (_: readonly Message[], supervised: Supervised): ScriptedTurn => {
      if (isPoison) queueMicrotask(() => supervised.die());
      return [{ delay: 100 }, 'Done.'];
    };
    const supervised = supervise({ script });
    const handler = front();
    const [one = '', two = ''] = await startAll(handler, 2, 'poison');
    await wait(120_000);
    const letters = await firstValueFrom(handler.deadLetters().list().pipe(toArray()));
    expect(letters.map(({ id, state, owner }) => [id, state, owner])).toEqual(
      expect.arrayContaining([
        [one, 'dead', ''],
        [two, 'dead', ''],
      ]),
    );
    const health = observe(supervised.worker?.health() ?? throwError(() => new Error('no worker')));
    await wait(0);
    expect(health.values).toMatchObject([
      { queued: 0, oldest: 0, executing: 0, dead: 2, parked: 0, slots: { used: 0 } },
    ]);
    isPoison = false;
    expect(await firstValueFrom(handler.deadLetters().retry(one))).toBe(true);
    expect(await firstValueFrom(handler.deadLetters().discard(two))).toBe(true);
    for (const again of ['retry', 'discard'] as const)
      expect(await firstValueFrom(handler.deadLetters()[again](two))).toBe(false);
    await wait(5000);
    expect(read(one)).toMatchObject({ state: 'ended', result: { text: 'Done.' } });
    expect(read(two)).toMatchObject({ state: 'ended', failure: { error: { code: 'run_dead' } } });
    expect(await firstValueFrom(handler.deadLetters().list().pipe(toArray()))).toEqual([]);
  });

  it('parks a run that its code cannot continue, until a worker with that code comes', async () => {
    const { front, supervise, read, statusOf } = openService();
    const look = tool({ name: 'look', description: 'Looks.', execute: () => 'ok' });
    const script = (messages: readonly Message[]): ScriptedTurn =>
      messages.length === 1 ? [toolCall('look', {}, 'c')] : ['one ', { delay: 5000 }, 'two'];
    const other = { name: 'other', turn: () => throwError(() => new Error('never')) } as never;
    const handler = front();
    const before = supervise({ script, tools: [look] });
    const [id = ''] = await startAll(handler, 1);
    await wait(3000);
    before.stop();
    const after = supervise({ script, tools: [look], agent: { orchestrator: other } });
    await wait(30_000);
    expect(after.deaths).toBe(0);
    expect(read(id)).toMatchObject({ state: 'parked', reason: expect.stringContaining('orchestrator') });
    expect(statusOf(id)).toBe('CANCELLED');
    after.stop();
    supervise({ script, tools: [look] });
    await wait(30_000);
    expect(read(id)).toMatchObject({ state: 'ended', result: { text: 'one two' } });
  });

  it.each([
    ['once', 1],
    ['for 20 s', Infinity],
  ])('ends a run whose log fails %s, and frees its slot', async (_, max) => {
    const { front, supervise, read, log, statusOf } = openService();
    let faults = 0;
    const end = Date.now() + 20_000;
    const append: RunLog['append'] = (run, attempt, events) =>
      defer(() => {
        const fails = events.some(({ type }) => type === 'text') && faults < max && Date.now() < end;
        if (!fails) return log.append(run, attempt, events);
        faults += 1;
        return throwError(() => new Error('the log is away'));
      });
    const supervised = supervise({ concurrency: 1, log: { ...log, append } });
    const handler = front();
    const [first = '', second = ''] = await startAll(handler, 2);
    await wait(120_000);
    for (const id of [first, second]) {
      expect(read(id)).toMatchObject({ state: 'ended', result: { text: 'one two' } });
      expect(statusOf(id)).toBe('SUCCESS');
    }
    expect(supervised.deaths).toBe(0);
    expect(faults).toBeGreaterThan(0);
  });

  it('gives up a run that fails eight times with a port, since each time may ask the model', async () => {
    const { front, supervise, read, log } = openService();
    const append: RunLog['append'] = (run, attempt, events) =>
      events.length > 0 ? throwError(() => new Error('too large')) : log.append(run, attempt, events);
    supervise({ log: { ...log, append } });
    const [id = ''] = await startAll(front(), 1);
    await wait(300_000);
    expect(read(id)).toMatchObject({ state: 'dead', failures: 8 });
  });

  it('drains: it takes no run any more, and completes when its runs have ended', async () => {
    const { front, supervise, read } = openService();
    const supervised = supervise();
    const handler = front();
    const [first = ''] = await startAll(handler, 1);
    await wait(1000);
    const draining = observe(supervised.worker?.drain() ?? throwError(() => new Error('no worker')));
    const [second = ''] = await startAll(handler, 1);
    await wait(2000);
    expect(draining.completed).toBe(false);
    await wait(5000);
    expect(draining.completed).toBe(true);
    expect([read(first)?.state, read(second)?.state]).toEqual(['ended', 'running']);
    supervise();
    await wait(10_000);
    expect(read(second)?.state).toBe('ended');
  });

  it('says in its health which version nobody serves', async () => {
    const { front, supervise } = openService();
    const supervised = supervise();
    await startAll(front({}, { version: '2' }), 2);
    await wait(15_000);
    const health = observe(supervised.worker?.health() ?? throwError(() => new Error('no worker')));
    await wait(0);
    expect(health.values).toMatchObject([{ queued: 2, executing: 0, unserved: ['2'] }]);
    expect(health.values[0]?.oldest).toBeGreaterThanOrEqual(15_000);
  });
});

describe('a front of durable runs', () => {
  const byUser = { context: (request: Request) => request.headers.get('x-user') ?? '', owner: (user: string) => user };

  it('refuses the runs of an owner that has enough, in whatever process they are', async () => {
    const { front, supervise } = openService();
    const fronts = [
      front({ ...byUser, limits: { maxRunsPerOwner: 3 } }),
      front({ ...byUser, limits: { maxRunsPerOwner: 3 } }),
    ] as const;
    const statuses = [];
    for (let n = 0; n < 6; n++) statuses.push((await start(fronts[n % 2 === 0 ? 0 : 1], 'Hi')).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429]);
    expect((await start(fronts[0], 'Hi', 'bob')).status).toBe(200);
    supervise();
    await wait(10_000);
    expect((await start(fronts[1], 'Hi')).status).toBe(200);
  });

  it('puts a run of an owner with few runs before those of one with many', async () => {
    const { front, supervise, read } = openService();
    const handler = front(byUser);
    const many = await startAll(handler, 20);
    const [few = ''] = await startAll(handler, 1, 'Hi', 'bob');
    supervise({ concurrency: 2 });
    await wait(6000);
    expect(read(few)?.state).toBe('ended');
    expect(many.filter((id) => read(id)?.state === 'ended').length).toBeLessThan(5);
  });

  it('says that the tables of DBOS are missing, and the run is enqueued when they are there', async () => {
    const { client, store, log, supervise, read } = openService();
    const errors: unknown[] = [];
    let isMissing = true;
    const missing = Object.assign(new Error('relation "dbos.workflow_status" does not exist'), { code: '42P01' });
    const enqueue: typeof client.enqueue = (...given) =>
      isMissing ? Promise.reject(missing) : client.enqueue(...given);
    const onError = (thrown: unknown) => errors.push(thrown);
    const handler = agentHandler(durableAgent({ client: { ...client, enqueue }, store, log }), { store, log, onError });
    cleanups.push(() => shutDown(handler));
    const { id, status } = await start(handler, 'Hi');
    expect(status).toBe(503);
    expect(String(errors[0])).toContain('Start a worker');
    isMissing = false;
    supervise();
    expect((await send(handler, 'POST', id, { input: 'Hi' })).status).toBe(200);
    await wait(10_000);
    expect(read(id)?.state).toBe('ended');
  });
});
