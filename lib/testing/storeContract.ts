import { asyncScheduler, concat, concatMap, defer, forkJoin, from, map, toArray, type ObservableInput } from 'rxjs';
import { allPages } from '../service/runs/allPages.js';
import type { ChatRecord } from '../service/chats/chatStore.js';
import type { RecordStore, StorableRecord } from '../service/ports/recordStore.js';
import type { RunRecord } from '../service/ports/runStore.js';
import { asJson, casesOf, expecting, expectSame, failing, newId } from './portContract.js';
import type { Check, PortContractCase } from './portContract.js';
import type { Plain } from '../core/typesOf.js';

/** A store treats runs and chats in the same way. */
type TestRecord = RunRecord & Pick<ChatRecord, 'title' | 'saved'>;

const recordOf = (id: string, change: Partial<Omit<TestRecord, 'state'> & StorableRecord> = {}): TestRecord =>
  ({
    id,
    owner: 'ann',
    state: 'running',
    updated: 1_700_000_000_000,
    attempt: 1,
    executor: { id: 'p1', until: asyncScheduler.now() + 60_000 },
    input: [{ role: 'user', parts: [{ type: 'text', text: 'Ünïcode "quotes" \u2028 🙂' }] }],
    title: 'Ünïcode "quotes" 🙂',
    saved: { exchanges: ['\u0000'] },
    ...change,
  }) as TestRecord;

const listed = ({ id, owner, state, title, updated }: TestRecord, version = 1) => ({
  ...{ id, owner, state, title, updated },
  version,
});

/**
 * Returns the checks that every store of records must pass, one test case each.
 *
 * <span class="informal">Run them in the spec of your own `RecordStore`.</span>
 *
 * ```ts
 * for (const { title, run } of storeContract(() => myStore(pool))) test(`myStore ${title}`, run);
 * ```
 *
 * @param create Returns the store. It may contain records: each case uses ids and owners of its own.
 */
export function storeContract<R extends StorableRecord>(
  create: () => RecordStore<R> | ObservableInput<RecordStore<R>>,
): readonly Plain<PortContractCase>[] {
  return casesOf<Store>(create as () => Store | ObservableInput<Store>, {
    ...writing,
    ...deleting,
    ...expiringAndListing,
  });
}

type Store = RecordStore<TestRecord>;
type Checks = Readonly<Record<string, Check<Store>>>;

const writing: Checks = {
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
};

const deleting: Checks = {
  'deletes a record of the named version only': (store) => {
    const record = recordOf(newId());
    return concat(
      store.put(record, 0),
      expecting('delete of version 2', store.delete(record.id, 2), false),
      expecting('get after it', store.get(record.id), { record: asJson(record), version: 1 }),
      expecting('delete of version 1', store.delete(record.id, 1), true),
      expecting('get', store.get(record.id), undefined),
      expecting('put of a new record', store.put(record, 0), true),
      expecting('get after it was created again', store.get(record.id), { record: asJson(record), version: 1 }),
    );
  },

  'deletes a record that it does not have, so that a call whose answer was lost can be repeated': (store) => {
    const record = recordOf(newId());
    return concat(
      expecting('delete of nothing', store.delete(record.id, 1), true),
      store.put(record, 0),
      expecting('delete', store.delete(record.id, 1), true),
      expecting('delete again', store.delete(record.id, 1), true),
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
};

const expiringAndListing: Checks = {
  'keeps a record whose time is over until nobody executes it': (store) => {
    const record = recordOf(newId(), { owner: newId(), expires: 1 });
    return concat(
      expecting('put', store.put(record, 0), true),
      expecting('get', store.get(record.id), { record: asJson(record), version: 1 }),
      expecting('list', store.list({ owner: record.owner }), { records: [listed(record)] }),
      expecting('put of version 1', store.put({ ...record, executor: undefined }, 1), true),
      expecting('get when it is released', store.get(record.id), undefined),
      expecting('list when it is released', store.list({ owner: record.owner }), { records: [] }),
    );
  },

  'lists the records of an owner without their content, the one that was changed last first': (store) => {
    const owner = newId();
    const at = (updated: number) => recordOf(newId(), { owner, updated });
    const [a, b, c] = [at(1), at(3), at(2)];
    const changed = { ...a, updated: 4, title: 'Other' };
    return concat(
      ...[a, b, c, recordOf(newId(), { owner: `${owner}x` })].map((record) => store.put(record, 0)),
      expecting('list', store.list({ owner }), { records: [listed(b), listed(c), listed(a)] }),
      store.put(changed, 1),
      expecting('list after a change', store.list({ owner }), {
        records: [listed(changed, 2), listed(b), listed(c)],
      }),
      expecting('list of an unknown owner', store.list({ owner: newId() }), { records: [] }),
    );
  },

  'lists the records in a state, of one owner or of all': (store) => {
    const [owner, other, state] = [newId(), newId(), newId()];
    const a = recordOf(newId(), { owner, state, updated: 1 });
    const b = recordOf(newId(), { owner, state, updated: 2 });
    const others = recordOf(newId(), { owner: other, state, updated: 3 });
    return concat(
      ...[a, b, others, recordOf(newId(), { owner })].map((record) => store.put(record, 0)),
      expecting('list', store.list({ owner, state }), { records: [listed(b), listed(a)] }),
      expecting('list of all owners', store.list({ owner: null, state }), {
        records: [listed(others), listed(b), listed(a)],
      }),
      store.put(recordOf(b.id, { owner, state: 'ended' }), 1),
      expecting('list after a change', store.list({ owner, state }), { records: [listed(a)] }),
    );
  },

  'lists more records than a page has, each once, also if they were changed at the same time': (store) => {
    const [owner, state] = [newId(), newId()];
    const records = Array.from({ length: 250 }, (_, index) => recordOf(newId(), { owner, state, updated: index % 3 }));
    const orders = [...records].sort((a, b) => b.updated - a.updated || (a.id < b.id ? 1 : -1)).map(({ id }) => id);
    return concat(
      from(records).pipe(concatMap((record) => store.put(record, 0))),
      ...[{ owner }, { owner, state }, { owner: null, state }].map((query) =>
        defer(() => allPages((cursor) => store.list({ ...query, cursor }))).pipe(
          concatMap(({ records: page }) => page),
          map(({ id }) => id),
          toArray(),
          (ids) => expecting(`ids of the list ${JSON.stringify(query)}`, ids, orders),
        ),
      ),
    );
  },

  'fails for a cursor that is not one of a list': (store) =>
    concat(
      ...['', 'x', '1', '1:', ':x', '-1:x', '1.5:x', 'null:x', '99999999999999999999999:x', '1:\u0000'].map((cursor) =>
        failing(`list after ${JSON.stringify(cursor)}`, store.list({ owner: 'ann', cursor }), 'configuration'),
      ),
    ),
};
