import { describe, expect, it } from '@jest/globals';
import { of } from 'rxjs';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import { logContract, storeContract } from '../../lib/testing/index.js';
import { lateLog, lateStore, mapStore } from '../support/stores.js';

describe('storeContract', () => {
  it.each(storeContract(() => memoryStore()))('memoryStore $title', ({ run }) => run());
  it.each(storeContract(() => lateStore(memoryStore(), () => 1 + Math.floor(Math.random() * 3))))(
    'a store that answers late and in any order $title',
    ({ run }) => run(),
  );

  it('storeContract finds a store that compares no versions', async () => {
    const store = mapStore();
    const put: RunStore['put'] = (record) => {
      store.records.set(record.id, { record, version: 1 });
      return of(true);
    };
    const broken: RunStore = { ...store, put };
    const outcomes = await Promise.allSettled(storeContract(() => broken).map(({ run }) => run()));
    expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(3);
  });
});

describe('logContract', () => {
  it.each(logContract(() => memoryLog()))('memoryLog $title', ({ run }) => run());
  it.each(logContract(() => lateLog()))('a log that answers late $title', ({ run }) => run());
});
