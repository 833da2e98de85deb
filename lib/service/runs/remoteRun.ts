import { catchError, concatMap, defer, delayWhen, EMPTY, exhaustMap, filter, interval, map, throwError } from 'rxjs';
import { retry, take, takeUntil, timer } from 'rxjs';
import type { Observable, Subject } from 'rxjs';
import { RemoteRunError } from '../../transport/fromServerSentEvents.js';
import { isLeftEvent } from './leftEvent.js';
import { keepDescription } from './trustedDescription.js';
import { ExecutorLostError, RunNotFoundError } from './runErrors.js';
import type { Receiver, RunLog } from '../ports/runLog.js';
import type { RunRecord, RunStore } from '../ports/runStore.js';
import type { SharedRun } from './sharedRun.js';

/** How often a record is read, in milliseconds. */
const CHECK_INTERVAL = 10_000;

/**
 * How long the log of a run may say that it has ended after its record, in milliseconds. On an overloaded machine, with
 * more runs than connections, a second was too short: responses were closed without an end event.
 */
const END_TIME = 10_000;

/**
 * Watches the record of a run that another process executes.
 *
 * @param isExecuted Whether a process executes the run of a record: its lease is valid.
 * @param checks When it emits, the record is read. Default: each 10 s.
 * @returns Fails with an ExecutorLostError when nobody executes the run any more.
 */
export const watchExecutor = (
  store: RunStore,
  id: string,
  isExecuted: (record: RunRecord) => boolean,
  checks: Observable<unknown> = interval(CHECK_INTERVAL),
): Observable<never> =>
  checks.pipe(
    // The store may be unreachable for a while: it is asked again later.
    exhaustMap(() =>
      defer(() => store.get(id)).pipe(
        take(1),
        catchError(() => EMPTY),
      ),
    ),
    filter((stored) => !stored || !isExecuted(stored.record)),
    take(1),
    delayWhen((stored) => timer(stored && stored.record.state !== 'running' ? END_TIME : 0)),
    concatMap(() => throwError(() => new ExecutorLostError())),
  );

/** How long to wait until the log of a run may be open, in milliseconds. */
const OPENING_TIME = 500;

/** Whether an error may say that the log of a run is not open yet: nobody has read it. */
const isNotOpen = (thrown: unknown, after: string | undefined): boolean =>
  thrown instanceof RunNotFoundError && after === undefined;

/**
 * A run that another process executes, from the log that the processes share.
 *
 * @param lost Fails when nobody executes the run any more.
 * @param left Emits when an executor leaves the run. Default: nobody listens.
 */
export function remoteRun(log: RunLog, id: string, lost: Observable<never>, left?: Subject<void>): SharedRun {
  const envelopes = (after?: string, receiver?: Receiver) =>
    log.read(id, after, receiver).pipe(
      // The record of a run is written before its log is opened.
      retry({
        delay: (thrown: unknown) => (isNotOpen(thrown, after) ? timer(OPENING_TIME) : throwError(() => thrown)),
      }),
      catchError((thrown: unknown) =>
        throwError(() => (thrown instanceof RemoteRunError ? keepDescription(thrown) : thrown)),
      ),
      filter((envelope) => {
        if (isLeftEvent(envelope)) left?.next();
        return !isLeftEvent(envelope);
      }),
      takeUntil(lost),
    );
  return {
    events$: envelopes().pipe(map(({ event }) => event)),
    status: 'running',
    envelopes,
    start: () => undefined,
    unsubscribe: () => undefined,
  };
}
