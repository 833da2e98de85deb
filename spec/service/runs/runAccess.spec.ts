import { describe, expect, it } from '@jest/globals';
import { defer, of } from 'rxjs';
import { RunAccess } from '../../../lib/service/runs/runAccess.js';
import type { RunRecord, RunStore } from '../../../lib/service/ports/runStore.js';
import { returnCheckpoint, takeCheckpoint } from '../../../lib/service/runs/planRun.js';
import { observe } from '../../support/observe.js';
import { mapStore } from '../../support/stores.js';

const record: RunRecord = { id: 'r', owner: 'ann', state: 'waiting', updated: 0, attempt: 1, input: [] };
const accessTo = (store: RunStore, maxBytes = Infinity) =>
  new RunAccess(store, { owner: () => 'ann' }, () => undefined, maxBytes);
function storeOf(fields: Partial<RunRecord> = {}) {
  const store = mapStore();
  observe(store.put({ ...record, ...fields }, 0));
  return store;
}

describe('the change of a record', () => {
  it.each([
    [1, true, 2],
    [5, true, 6],
    [6, false, 6],
  ])('that another request prevents %i times is retried at most 5 times', (conflicts, isDone, expected) => {
    const store = storeOf();
    let writes = 0;
    const put: RunStore['put'] = (next, version) =>
      defer(() => (++writes > conflicts ? store.put(next, version) : of(false)));
    const access = accessTo({ ...store, put });
    expect(observe(access.update('r', 'ann', () => record)).values[0] !== undefined).toBe(isDone);
    expect(writes).toBe(expected);
  });

  it('is not written if there is none', () => {
    const store = storeOf();
    expect(observe(accessTo(store).update('r', 'ann', () => undefined))).toMatchObject({
      values: [undefined],
      error: undefined,
    });
    expect(store.records.get('r')?.version).toBe(1);
  });
});

describe('a conversation', () => {
  it('may have exactly the allowed number of bytes', () => {
    const size = JSON.stringify([[], null, null, null]).length;
    const find = (maxBytes: number) => observe(accessTo(storeOf(), maxBytes).findAll(['r'], 'ann'));
    expect(find(size).values[0]?.size).toBe(1);
    expect(find(size - 1).error).toMatchObject({ status: 413 });
  });

  it.each<[string, () => never, number]>([
    ['is too long for a text, is too large', () => 'x'.repeat(2 ** 30) as never, 413],
    ['is too deep, is left to its reader', () => JSON.parse('['.repeat(50_000) + ']'.repeat(50_000)) as never, 200],
    ['is not JSON, is left to its reader', () => 1n as never, 200],
  ])('that %s', (_, toJSON, status) => {
    const stored = { record: { ...record, input: [{ toJSON }] as never }, version: 1 };
    const found = observe(accessTo({ ...mapStore(), get: () => of(stored) }, 2 ** 30).findAll(['r'], 'ann'));
    expect((found.error as { status?: number } | undefined)?.status ?? 200).toBe(status);
  });
});

describe('a client whose owner is not a text', () => {
  it('is rejected, and the service reports that the option is wrong', () => {
    const errors: unknown[] = [];
    const options = { context: () => 'ann', owner: () => undefined as unknown as string };
    const access = new RunAccess(mapStore(), options, (thrown) => errors.push(thrown), Infinity);
    expect(observe(access.authorize(new Request('http://service.test'))).error).toMatchObject({ status: 403 });
    expect(errors).toMatchObject([{ code: 'configuration', subject: 'options' }]);
  });
});

describe('the checkpoint of a run that waits', () => {
  const [first, second] = [
    { id: 'first', owner: 'ann' },
    { id: 'second', owner: 'ann' },
  ];
  const stateOf = (store: ReturnType<typeof mapStore>) => store.records.get('r')?.record;

  it('is taken by one run, which may take it again, and only that run gives it back', () => {
    const store = storeOf();
    const access = accessTo(store);
    expect(observe(takeCheckpoint(access, 'r', first)).completed).toBe(true);
    expect(stateOf(store)).toMatchObject({ state: 'ended', resumedBy: 'first' });
    expect(observe(takeCheckpoint(access, 'r', first)).completed).toBe(true);
    expect(observe(takeCheckpoint(access, 'r', second)).error).toMatchObject({ status: 409 });
    expect(observe(returnCheckpoint(access, 'r', { ...second, checkpoint: undefined })).completed).toBe(true);
    expect(stateOf(store)).toMatchObject({ state: 'ended', resumedBy: 'first' });
    observe(returnCheckpoint(access, 'r', { ...first, checkpoint: undefined }));
    expect(stateOf(store)?.state).toBe('waiting');
    expect(stateOf(store)?.resumedBy).toBeUndefined();
  });

  it('cannot be taken or given back if the record was removed', () => {
    const access = accessTo(mapStore());
    expect(observe(takeCheckpoint(access, 'r', first)).error).toMatchObject({ status: 409 });
    expect(observe(returnCheckpoint(access, 'r', { ...first, checkpoint: undefined })).completed).toBe(true);
  });
});
