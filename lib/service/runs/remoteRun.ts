import { catchError, concatMap, defer, delayWhen, EMPTY, exhaustMap, filter, finalize, interval, map } from 'rxjs';
import { merge, retry, share, Subject, take, takeUntil, throwError, timer, type Observable } from 'rxjs';
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

/** Watches the records of runs that other processes execute, each once for all of its readers. */
export function createWatch(store: RunStore, isExecuted: (record: RunRecord) => boolean, time: number) {
  const watched = new Map<string, Observable<never>>();
  const requested = new Subject<string>();
  const checksOf = (id: string) => merge(requested.pipe(filter((one) => one === id)), interval(time));
  return {
    /** Fails with an ExecutorLostError when nobody executes the run any more. */
    lost: (id: string): Observable<never> =>
      defer(() => {
        const forget = finalize<never>(() => watched.delete(id));
        const watch = watched.get(id) ?? watchExecutor(store, id, isExecuted, checksOf(id)).pipe(forget, share());
        watched.set(id, watch);
        return watch;
      }),
    /** Reads the record at once. */
    check: (id: string): void => requested.next(id),
  };
}

/** How long to wait until the log of a run may be open, in milliseconds. */
const OPENING_TIME = 500;

/**
 * A run that another process executes, from the log that the processes share.
 *
 * @param lost Fails when nobody executes the run any more.
 * @param left Called when an executor leaves the run. Default: nothing is called.
 */
export function remoteRun(log: RunLog, id: string, lost: Observable<never>, left?: () => void): SharedRun {
  const envelopes = (after?: string, receiver?: Receiver) => {
    // The record of a run is written before its log is opened: who has read nothing waits.
    const isNotOpen = (thrown: unknown) => thrown instanceof RunNotFoundError && after === undefined;
    return log.read(id, after, receiver).pipe(
      retry({ delay: (thrown) => (isNotOpen(thrown) ? timer(OPENING_TIME) : throwError(() => thrown as unknown)) }),
      catchError((thrown: unknown) =>
        throwError(() => (thrown instanceof RemoteRunError ? keepDescription(thrown) : thrown)),
      ),
      filter((envelope) => {
        if (isLeftEvent(envelope)) left?.();
        return !isLeftEvent(envelope);
      }),
      takeUntil(lost),
    );
  };
  return {
    events$: envelopes().pipe(map(({ event }) => event)),
    status: 'running',
    envelopes,
    start: () => undefined,
    unsubscribe: () => undefined,
  };
}
