import { concatMap, defer, map, of, type Observable } from 'rxjs';
import { RunTakenError } from './runErrors.js';
import type { RunRecord, RunStore, StoredRun } from '../ports/runStore.js';

/** How many times a change is retried after another request changed the record in the meantime. */
const MAX_RETRIES = 5;

/** Changes a record of a guarded store, or creates it, unless `change` returns undefined. Emits what it has written. */
export const changeRecord = (
  store: RunStore,
  id: string,
  change: (record: RunRecord | undefined) => RunRecord | undefined,
  retriesLeft = MAX_RETRIES,
): Observable<StoredRun | undefined> =>
  defer(() => store.get(id)).pipe(
    concatMap((stored) => {
      const record = change(stored?.record);
      const version = stored?.version ?? 0;
      if (!record) return of(undefined);
      return store.put(record, version).pipe(
        concatMap((isDone) => {
          if (isDone) return of({ record, version: version + 1 });
          return retriesLeft === 0 ? of(undefined) : changeRecord(store, id, change, retriesLeft - 1);
        }),
      );
    }),
  );

/** Fails if the store has not done a write: another process has changed the record. */
export const requireDone = <T>(result: T) =>
  map((isDone: boolean) => {
    if (!isDone) throw new RunTakenError();
    return result;
  });
