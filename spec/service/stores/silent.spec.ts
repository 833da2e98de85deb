import { describe, expect, it } from '@jest/globals';
import { asyncScheduler, takeUntil, timer, type Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { RunLog } from '../../../lib/service/ports/runLog.js';
import type { RunRecord } from '../../../lib/service/ports/runStore.js';
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
});
