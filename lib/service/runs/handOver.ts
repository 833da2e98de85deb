import { asyncScheduler, catchError, concat, concatMap, defer, EMPTY, ignoreElements, of, scan, take } from 'rxjs';
import { takeLast, takeWhile, throwError, type Observable } from 'rxjs';
import type { DurableRuns } from '../handledAgent.js';
import { DEFAULT_MAX_RUNS, tooManyRuns } from '../ownerLimits.js';
import type { Kernel } from '../kernel.js';
import { allPages } from './allPages.js';
import { sizeOfPlan, type RunPlan } from './executeRun.js';
import { requireDone } from './changeRecord.js';
import type { RunLog } from '../ports/runLog.js';
import type { RunStore } from '../ports/runStore.js';

/**
 * Hands a run over to the processes that execute runs: writes its record, opens its log, and enqueues it. A run that
 * has a record is only enqueued, in case that the process that wrote it has ended before that.
 *
 * @param enqueue Enqueues the run, unless it was enqueued before.
 */
export function handOver(
  { store, log }: { readonly store: RunStore; readonly log: RunLog },
  plan: RunPlan,
  enqueue: Observable<never>,
): Observable<never> {
  const { record, stored, begin = EMPTY, undo = EMPTY } = plan;
  const { id } = record;
  if (stored) return enqueue;
  const written = defer(() =>
    store.put({ ...record, state: 'running', updated: asyncScheduler.now(), attempt: 0 }, 0),
  ).pipe(take(1), requireDone(undefined), ignoreElements());
  const undone = (thrown: unknown) => concat(undo, store.delete(id, 1).pipe(concatMap(() => throwError(() => thrown))));
  return concat(written, begin.pipe(catchError(undone)), log.append(id, 1, []), enqueue);
}

/**
 * Hands a run over if its owner may have another one. Where many runs wait, that of an owner with fewer runs comes
 * first: 200 runs of one owner do not make the run of another one wait.
 */
export const admitStored = <C>(kernel: Kernel<C>, plan: RunPlan, durable: DurableRuns<C>): Observable<never> => {
  const { owner: ownerOf, limits = {} } = kernel.options;
  const { maxRunsPerOwner = ownerOf ? DEFAULT_MAX_RUNS : Infinity } = limits;
  const { id, owner } = plan.record;
  const enqueue = (rank: number) => durable.enqueue(id, plan.context as C, rank);
  if (plan.stored) return handOver(kernel, plan, enqueue(0));
  const counted = ownerOf || maxRunsPerOwner < Infinity ? countRunning(kernel.store, owner, maxRunsPerOwner) : of(0);
  return kernel.admit(
    id,
    owner,
    counted.pipe(
      concatMap((count) => {
        if (count >= maxRunsPerOwner && !kernel.locks.isStopped(id, owner)) throw tooManyRuns(maxRunsPerOwner);
        return handOver(kernel, { ...plan, record: { ...plan.record, durable: durable.names } }, enqueue(count));
      }),
    ),
    sizeOfPlan(plan),
  );
};

/** How many runs of an owner have not ended, in all processes; it stops at `max`. */
const countRunning = (store: RunStore, owner: string, max: number): Observable<number> =>
  allPages((cursor) => store.list({ owner, state: 'running', cursor })).pipe(
    scan((count, { records }) => count + records.length, 0),
    takeWhile((count) => count < max, true),
    takeLast(1),
  );

/** Emits the record of a run once; nothing if there is none. */
export const recordOf = (store: RunStore, id: string) =>
  defer(() => store.get(id)).pipe(
    take(1),
    concatMap((stored) => (stored ? of(stored) : EMPTY)),
  );
