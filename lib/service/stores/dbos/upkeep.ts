import { asyncScheduler, catchError, concatMap, defer, EMPTY, exhaustMap, filter, from, ignoreElements } from 'rxjs';
import { interval, map, merge, timer, toArray, type Observable } from 'rxjs';
import { createDeadLetters, listAside } from '../../deadLetters.js';
import type { RunLog } from '../../ports/runLog.js';
import type { RunRecord, RunStore } from '../../ports/runStore.js';
import { listRuns, type DurableEngine } from './engine.js';
import type { WorkerLock } from './workerLock.js';

/** What a worker works with. */
interface Upkept extends NonNullable<RunRecord['durable']> {
  readonly dbos: DurableEngine;
  readonly store: RunStore;
  readonly log: RunLog;
}

/**
 * Enqueues the workflows of a queue whose workers have ended: of executors whose lock is free.
 * The lock is held meanwhile. A second worker that has seen the same workflows would otherwise enqueue one again that
 * is executed by then.
 */
export function resumeAbandoned({ dbos, queue: queueName }: Upkept, lock: WorkerLock, own: string): Observable<never> {
  const list = (executor: { readonly executorId?: string }) =>
    listRuns(dbos, { status: ['PENDING'], queueName, ...executor }).pipe(
      map((workflows) => workflows.filter((each) => (each.queueName ?? queueName) === queueName)),
    );
  const resume = (executorId: string) =>
    list({ executorId }).pipe(
      map((workflows) => workflows.map(({ workflowID }) => workflowID)),
      concatMap((ids) => (ids.length === 0 ? EMPTY : from(dbos.resumeWorkflows(ids, { queueName })))),
      ignoreElements(),
    );
  return list({}).pipe(
    concatMap((workflows) => new Set(workflows.map(({ executorId = '' }) => executorId))),
    concatMap((executor) => (executor === own ? EMPTY : lock.ifFree(executor, () => resume(executor)))),
  );
}

/**
 * Retries the parked runs of a queue and a version at intervals: this worker may have the code that they need. It does
 * not retry those that it has parked itself.
 */
export function retryParked(
  { dbos, store, log, queue, version }: Upkept,
  parkedHere: ReadonlySet<string>,
  retryInterval: number,
): Observable<never> {
  const resume = ({ id }: { readonly id: string }) =>
    defer(() => from(dbos.resumeWorkflows([id], { queueName: queue }))).pipe(ignoreElements());
  const letters = createDeadLetters({ store, log }, { resume });
  const retryAll = letters.list().pipe(
    filter(({ state, durable }) => state === 'parked' && durable?.queue === queue && durable.version === version),
    concatMap(({ id }) => (parkedHere.has(id) ? EMPTY : letters.retry(id))),
    catchError(() => EMPTY), // the database is away: the next time
  );
  return timer(0, retryInterval).pipe(
    exhaustMap(() => retryAll),
    ignoreElements(),
  );
}

/** How often ended workflows are removed, in milliseconds, and how many of each kind at most. */
const REMOVAL_INTERVAL = 60_000;
const LIMIT = 1000;

/**
 * Removes the workflows that ended some time ago, in one worker at a time. DBOS would keep them for ever; the record
 * and the log have what a page shows. That of a run that was set aside stays, so that the run can be retried.
 */
export function removeEnded({ dbos, store }: Upkept, lock: WorkerLock, retention: number): Observable<never> {
  const list = (...status: ('SUCCESS' | 'ERROR' | 'CANCELLED')[]) => {
    const completedBefore = new Date(asyncScheduler.now() - retention).toISOString();
    return listRuns(dbos, { status, completedBefore, limit: LIMIT }).pipe(concatMap((workflows) => workflows));
  };
  const removed = () =>
    from(['dead', 'parked'] as const).pipe(
      concatMap((state) => listAside(store, state)),
      toArray(),
      // Apart: many runs that were set aside must not hide those that have ended.
      concatMap((aside) =>
        merge(list('SUCCESS', 'ERROR'), list('CANCELLED')).pipe(
          map(({ workflowID }) => workflowID),
          filter((id) => !aside.some((record) => record.id === id)),
          toArray(),
        ),
      ),
      concatMap((ids) => (ids.length > 0 ? (dbos.deleteWorkflows?.(ids) ?? EMPTY) : EMPTY)),
      ignoreElements(),
    );
  if (retention === Infinity || !dbos.deleteWorkflows) return EMPTY;
  return interval(Math.min(retention, REMOVAL_INTERVAL)).pipe(
    // If the database is away, they are removed the next time.
    exhaustMap(() => lock.ifFree('retention', removed).pipe(catchError(() => EMPTY))),
  );
}
