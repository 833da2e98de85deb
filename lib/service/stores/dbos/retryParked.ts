import { catchError, concatMap, defer, EMPTY, exhaustMap, filter, from, ignoreElements, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { createDeadLetters } from '../../deadLetters.js';
import type { RunLog } from '../../ports/runLog.js';
import type { RunRecord, RunStore } from '../../ports/runStore.js';
import type { DurableEngine } from './engine.js';

interface ParkedOptions extends NonNullable<RunRecord['durable']> {
  readonly dbos: DurableEngine;
  readonly store: RunStore;
  readonly log: RunLog;
}

/**
 * Retries the parked runs of a queue and a version at intervals: this worker may have the code that they need. It does
 * not retry those that it has parked itself.
 */
export function retryParked(
  { dbos, store, log, queue, version }: ParkedOptions,
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
