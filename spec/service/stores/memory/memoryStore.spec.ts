import { describe, expect, it, jest } from '@jest/globals';
import { concatMap, lastValueFrom } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { createAgent } from '../../../../lib/agent/createAgent.js';
import { createService } from '../../../../lib/service/createService.js';
import { OWNERS } from '../../../../lib/service/ownerUsage.js';
import type { MemoryOptions } from '../../../../lib/service/stores/memory/memoryStore.js';
import { memoryStore } from '../../../../lib/service/stores/memory/memoryStore.js';
import type { RunRecord, RunStore } from '../../../../lib/service/ports/runStore.js';
import { scriptedModel, storeContract, toolCall } from '../../../../lib/testing/index.js';
import { agentTool } from '../../../../lib/tools/agentTool.js';
import { observe } from '../../../support/observe.js';

/** With what the objects of a small record need. */
const sizeOf = (record: RunRecord) => 832 + JSON.stringify(record).length;
const recordOf = (id: string, fields: Partial<RunRecord> = {}): RunRecord => ({
  id,
  owner: 'ann',
  state: 'ended',
  updated: 0,
  attempt: 1,
  input: [],
  ...fields,
});
/** A record of so many bytes. */
function sized(bytes: number, id: string, fields: Partial<RunRecord> = {}): RunRecord {
  const record = recordOf(id, { resumedBy: '', ...fields });
  return { ...record, resumedBy: 'x'.repeat(bytes - sizeOf(record)) };
}
const leased = (until: number) => ({ state: 'running', executor: { id: 'e', until } }) as const;

const put = (store: RunStore, record: RunRecord, version = 0) => observe(store.put(record, version)).values[0];
const has = (store: RunStore, id: string) => observe(store.get(id)).values[0] !== undefined;
const kept = (store: RunStore, ...ids: readonly string[]) => ids.filter((id) => has(store, id));
const listed = (store: RunStore) =>
  observe(store.list({ owner: 'ann' })).values.flatMap(({ records }) => records.map(({ id }) => id));

/** Does the work with a store at a virtual time. */
const later = (options: MemoryOptions, steps: Readonly<Record<number, (store: RunStore) => void>>) =>
  new TestScheduler(() => undefined).run(({ cold, flush }) => {
    const store = memoryStore(options);
    for (const [at, step] of Object.entries(steps)) cold(`${at}ms (a|)`).subscribe(() => step(store));
    flush();
  });

