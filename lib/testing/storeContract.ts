import { asyncScheduler, concat, concatMap, defer, forkJoin, map, of } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import type { RunRecord, RunStore } from '../service/ports/runStore.js';
import { asJson, casesOf, expecting, expectSame, newId } from './portContract.js';
import type { PortContractCase } from './portContract.js';
import type { Plain } from '../core/typesOf.js';

const recordOf = (id: string, change: Partial<RunRecord> = {}): RunRecord => ({
  id,
  owner: 'ann',
  state: 'running',
  attempt: 1,
  executor: { id: 'p1', until: asyncScheduler.now() + 60_000 },
  input: [{ role: 'user', parts: [{ type: 'text', text: 'Ünïcode "quotes" \u2028 🙂' }] }],
  ...change,
});

/**
 * Returns the checks that every store of runs must pass, one test case each.
 *
 * <span class="informal">Run them in the spec of your own `RunStore`.</span>
 *
 * ```ts
 * for (const { title, run } of storeContract(() => myStore(pool))) test(`myStore ${title}`, run);
 * ```
 *
 * @param create Returns the store. It may contain runs: each case uses ids of its own.
 */
export function storeContract(create: () => RunStore | ObservableInput<RunStore>): readonly Plain<PortContractCase>[] {
  return casesOf<RunStore>(create, {
    'has no record before it is written': (store) => expecting('get', store.get(newId()), undefined),

    'returns a record as it was written, as JSON, with version 1': (store) => {
      const record = recordOf(newId(), { history: [{ id: 'x', input: [] }], resumedBy: undefined });
      return concat(
        expecting('put', store.put(record, 0), true),
        expecting('get', store.get(record.id), { record: asJson(record), version: 1 }),
      );
    },

    'writes a record if the version is the one it has, and adds 1': (store) => {
      const record = recordOf(newId());
      const ended = { ...record, state: 'ended', executor: undefined } as const;
      return concat(
        expecting('put of a new record', store.put(record, 0), true),
        expecting('put of version 1', store.put(ended, 1), true),
        expecting('get', store.get(record.id), { record: asJson(ended), version: 2 }),
      );
    },

    'does not write a record of another version': (store) => {
      const record = recordOf(newId());
      const other = { ...record, owner: 'eve' };
      return concat(
        expecting('put of version 1 of nothing', store.put(record, 1), false),
        expecting('put of a new record', store.put(record, 0), true),
        expecting('put of a new record twice', store.put(other, 0), false),
        expecting('put of version 2', store.put(other, 2), false),
        expecting('get', store.get(record.id), { record: asJson(record), version: 1 }),
      );
    },

    'lets one of several writers of a version win, and keeps what that one wrote': (store) => {
      const record = recordOf(newId());
      const writers = Array.from({ length: 8 }, (_, index) => ({ ...record, resumedBy: String(index) }));
      return concat(
        store.put(record, 0),
        forkJoin(writers.map((each) => store.put(each, 1))).pipe(
          concatMap((written) => {
            expectSame('number of writers that won', written.filter(Boolean).length, 1);
            const winner = writers[written.indexOf(true)];
            return expecting('get', store.get(record.id), { record: asJson(winner), version: 2 });
          }),
        ),
      );
    },

    'lets one of several creators of a record win': (store) => {
      const id = newId();
      const creators = Array.from({ length: 8 }, (_, index) => recordOf(id, { resumedBy: String(index) }));
      return forkJoin(creators.map((each) => store.put(each, 0))).pipe(
        map((written) => expectSame('number of creators that won', written.filter(Boolean).length, 1)),
      );
    },

    'deletes a record of the named version only': (store) => {
      const record = recordOf(newId());
      return concat(
        store.put(record, 0),
        expecting('delete of version 2', store.delete(record.id, 2), false),
        expecting('delete of version 1', store.delete(record.id, 1), true),
        expecting('delete of nothing', store.delete(record.id, 1), false),
        expecting('get', store.get(record.id), undefined),
        expecting('put of a new record', store.put(record, 0), true),
      );
    },

    'does nothing before it is subscribed': (store) => {
      const record = recordOf(newId());
      void store.put(record, 0);
      return expecting('get', store.get(record.id), undefined);
    },

    'does the work again at each subscription': (store) => {
      const record = recordOf(newId());
      const put = store.put(record, 0);
      return concat(expecting('first put', put, true), expecting('second put', put, false));
    },

    'finds no record at the names of properties, such as `__proto__` and `constructor`': (store) => {
      const record = recordOf(`${newId()}:__proto__`);
      return concat(
        expecting('get', store.get('__proto__'), undefined),
        expecting('get', store.get('constructor'), undefined),
        expecting('put', store.put(record, 0), true),
        expecting('get', store.get(record.id), { record: asJson(record), version: 1 }),
      );
    },

    'lists each run of an owner once, in the order of creation, page by page': (store) => {
      const owner = newId();
      const ids = Array.from({ length: 250 }, newId);
      const list = (cursor?: string): Observable<readonly string[]> =>
        store.list(owner, cursor).pipe(
          concatMap(({ runs, next }) => {
            const page = runs.map(({ record }) => record.id);
            return next === undefined ? of(page) : list(next).pipe(map((rest) => [...page, ...rest]));
          }),
        );
      return concat(
        ...ids.map((id) => store.put(recordOf(id, { owner }), 0)),
        store.put(recordOf(ids[0] ?? '', { owner, state: 'ended' }), 1),
        store.put(recordOf(newId(), { owner: `${owner}x` }), 0),
        defer(() => expecting('ids of the list', list(), ids)),
        expecting('runs of an unknown owner', store.list(newId()).pipe(map(({ runs }) => runs)), []),
      );
    },
  });
}
