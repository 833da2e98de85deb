import { asyncScheduler, catchError, concat, concatMap, defer, EMPTY, filter, from, map, mergeMap, of } from 'rxjs';
import { throwError, type Observable } from 'rxjs';
import { allPages } from './runs/allPages.js';
import type { ListedRecord } from './ports/recordStore.js';
import type { RunLog } from './ports/runLog.js';
import type { RunRecord, RunStore, StoredRun } from './ports/runStore.js';
import { changeRecord } from './runs/changeRecord.js';
import type { DurableRuns } from './handledAgent.js';

/** A run that no worker executes any more. */
interface DeadLetter extends Pick<RunRecord, 'id' | 'owner' | 'updated' | 'attempt' | 'reason' | 'durable'> {
  /** `dead`: eight executions in a row have failed. `parked`: no worker so far can continue its checkpoint. */
  readonly state: 'dead' | 'parked';
}

/** The runs that were set aside, for an operator. They are those of all owners. */
export interface DeadLetters {
  /** Emits each of them, the one that was set aside last first. */
  list(): Observable<DeadLetter>;
  /** Enqueues a run again, from its last checkpoint. Emits whether it was set aside. */
  retry(id: string): Observable<boolean>;
  /** Ends a run with its error. Emits whether it was set aside. */
  discard(id: string): Observable<boolean>;
}

/** How many records are read at a time. */
const READS_AT_ONCE = 16;

/** Lists the runs that were set aside, of all owners. */
export const listAside = (store: RunStore, state: DeadLetter['state']): Observable<ListedRecord<RunRecord>> =>
  allPages((cursor) => store.list({ owner: null, state, cursor })).pipe(concatMap(({ records }) => records));

export function createDeadLetters(
  { store, log }: { readonly store: RunStore; readonly log: RunLog },
  runs: Pick<DurableRuns, 'resume'> | undefined,
): DeadLetters {
  const change = (id: string, changes: (record: RunRecord) => Partial<RunRecord>, then: Change): Observable<boolean> =>
    defer(() => {
      let before: RunRecord | undefined;
      return changeRecord(store, id, (record) => {
        before = record && isAside(record) ? record : undefined;
        return before && { ...before, updated: asyncScheduler.now(), ...changes(before) };
      }).pipe(
        concatMap((changed) => (changed && before ? concat(then(before, changed.version), of(true)) : of(false))),
      );
    });
  const states = ['dead', 'parked'] as const;
  return {
    list: () =>
      from(states).pipe(
        concatMap((state) => listAside(store, state)),
        mergeMap(({ id }) => store.get(id), READS_AT_ONCE),
        filter((stored): stored is StoredRun => stored !== undefined && isAside(stored.record)),
        map(({ record: { id, owner, state, updated, attempt, reason, durable } }) => ({
          ...{ id, owner, updated, attempt, reason, durable },
          state: state as DeadLetter['state'],
        })),
      ),
    retry: (id) =>
      change(
        id,
        () => ({ state: 'running', failures: undefined, reason: undefined, failure: undefined }),
        (record, version) =>
          (runs?.resume(record) ?? EMPTY).pipe(
            catchError((thrown: unknown) => store.put(record, version).pipe(concatMap(() => throwError(() => thrown)))),
          ),
      ),
    discard: (id) =>
      change(
        id,
        ({ failure, reason = '' }) => ({
          state: 'ended',
          ...{ checkpoint: undefined, history: undefined, answers: undefined, failures: undefined },
          failure: failure ?? { messages: [], error: { message: reason } },
        }),
        ({ attempt, failure }) => log.end(id, attempt, { failure: failure?.error ?? {} }),
      ),
  };
}

/** What is done after a record was changed. */
type Change = (before: RunRecord, version: number) => Observable<never>;

const isAside = ({ state }: RunRecord): boolean => state === 'dead' || state === 'parked';