describe('memoryStore', () => {
  it.each(storeContract(() => memoryStore()))('memoryStore $title', ({ run }) => run());

  it.each([
    ['for 24 hours', {}, 86_400_000],
    ['for `maxAge`', { maxAge: 1000 }, 1000],
  ])('memoryStore keeps a record after its last change %s', (_, options, age) => {
    const seen: unknown[] = [];
    later(options, {
      0: (store) => put(store, recordOf('a')),
      10: (store) => put(store, recordOf('a'), 1),
      [age + 9]: (store) => seen.push(listed(store), has(store, 'a')),
      [age + 10]: (store) => seen.push(listed(store), has(store, 'a'), put(store, recordOf('a'))),
    });
    expect(seen).toEqual([['a'], true, [], false, true]);
  });

  it('memoryStore keeps a run in progress until its lease is over', () => {
    const seen: boolean[] = [];
    later(
      { maxAge: 10 },
      {
        0: (store) => put(store, recordOf('a', leased(1000))),
        500: (store) => put(store, recordOf('b')),
        999: (store) => seen.push(has(store, 'a')),
        1000: (store) => seen.push(has(store, 'a')),
      },
    );
    expect(seen).toEqual([true, false]);
  });

  it('memoryStore removes what is too old before it removes what is not needed', () => {
    let rest: unknown;
    later(
      { maxBytes: 3000, maxAge: 1000 },
      {
        0: (store) => put(store, sized(2000, 'old', { state: 'waiting' })),
        1000(store) {
          put(store, sized(2000, 'new'));
          rest = kept(store, 'old', 'new');
        },
      },
    );
    expect(rest).toEqual(['new']);
  });

  it('memoryStore uses `maxBytes`, and removes the run that was changed first', () => {
    const store = memoryStore({ maxBytes: 6000 });
    for (const id of ['a', 'b', 'c']) put(store, sized(2000, id));
    expect(kept(store, 'a', 'b', 'c')).toEqual(['a', 'b', 'c']);
    put(store, sized(2000, 'a'), 1);
    put(store, sized(2000, 'd'));
    expect(kept(store, 'a', 'b', 'c', 'd')).toEqual(['a', 'c', 'd']);
  });

  it('memoryStore removes the runs that have ended, then those that wait, and none in progress', () => {
    const store = memoryStore({ maxBytes: 6000 });
    put(store, sized(2000, 'running', leased(Infinity)));
    put(store, sized(2000, 'waiting', { state: 'waiting' }));
    put(store, sized(2000, 'ended'));
    const rest = () => kept(store, 'running', 'waiting', 'ended', 'more', 'most', 'last');
    put(store, sized(2000, 'more', { state: 'waiting' }));
    expect(rest()).toEqual(['running', 'waiting', 'more']);
    put(store, sized(2000, 'most', leased(Infinity)));
    expect(rest()).toEqual(['running', 'more', 'most']);
    put(store, sized(4000, 'last', leased(Infinity)));
    expect(rest()).toEqual(['running', 'most', 'last']);
  });

  it('memoryStore keeps what a service counts until its time is over, and takes it from nobody', () => {
    const seen: unknown[] = [];
    const counts = (owner: string) => sized(2000, `owner.${owner}`, { owner: OWNERS, expires: 1000 });
    const rest = (store: RunStore) => kept(store, 'owner.ann', 'owner.bob', 'a1', 'a2', 'b1');
    later(
      { maxBytes: 4000 },
      {
        0(store) {
          for (const owner of ['ann', 'bob']) put(store, counts(owner));
          for (const id of ['a1', 'a2']) put(store, sized(2000, id));
          seen.push(rest(store));
          put(store, counts('ann'), 1);
          put(store, sized(2000, 'b1', { owner: 'bob' }));
          seen.push(rest(store));
        },
        1000: (store) => seen.push(rest(store)),
      },
    );
    expect(seen).toEqual([
      ['owner.ann', 'owner.bob', 'a1', 'a2'],
      ['owner.ann', 'owner.bob', 'a2', 'b1'],
      ['a2', 'b1'],
    ]);
  });

  it('memoryStore takes from the owner that uses most', () => {
    const store = memoryStore({ maxBytes: 10000 });
    for (const id of ['a1', 'a2', 'a3']) put(store, sized(1700, id));
    for (const id of ['b1', 'b2']) put(store, sized(1700, id, { owner: 'bob' }));
    put(store, sized(2000, 'b3', { owner: 'bob' }));
    expect(kept(store, 'a1', 'a2', 'a3', 'b1', 'b2', 'b3')).toEqual(['a1', 'a2', 'a3', 'b2', 'b3']);
  });

  it('memoryStore removes no more than it must, if two owners use the same', () => {
    const store = memoryStore({ maxBytes: 6000 });
    for (const id of ['a1', 'a2']) put(store, sized(2000, id));
    for (const id of ['b1', 'b2']) put(store, sized(2000, id, { owner: 'bob' }));
    expect(kept(store, 'a1', 'a2', 'b1', 'b2')).toEqual(['a2', 'b1', 'b2']);
  });

  it('memoryStore takes nothing from an owner that uses its share, which former owners do not lower', () => {
    const store = memoryStore({ maxBytes: 6000 });
    put(store, sized(2000, 'e', { owner: 'eve' }));
    observe(store.delete('e', 1));
    put(store, sized(3000, 'a'));
    for (const id of ['b1', 'b2']) put(store, sized(2000, id, { owner: 'bob', ...leased(Infinity) }));
    expect(kept(store, 'a', 'b1', 'b2')).toEqual(['a', 'b1', 'b2']);
  });

  it('memoryStore measures a run that is executed when its versions have doubled, and at its end', () => {
    const store = memoryStore({ maxBytes: 5000 });
    const measured: number[] = [];
    const counted = (version: number, fields: Partial<RunRecord>, bytes = 1000) => {
      const record = sized(bytes, 'run', fields);
      const toJSON = () => {
        measured.push(version);
        return record;
      };
      put(store, { ...record, toJSON } as RunRecord, version);
    };
    put(store, sized(1000, 'other'));
    for (let version = 0; version < 20; version += 1) counted(version, leased(Infinity));
    expect(measured).toEqual([0, 1, 2, 4, 8, 16]);
    counted(20, {}, 4500);
    expect(measured.at(-1)).toBe(20);
    expect(kept(store, 'other', 'run')).toEqual(['run']);
  });

  it('memoryStore measures the record of a run with many inner runs in linear time', async () => {
    const stringify = jest.spyOn(JSON, 'stringify');
    const charactersOf = async (count: number) => {
      const inner = createAgent({ model: scriptedModel(() => 'Inner.', { keep: 0 }) });
      const calls = Array.from({ length: count }, (_, n) => toolCall('ask', { prompt: 'x' }, `c${n}`));
      const model = scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : calls), { keep: 0 });
      const tools = [agentTool(inner, { name: 'ask', description: 'Asks.' })];
      const service = createService({ agent: createAgent({ model, tools }), checkpoints: true });
      stringify.mockClear();
      const run = service.run(crypto.randomUUID(), 'Go.', { context: undefined });
      await lastValueFrom(run.pipe(concatMap(({ events$ }) => events$)));
      return stringify.mock.results.reduce((sum, { value }) => sum + (typeof value === 'string' ? value.length : 0), 0);
    };
    const [few, many] = [await charactersOf(50), await charactersOf(200)];
    stringify.mockRestore();
    expect(many / few).toBeLessThan(5);
  });

  it('memoryStore lists what is there after any changes and deletions', () => {
    const store = memoryStore();
    const known = new Map<string, { record: RunRecord; version: number }>();
    let seed = 1;
    const random = (count: number) => (seed = (seed * 48271) % 2147483647) % count;
    for (let step = 0; step < 1000; step += 1) {
      const id = `run-${random(90)}`;
      const { version } = known.get(id) ?? { version: 0 };
      // Fewer are deleted at first: then half of the list and more is gone.
      if (random(step < 500 ? 3 : 2) === 0) {
        observe(store.delete(id, version));
        known.delete(id);
      } else {
        const record = recordOf(id, { updated: random(40) });
        expect(put(store, record, version)).toBe(true);
        known.set(id, { record, version: version + 1 });
      }
      const newest = [...known.values()]
        .map(({ record }) => record)
        .sort((a, b) => b.updated - a.updated || (a.id < b.id ? 1 : -1));
      expect(listed(store)).toEqual(newest.map((record) => record.id));
    }
  });

  it('memoryStore lists 100 runs on one page', () => {
    const store = memoryStore();
    for (let n = 0; n < 100; n++) put(store, recordOf(`r${n}`));
    expect(observe(store.list({ owner: 'ann' })).values[0]?.next).toBeUndefined();
    put(store, recordOf('r100'));
    const [first] = observe(store.list({ owner: 'ann' })).values;
    expect([first?.records.length, first?.next]).toEqual([100, '0:r1']); // the ids from the highest
  });

  it.each(['maxBytes', 'maxAge'])('memoryStore rejects a `%s` below zero', (name) => {
    expect(() => memoryStore({ [name]: -1 })).toThrow(`${name} is -1.`);
  });
});
