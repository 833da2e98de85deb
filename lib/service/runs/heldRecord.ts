import { AsyncSubject, catchError, concatMap, defaultIfEmpty, defer, finalize, ignoreElements, map, of } from 'rxjs';
import { take, tap, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { createSemaphore } from '../../core/semaphore.js';
import type { RunRecord, RunStore } from '../ports/runStore.js';
import { RunTakenError } from './runErrors.js';

/** A record that this process may change. */
export interface HeldRecord {
  /** Writes a change. It fails with a RunTakenError if another process has written the record. */
  write(change: Partial<RunRecord>): Observable<never>;
  /** Writes the record that was there before. */
  restore(before: RunRecord): Observable<never>;
  delete(): Observable<never>;
}

/** Writes changes one by one, each to its end: after a write that was unsubscribed, the version would be unknown. */
export function holdRecord(
  store: RunStore,
  first: RunRecord,
  firstVersion: number,
  writing: Set<Observable<never>>,
): HeldRecord {
  const oneByOne = createSemaphore(1);
  let record = first;
  let version = firstVersion;
  /** After a write that failed: the store may have written it. */
  let isUncertain = false;
  const check = defer(() => (isUncertain ? store.get(first.id).pipe(take(1)) : of(undefined))).pipe(
    tap((stored) => {
      const { attempt, executor = first.executor } = stored?.record ?? {};
      const isOurs = attempt === first.attempt && executor?.id === first.executor?.id;
      if (stored && isOurs) version = stored.version;
      isUncertain = false;
    }),
  );
  const change = (work: () => Observable<boolean>, done: () => void): Observable<never> =>
    defer(() => {
      const result = new AsyncSubject<never>();
      writing.add(result);
      check
        .pipe(
          concatMap(work),
          take(1),
          defaultIfEmpty(false),
          map((isDone) => {
            if (!isDone) throw new RunTakenError();
            done();
          }),
          catchError((thrown: unknown) => {
            isUncertain = !(thrown instanceof RunTakenError);
            return throwError(() => thrown);
          }),
          ignoreElements(),
          oneByOne.limit(),
          finalize(() => writing.delete(result)),
        )
        .subscribe(result);
      return result;
    });
  const put = (toRecord: () => RunRecord) => {
    let next: RunRecord;
    return change(
      () => store.put((next = toRecord()), version),
      () => {
        record = next;
        version += 1;
      },
    );
  };
  return {
    write: (changes) => put(() => ({ ...record, ...changes })),
    restore: (before) => put(() => before),
    delete: () =>
      change(
        () => store.delete(first.id, version),
        () => undefined,
      ),
  };
}
