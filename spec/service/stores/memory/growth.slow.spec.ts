import { expect, it } from '@jest/globals';
import { memoryLog } from '../../../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../../../lib/service/stores/memory/memoryStore.js';
import type { RunRecord } from '../../../../lib/service/ports/runStore.js';
import { observe } from '../../../support/observe.js';
import { isLinear, shortestCosts } from '../../../support/cost.js';

// At its limit, a memory removes something for each entry that is added. The work for an entry must not grow with the
// number of those that are there. Each row measures as many entries as a full memory has: with a scan for each of them,
// twice as many take four times as long.

const SIZES = [2000, 4000, 8000];

/** The n-th record of a store for `count` of them. */
type Create = (n: number, count: number) => Partial<RunRecord>;

const waiting = { state: 'waiting' } as const;
const executed = { state: 'running', executor: { id: 'e', until: Infinity } } as const;
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

/** Fills a store, and adds as many records again. */
const fillTwice = (create: Create) => (count: number) => {
  const store = memoryStore({ maxBytes: count * 800 });
  for (let n = 0; n < 2 * count; n += 1) observe(store.put(recordOf(n, create(n, count)), 0));
};
/** Fills a store, and adds one record that is as large as half of it. */
const makeRoom = (create: Create) => (count: number) => {
  const store = memoryStore({ maxBytes: count * 800 });
  for (let n = 0; n < count; n += 1) observe(store.put(recordOf(n, create(n, count)), 0));
  const large = { owner: 'bob', reason: 'x'.repeat((count * 800) / 2), executor: { id: 'e', until: Infinity } };
  observe(store.put(recordOf(count, large), 0));
};
/** Opens runs, and ends them if they are not among those that last. */
const endRuns = (isLasting: (n: number) => boolean) => (count: number) => {
  const log = memoryLog({ maxBytes: count * 2500 });
  for (let n = 0; n < 2 * count; n += 1) {
    observe(log.append(`run-${n}`, 1, []));
    if (!isLasting(n)) observe(log.end(`run-${n}`, 1, { owner: `owner-${n % 1000}` }));
  }
};

const rows: readonly (readonly [name: string, work: (count: number) => void])[] = [
  ...Object.entries(records).flatMap(([name, create]) => [
    [`records ${name}`, fillTwice(create)] as const,
    [`records ${name}, and a large one`, makeRoom(create)] as const,
  ]),
  ['runs that end', endRuns(() => false)],
  ['runs of which half last', endRuns((n) => n % 2 === 0)],
];

it.each(rows)('The work of a full memory grows linearly with the number of %s', (_, work) => {
  expect([shortestCosts(work, SIZES)].filter((costs) => !isLinear(costs))).toEqual([]);
});
