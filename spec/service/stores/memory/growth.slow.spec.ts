import { expect, it } from '@jest/globals';
import { memoryLog } from '../../../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../../../lib/service/stores/memory/memoryStore.js';
import type { RecordPage, RecordQuery } from '../../../../lib/service/ports/recordStore.js';
import type { RunRecord } from '../../../../lib/service/ports/runStore.js';
import { collectGarbage } from '../../../support/collectGarbage.js';
import { observe } from '../../../support/observe.js';
import { cost, isLinear } from '../../../support/cost.js';

// What does not fit into a full memory is removed for each entry that is added. The work for it must not grow with the
// number of entries that are there. Each row adds the same to a full memory of n entries, and to one of 8n.

const SIZES = [5000, 40_000];
/** Caches of the processor, and the logarithm of the size. A scan takes eight times as long. */
const MAX_RATIO = 3;
const MAX_ROUNDS = 40;
const ADDED = 1000;
/** About as many bytes as a record has, and as a run has. */
const RECORD = 1085;
const RUN = 2100;

/** The n-th record of a store for `count` of them. */
type Create = (n: number, count: number) => Partial<RunRecord>;

const waiting = { state: 'waiting' } as const;
const leased = { executor: { id: 'e', until: Infinity } };
const executed = { state: 'running', ...leased } as const;
const records: Readonly<Record<string, Create>> = {
  'of one owner': () => ({}),
  'of owners of their own': (n) => ({ owner: `owner-${n}` }),
  'of a hundred owners': (n) => ({ owner: `owner-${n % 100}` }),
  'of which the first tenth waits': (n, count) => (n < count / 10 ? waiting : {}),
  'of which the first tenth is executed': (n, count) => (n < count / 10 ? executed : {}),
  'of which every second one waits': (n) => (n % 2 === 0 ? waiting : {}),
  'of owners of whom half have one that is executed': (n) => ({
    owner: `owner-${n}`,
    ...(n % 2 === 0 ? executed : {}),
  }),
  'of which every second one expires early': (n) => (n % 2 === 0 ? { expires: Date.now() + 100_000_000 + n } : {}),
};
const recordOf = (n: number, fields: Partial<RunRecord> = {}): RunRecord => ({
  ...{ id: `run-${n}`, owner: 'ann', state: 'ended', updated: n, attempt: 1, input: [] },
  ...{ reason: 'x'.repeat(n % 300), ...fields },
});

/** Fills a memory, and returns the work that is measured. */
type Prepare = (count: number) => () => void;

/** Adds small records. */
const addMore =
  (create: Create): Prepare =>
  (count) => {
    const store = memoryStore({ maxBytes: count * RECORD });
    const add = (from: number, to: number) => {
      for (let n = from; n < to; n += 1) observe(store.put(recordOf(n, create(n, count)), 0));
    };
    add(0, count);
    return () => add(count, count + ADDED);
  };
/** Adds a record for which many are removed. */
const addLarge =
  (create: Create): Prepare =>
  (count) => {
    const store = memoryStore({ maxBytes: count * RECORD });
    for (let n = 0; n < count; n += 1) observe(store.put(recordOf(n, create(n, count)), 0));
    const large = recordOf(0, { id: 'large', owner: 'bob', ...leased, reason: 'x'.repeat(ADDED * RECORD) });
    return () => observe(store.put(large, 0));
  };
/** Opens runs, and ends them if they are not among those that last. */
const endRuns =
  (isLasting: (n: number) => boolean): Prepare =>
  (count) => {
    const log = memoryLog({ maxBytes: count * RUN });
    const add = (from: number, to: number) => {
      for (let n = from; n < to; n += 1) {
        observe(log.append(`run-${n}`, 1, []));
        if (!isLasting(n)) observe(log.end(`run-${n}`, 1, { owner: `owner-${n}` }));
      }
    };
    add(0, count);
    return () => add(count, count + ADDED);
  };
/** Reads pages of a list, and deletes what is on them. */
const deletePages =
  (query: Omit<RecordQuery, 'cursor'>, cursorOf: (page?: RecordPage) => string | undefined): Prepare =>
  (count) => {
    const store = memoryStore({ maxBytes: Infinity });
    const place = (n: number) => ({ updated: (n * 7919) % count, owner: n % 2 === 0 ? 'ann' : 'bob' });
    for (let n = 0; n < count; n += 1) observe(store.put(recordOf(n, place(n)), 0));
    return () => {
      let page: RecordPage | undefined;
      for (let n = 0; n < ADDED; n += 100) {
        [page] = observe(store.list({ ...query, cursor: cursorOf(page) })).values;
        for (const { id, version } of page?.records ?? []) observe(store.delete(id, version));
      }
    };
  };

const rows: readonly (readonly [name: string, prepare: Prepare])[] = [
  ...Object.entries(records).flatMap(([name, create]) => [
    [`records ${name}`, addMore(create)] as const,
    [`records ${name}, for a large one`, addLarge(create)] as const,
  ]),
  ['records of an owner of whom pages are deleted', deletePages({ owner: 'ann' }, () => undefined)],
  ['records of all of whom pages are deleted', deletePages({ owner: null, state: 'ended' }, (page) => page?.next)],
  ['runs that end', endRuns(() => false)],
  ['runs of which every tenth lasts', endRuns((n) => n % 10 === 0)],
];

it.each(rows)('The work of a full memory does not grow with the number of %s', (_, prepare) => {
  const costs = SIZES.map(() => Infinity);
  for (let round = 0; round < MAX_ROUNDS && (round === 0 || !isLinear(costs, MAX_RATIO)); round += 1)
    for (const [at, size] of SIZES.entries()) {
      const work = prepare(size);
      collectGarbage();
      costs[at] = Math.min(costs[at] ?? 0, cost(work));
    }
  expect({ costs, isLinear: isLinear(costs, MAX_RATIO) }).toEqual({ costs, isLinear: true });
});
