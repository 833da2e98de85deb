import { describe, expect, it } from '@jest/globals';
import { asyncScheduler, NEVER, takeUntil, timer, type Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { RunLog } from '../../../lib/service/ports/runLog.js';
import type { RunRecord } from '../../../lib/service/ports/runStore.js';
import { durableAgent } from '../../../lib/service/stores/dbos/index.js';
import { holdWorkerLock } from '../../../lib/service/stores/dbos/workerLock.js';
import { memoryLog } from '../../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../../lib/service/stores/memory/memoryStore.js';
import { postgresLog, postgresStore } from '../../../lib/service/stores/postgres/index.js';
import { redisLog } from '../../../lib/service/stores/redis/index.js';
import { observe } from '../../support/observe.js';

const record: RunRecord = { id: 'a', owner: 'ann', state: 'ended', updated: 0, attempt: 1, input: [] };

/** The operations of a log. */
const operations = (log: RunLog): Readonly<Record<string, Observable<unknown>>> => ({
  append: log.append('a', 1, [{ type: 'a' }]),
  end: log.end('a', 1),
  state: log.state('a'),
  send: log.send('a', { type: 'stop' }),
  read: log.read('a'),
  messages: log.messages('a'),
});

const silence = () => new Promise<never>(() => undefined);
const store = postgresStore({ query: silence });
const stores: Readonly<Record<string, Readonly<Record<string, Observable<unknown>>>>> = {
  postgresStore: {
    get: store.get('a'),
    put: store.put(record, 0),
    delete: store.delete('a', 1),
    list: store.list({ owner: 'ann' }),
  },
  postgresLog: operations(postgresLog({ query: silence })),
  redisLog: operations(redisLog({ sendCommand: silence })),
};
const cases = Object.entries(stores).flatMap(([name, all]) =>
  Object.entries(all).map(([operation, work]) => [name, operation, work] as const),
);

/** A promise that has an answer at once, in virtual time too. */
const answered = <T>(value: T) =>
  ({
    then(next: (value: T) => void) {
      next(value);
      return { then: () => undefined };
    },
  }) as unknown as Promise<T>;

describe('a connection that is open and silent', () => {
  it.each(cases)('fails %s.%s within 80 s', (_name, _operation, work) => {
    new TestScheduler(() => undefined).run(({ flush }) => {
      const start = asyncScheduler.now();
      const observed = observe(work.pipe(takeUntil(timer(100_000))));
      flush();
      expect(asyncScheduler.now() - start).toBeLessThan(80_000);
      expect(observed.error).toMatchObject({ message: 'The database has not answered for 8 s.' });
    });
  });

  it('fails a request for a durable run, which is sent again', () => {
    new TestScheduler(() => undefined).run(({ flush }) => {
      const [runs, events] = [memoryStore(), memoryLog()];
      const agent = durableAgent({ client: { enqueue: silence }, store: runs, log: events });
      const observed = observe(agent.stream('Hi', { runId: 'a', history: [], fragments: true, context: undefined }));
      flush();
      expect(observed.error).toMatchObject({ message: 'The database has not answered for 8 s.' });
    });
  });

  it('fails a worker: the server may know of its lock no more', () => {
    new TestScheduler(() => undefined).run(({ flush }) => {
      let queries = 0;
      const query = () => (queries++ < 3 ? answered({ rows: [{ done: true }] }) : silence());
      const connect = () => ({ query, connect: () => answered(undefined), on: () => undefined, end: silence });
      const start = asyncScheduler.now();
      const observed = observe(holdWorkerLock(connect, 'a', () => NEVER));
      flush();
      expect(observed.error).toMatchObject({ message: 'The database has not answered for 30 s.' });
      expect(asyncScheduler.now() - start).toBe(90_000);
    });
  });
});
