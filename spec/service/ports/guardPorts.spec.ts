import { describe, expect, it } from '@jest/globals';
import { defer, EMPTY, of, type Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { createOwnerData } from '../../../lib/service/ownerData.js';
import { guardLog, guardStore } from '../../../lib/service/ports/guardPorts.js';
import type { RunLog } from '../../../lib/service/ports/runLog.js';
import type { RunRecord, RunStore } from '../../../lib/service/ports/runStore.js';
import { memoryLog } from '../../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../../lib/service/stores/memory/memoryStore.js';
import { observe } from '../../support/observe.js';

const record: RunRecord = { id: 'r1', owner: 'ann', state: 'ended', updated: 1, attempt: 1, input: [] };

function createFull(): RunStore {
  const store = memoryStore();
  observe(store.put(record, 0));
  return store;
}

/** What a call does until its repetitions are over. */
function outcomeOf(call: () => Observable<unknown>) {
  let outcome: ReturnType<typeof observe> | undefined;
  new TestScheduler(() => undefined).run(({ flush }) => {
    outcome = observe(call());
    flush();
  });
  return outcome;
}

const failed = (name: string) => ({
  values: [],
  completed: false,
  error: new Error(`\`${name}\` has completed without a value.`),
});

describe('a port whose Observable completes without a value', () => {
  const storeCalls: Readonly<Record<keyof RunStore, (store: RunStore) => Observable<unknown>>> = {
    get: (store) => store.get('r1'),
    put: (store) => store.put(record, 1),
    delete: (store) => store.delete('r1', 1),
    list: (store) => store.list({ owner: 'ann' }),
  };

  it.each(Object.entries(storeCalls))('store.%s has failed, and is repeated', (name, call) => {
    const store = { ...memoryStore(), [name]: () => EMPTY };
    const errors: unknown[] = [];
    expect(outcomeOf(() => call(guardStore(store, { onError: (thrown) => errors.push(thrown) })))).toMatchObject(
      failed(`store.${name}`),
    );
    expect(errors).toHaveLength(1);

    const full = createFull();
    let isFirst = true;
    const work = defer(() => {
      if (!isFirst) return call(full);
      isFirst = false;
      return EMPTY;
    });
    expect(outcomeOf(() => call(guardStore({ ...full, [name]: () => work })))).toMatchObject({
      completed: true,
      values: [expect.anything()],
    });
  });

  it('store.get of a written record has failed, if the answer to the write was lost', () => {
    const put = [EMPTY, of(false), of(false)].values();
    const store = { ...createFull(), get: () => EMPTY, put: () => put.next().value ?? EMPTY };
    expect(outcomeOf(() => guardStore(store).put(record, 0))).toMatchObject(failed('store.put'));
    expect(put.next().done).toBe(true);
  });

  it.each<readonly [string, (log: RunLog) => Observable<unknown>]>([
    ['state', (log) => log.state('r1')],
    ['send', (log) => log.send('r1', { type: 'stop' })],
  ])('log.%s has failed', (name, call) => {
    const log = Object.assign(Object.create(memoryLog()) as RunLog, { [name]: () => EMPTY });
    expect(outcomeOf(() => call(guardLog(log)))).toMatchObject(failed(`log.${name}`));
  });

  it.each(['list', 'get', 'delete'] as const)('store.%s does not let deleteData complete', (name) => {
    const store = guardStore({ ...createFull(), [name]: () => EMPTY });
    expect(outcomeOf(() => createOwnerData(store, undefined, () => EMPTY).deleteData('ann'))).toMatchObject({
      completed: false,
    });
  });
});
