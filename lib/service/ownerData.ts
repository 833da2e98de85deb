import { concat, concatMap, defer, EMPTY, expand, ignoreElements, map, mergeMap, of, take } from 'rxjs';
import type { Observable } from 'rxjs';
import type { RunRecord, RunStore, StoredRun } from './runStore.js';

/** What a service keeps of an owner, for a request of that person: to see the data, or to have it removed. */
export interface OwnerData {
  /**
   * Emits the records of all runs of an owner, in the order in which they were created: prompts, messages and results,
   * as plain JSON.
   *
   * @param owner What the option `owner` returns for the user.
   */
  exportRuns(owner: string): Observable<RunRecord>;
  /**
   * Stops the runs of an owner and deletes their records, whichever instance executes them. Completes when there are
   * none left. The events of runs that have ended stay in the log for the time `keep`.
   *
   * @param owner What the option `owner` returns for the user.
   */
  deleteRuns(owner: string): Observable<never>;
}

/** How many records are deleted at a time. */
const DELETES_AT_ONCE = 16;
/** How many times the list is read again, for runs that began meanwhile or were written when they were deleted. */
const MAX_ROUNDS = 10;

/**
 * @param store The store of the service.
 * @param stop Stops a run, and emits whether there is one.
 */
export function createOwnerData(store: RunStore, stop: (id: string, owner: string) => Observable<unknown>): OwnerData {
  const deleteRun = ({ record: { id, owner }, version }: StoredRun): Observable<unknown> =>
    concat(
      stop(id, owner),
      defer(() => store.delete(id, version)),
    );
  const deleteRound = (owner: string): Observable<boolean> =>
    allRuns(store, owner).pipe(
      mergeMap((run) => concat(deleteRun(run).pipe(ignoreElements()), of(true)), DELETES_AT_ONCE),
    );
  const deleteAll = (owner: string, rounds: number): Observable<never> =>
    defer(() => {
      let isEmpty = true;
      return concat(
        deleteRound(owner).pipe(
          map(() => (isEmpty = false)),
          ignoreElements(),
        ),
        defer(() => {
          if (isEmpty) return EMPTY;
          if (rounds === 0) throw new Error(`The owner has new runs after ${MAX_ROUNDS} rounds. Delete them again.`);
          return deleteAll(owner, rounds - 1);
        }),
      );
    });
  return {
    exportRuns: (owner) => allRuns(store, owner).pipe(map(({ record }) => record)),
    deleteRuns: (owner) => deleteAll(owner, MAX_ROUNDS),
  };
}

function allRuns(store: RunStore, owner: string): Observable<StoredRun> {
  const page = (cursor?: string) => defer(() => store.list(owner, cursor)).pipe(take(1));
  return page().pipe(
    expand(({ next }) => (next === undefined ? EMPTY : page(next))),
    concatMap(({ runs }) => runs),
  );
}
