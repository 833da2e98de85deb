import { asapScheduler, concat, concatMap, count, defer, EMPTY, filter, ignoreElements, map, mergeMap } from 'rxjs';
import { of, repeat, subscribeOn, takeWhile, tap, type Observable } from 'rxjs';
import { allPages } from './runs/allPages.js';
import { isDeleted } from './chats/chatRecords.js';
import type { ChatRecord, ChatStore, StoredChat } from './chats/chatStore.js';
import type { RecordStore, StorableRecord, Stored } from './ports/recordStore.js';
import type { RunRecord, RunStore, StoredRun } from './ports/runStore.js';

type OwnerRecord =
  | { readonly type: 'run'; readonly record: RunRecord }
  | { readonly type: 'chat'; readonly record: ChatRecord };

/** What a service keeps of an owner, for a request of that person: to see the data, or to have it removed. */
export interface OwnerData {
  /**
   * Emits all records of an owner (what the option `owner` returns), as plain JSON: the runs (prompts, messages and
   * results), then the chats. Of each, the one that was changed last comes first.
   */
  exportData(owner: string): Observable<OwnerRecord>;
  /**
   * Stops the runs of an owner and deletes their records, whichever instance executes them, and the chats. Completes
   * when there are none left: nothing that began before is written later, and a request that still arrives is answered
   * with 409. The events of runs that have ended stay in
   * the log for the time `keep`. In another process, a run of `useChat`, or one of AG-UI that was answered, ends within
   * a third of the `lease`; a new one of AG-UI is not reached, and is stored if it waits.
   */
  deleteData(owner: string): Observable<never>;
}

const DELETES_AT_ONCE = 16;
/** For runs that began meanwhile or were written when they were deleted. */
const MAX_ROUNDS = 10;

/** Stops what this process does for an owner, or a run in whatever process. Completes when it has written all. */
type EndWork = (owner: string, id?: string) => Observable<unknown>;

export function createOwnerData(store: RunStore, chats: ChatStore | undefined, end: EndWork) {
  const ofChats = <T>(work: (chats: ChatStore) => Observable<T>) => (chats ? work(chats) : EMPTY);
  const deleteChat = (all: ChatStore, { record, version }: StoredChat) => all.delete(record.id, version);
  const deleteStored = ({ record: { id, owner }, version }: StoredRun) =>
    concat(end(owner, id).pipe(ignoreElements()), store.delete(id, version));
  const deleteAll = (owner: string, rounds = MAX_ROUNDS): Observable<never> =>
    concat(
      end(owner).pipe(ignoreElements()),
      recordsOf(store, owner).pipe(mergeMap(deleteStored, DELETES_AT_ONCE)),
      ofChats((all) => recordsOf(all, owner).pipe(mergeMap((chat) => deleteChat(all, chat), DELETES_AT_ONCE))),
    ).pipe(
      count(),
      concatMap((found) => {
        if (found === 0) return EMPTY;
        if (rounds === 0) throw new Error(`The owner has new data after ${MAX_ROUNDS} rounds. Delete it again.`);
        return deleteAll(owner, rounds - 1);
      }),
    );
  const exportData: OwnerData['exportData'] = (owner) =>
    concat(
      allRecordsOf(store, owner).pipe(map(({ record }) => ({ type: 'run', record }) as const)),
      ofChats((all) =>
        allRecordsOf(all, owner).pipe(
          filter(({ record }) => !isDeleted(record)),
          map(({ record }) => ({ type: 'chat', record }) as const),
        ),
      ),
    );

  /**
   * Deletes a chain of runs from its far ends: if this process ends, the id still leads to the rest. Who resumes a run
   * is ended in its place; one that has not taken its checkpoint, and may never do so, is not named by the run that
   * waits. A chain may be long: each step has its own stack.
   */
  const deleteRun = (id: string, owner: string): Observable<never> =>
    defer(() => {
      const path = [id];
      const seen = new Set(path);
      const searched = new Set<string>();
      let ended: string | undefined = id;
      let attemptsLeft = MAX_ROUNDS;
      const visit = (run: string, stored: StoredRun | undefined): Observable<unknown> => {
        const own = stored?.record.owner === owner ? stored : undefined;
        const { resumes = id, resumedBy, state } = own?.record ?? {};
        if (resumedBy === undefined && ended !== run) return end(owner, (ended = run));
        ended = undefined;
        const other = [resumes, resumedBy ?? id].find((each) => !seen.has(each));
        if (other !== undefined) return of(seen.add(other), path.push(other));
        if (!own) return of(path.pop());
        if (state === 'waiting' && !searched.has(run)) {
          searched.add(run);
          return recordsOf(store, owner, undefined, 'running').pipe(
            filter(({ record }) => record.resumes === run && !seen.has(record.id)),
            tap(({ record }) => void (seen.add(record.id), path.push(record.id))),
          );
        }
        return store.delete(run, own.version).pipe(
          tap((isDeleted) => {
            if (isDeleted) path.pop();
            else if (attemptsLeft-- === 0)
              throw new Error(`The run ${run} was written again and again. Delete it again.`);
          }),
        );
      };
      const step = (run = id) => store.get(run).pipe(concatMap((stored) => visit(run, stored)));
      const steps = defer(() => step(path.at(-1))).pipe(subscribeOn(asapScheduler), repeat());
      // It is ended first: it may have no record yet.
      return concat(end(owner, id), steps).pipe(
        map(() => path.length),
        takeWhile((left) => left > 0),
        ignoreElements(),
      );
    });
  return {
    exportData,
    deleteData: (owner: string) => deleteAll(owner, MAX_ROUNDS),
    deleteRun,
  };
}

const recordsOf = <R extends StorableRecord>(
  store: RecordStore<R>,
  owner: string,
  seen = new Set<string>(),
  state?: string,
): Observable<Stored<R>> =>
  allPages((cursor) => store.list({ owner, cursor, state })).pipe(
    concatMap(({ records }) => records),
    filter(({ id }) => !seen.has(id)),
    tap(({ id }) => seen.add(id)),
    concatMap(({ id }) => store.get(id)),
    filter((stored) => stored !== undefined),
  );

/** A record that is changed while the list is read moves to its start: it is read again. */
const allRecordsOf = <R extends StorableRecord>(store: RecordStore<R>, owner: string): Observable<Stored<R>> =>
  defer(() => {
    const seen = new Set<string>();
    const round = (before: number): Observable<Stored<R>> =>
      concat(
        recordsOf(store, owner, seen),
        defer(() => (seen.size > before ? round(seen.size) : EMPTY)),
      );
    return round(0);
  });
