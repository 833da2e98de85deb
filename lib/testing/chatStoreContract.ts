import { asyncScheduler, concat, concatAll, concatMap, defer, forkJoin, from, ignoreElements, toArray } from 'rxjs';
import type { ObservableInput } from 'rxjs';
import { allPages } from '../service/runs/allPages.js';
import type { ChatRecord, ChatStore } from '../service/chats/chatStore.js';
import { casesOf, expecting, expectSame, newId } from './portContract.js';
import type { PortContractCase } from './portContract.js';
import type { Plain } from '../core/typesOf.js';

const recordOf = (id: string, change: Partial<ChatRecord> = {}): ChatRecord => ({
  id,
  owner: 'ann',
  title: 'Ünïcode "quotes" 🙂',
  updated: asyncScheduler.now(),
  saved: { version: 1, exchanges: [{ id: 'x', input: ['\u2028', '\u0000'] }] },
  ...change,
});

/**
 * Returns the checks that every store of chats must pass, one test case each.
 *
 * <span class="informal">Run them in the spec of your own `ChatStore`.</span>
 *
 * ```ts
 * for (const { title, run } of chatStoreContract(() => myChats(pool))) test(`myChats ${title}`, run);
 * ```
 *
 * @param create Returns the store. It may contain chats: each case uses ids of its own.
 */
export function chatStoreContract(
  create: () => ChatStore | ObservableInput<ChatStore>,
): readonly Plain<PortContractCase>[] {
  return casesOf<ChatStore>(create, {
    'has no chat before it is written': (store) => expecting('get', store.get(newId()), undefined),

    'returns a chat as it was written, with version 1': (store) => {
      const record = recordOf(newId());
      return concat(
        expecting('put', store.put(record, 0), true),
        expecting('get', store.get(record.id), { record, version: 1 }),
      );
    },

    'writes a chat if the version is the one it has, and adds 1': (store) => {
      const record = recordOf(newId());
      const changed = { ...record, title: 'Other', updated: record.updated + 1, saved: { version: 1, exchanges: [] } };
      return concat(
        expecting('put of a new chat', store.put(record, 0), true),
        expecting('put of version 1', store.put(changed, 1), true),
        expecting('get', store.get(record.id), { record: changed, version: 2 }),
      );
    },

    'does not write a chat of another version': (store) => {
      const record = recordOf(newId());
      const other = { ...record, owner: 'eve' };
      return concat(
        expecting('put of version 1 of nothing', store.put(record, 1), false),
        expecting('put of a new chat', store.put(record, 0), true),
        expecting('put of a new chat twice', store.put(other, 0), false),
        expecting('put of version 2', store.put(other, 2), false),
        expecting('get', store.get(record.id), { record, version: 1 }),
      );
    },

    'lets one of several writers of a version win, and keeps what that one wrote': (store) => {
      const record = recordOf(newId());
      const writers = Array.from({ length: 8 }, (_, index) => ({ ...record, title: String(index) }));
      return concat(
        store.put(record, 0),
        forkJoin(writers.map((each) => store.put(each, 1))).pipe(
          concatMap((written) => {
            expectSame('number of writers that won', written.filter(Boolean).length, 1);
            return expecting('get', store.get(record.id), { record: writers[written.indexOf(true)], version: 2 });
          }),
        ),
      );
    },

    'deletes a chat of the named version only': (store) => {
      const record = recordOf(newId());
      return concat(
        expecting('put', store.put(record, 0), true),
        expecting('delete of version 2', store.delete(record.id, 2), false),
        expecting('delete of version 1', store.delete(record.id, 1), true),
        expecting('get', store.get(record.id), undefined),
        expecting('delete of nothing', store.delete(record.id, 1), false),
        expecting('put of a new chat', store.put(record, 0), true),
        expecting('get after it was created again', store.get(record.id), { record, version: 1 }),
      );
    },

    'lists the chats of an owner, latest change first': (store) => {
      const owner = newId();
      const [a, b, c] = [newId(), newId(), newId()];
      const summary = (id: string, updated: number, version = 1) => ({
        id,
        title: recordOf(id).title,
        updated,
        version,
      });
      return concat(
        store.put(recordOf(a, { owner, updated: 1 }), 0),
        store.put(recordOf(b, { owner, updated: 3 }), 0),
        store.put(recordOf(c, { owner, updated: 2 }), 0),
        store.put(recordOf(newId(), { owner: newId(), updated: 9 }), 0),
        expecting('list', store.list(owner), { chats: [summary(b, 3), summary(c, 2), summary(a, 1)] }),
        store.put(recordOf(a, { owner, updated: 4 }), 1),
        expecting('list after a change', store.list(owner), {
          chats: [summary(a, 4, 2), summary(b, 3), summary(c, 2)],
        }),
        expecting('list of another owner', store.list(newId()), { chats: [] }),
      );
    },

    'lists more chats than a page has, each of them once, also if they changed at the same time': (store) => {
      const owner = newId();
      const ids = Array.from({ length: 250 }, () => newId());
      const puts = ids.map((id, index) =>
        store.put(recordOf(id, { owner, updated: 1_700_000_000_000 + (index % 3) }), 0),
      );
      return concat(
        from(puts).pipe(concatAll(), ignoreElements()),
        defer(() => allPages((cursor) => store.list(owner, cursor))).pipe(
          toArray(),
          concatMap((pages) => {
            const listed = pages.flatMap(({ chats }) => chats);
            expectSame('ids', listed.map(({ id }) => id).sort(), [...ids].sort());
            const times = listed.map(({ updated }) => updated);
            expectSame(
              'times',
              times,
              [...times].sort((x, y) => y - x),
            );
            return [];
          }),
        ),
      );
    },
  });
}
