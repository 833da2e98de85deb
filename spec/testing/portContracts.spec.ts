import { describe, expect, it } from '@jest/globals';
import { catchError, concatMap, map, of } from 'rxjs';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import type { LogState } from '../../lib/service/ports/runLog.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import { logContract, storeContract } from '../../lib/testing/index.js';
import { lateLog, lateStore } from '../support/stores.js';

describe('storeContract', () => {
  it.each(storeContract(() => memoryStore()))('memoryStore $title', ({ run }) => run());
  it.each(storeContract(() => lateStore(memoryStore(), () => 1 + Math.floor(Math.random() * 3))))(
    'a store that answers late and in any order $title',
    ({ run }) => run(),
  );

  const broken: Readonly<Record<string, (store: RunStore) => Partial<RunStore>>> = {
    'compares no versions': (store) => ({
      put: (record) => store.get(record.id).pipe(concatMap((stored) => store.put(record, stored?.version ?? 0))),
    }),
    'deletes any version': (store) => ({
      delete: (id) => store.get(id).pipe(concatMap((stored) => store.delete(id, stored?.version ?? 0))),
    }),
    'does not delete what it does not have': (store) => ({
      delete: (id, version) =>
        store.get(id).pipe(concatMap((stored) => (stored ? store.delete(id, version) : of(false)))),
    }),
    'lists the records in every state': (store) => ({ list: ({ state, ...query }) => store.list(query) }),
    'lists the records of every owner': (store) => ({ list: (query) => store.list({ ...query, owner: null }) }),
    'lists one page': (store) => ({
      list: (query) => store.list(query).pipe(map(({ records }) => ({ records }))),
    }),
    'lists the first page again': (store) => ({
      list: ({ cursor, ...query }) =>
        store.list(query).pipe(map((page) => (cursor ? { ...page, next: undefined } : page))),
    }),
    'takes any cursor': (store) => ({
      list: (query) => store.list(query).pipe(catchError(() => of({ records: [] }))),
    }),
    'lists the oldest change first': (store) => ({
      list: (query) => store.list(query).pipe(map((page) => ({ ...page, records: [...page.records].reverse() }))),
    }),
  };
  it.each(Object.entries(broken))('storeContract finds a store that %s', async (_, change) => {
    const store = memoryStore();
    const checks = storeContract(() => ({ ...store, ...change(store) }));
    const outcomes = await Promise.allSettled(checks.map(({ run }) => run()));
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
  });
});

describe('logContract', () => {
  it.each(logContract(() => memoryLog()))('memoryLog $title', ({ run }) => run());
  it.each(logContract(() => lateLog()))('a log that answers late $title', ({ run }) => run());

  it.each<readonly [string, (state: LogState | undefined) => LogState | undefined]>([
    ['whether a run has ended', (state) => state && { ...state, hasEnded: false }],
    ['whether a run has events', (state) => state && { ...state, hasEvents: true }],
    ['which attempt has written last', (state) => state && { ...state, attempt: 1 }],
    ['whether it has a run', (state) => state ?? { attempt: 1, hasEvents: false, hasEnded: false }],
  ])('logContract finds a log that does not say %s', async (_, change) => {
    const log = memoryLog();
    const checks = logContract(() => ({ ...log, state: (run) => log.state(run).pipe(map(change)) }));
    const outcomes = await Promise.allSettled(checks.map(({ run }) => run()));
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  });
});
