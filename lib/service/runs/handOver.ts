import { asyncScheduler, catchError, concat, concatMap, defer, EMPTY, filter, of, take, tap, throwError } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import type { Checkpoint } from '../../core/checkpoint.js';
import type { StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import { continueLog } from './continueLog.js';
import type { RunPlan } from './executeRun.js';
import { replayCheckpoint } from './replayRecord.js';
import { RunTakenError } from './runErrors.js';
import type { RunLog } from '../ports/runLog.js';
import type { RunRecord, RunStore } from '../ports/runStore.js';

/**
 * Hands a run over to the processes that execute runs: writes its record, opens its log, and enqueues it. A run that
 * has a record is only enqueued, in case that the process that wrote it has ended before that.
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
  ).pipe(
    take(1),
    concatMap((isDone) => (isDone ? EMPTY : throwError(() => new RunTakenError()))),
  );
  const undone = (thrown: unknown) => concat(undo, store.delete(id, 1).pipe(concatMap(() => throwError(() => thrown))));
  return concat(written, begin.pipe(catchError(undone)), log.append(id, 1, []), enqueue);
}

/** Skips the turns up to this one, in a run that is executed again from its start. */
const skipTurns = (last: number): MonoTypeOperatorFunction<StreamEvent> => {
  if (last === 0) return (source) => source;
  return (source) =>
    defer(() => {
      let isSkipping = true;
      let isLast = false;
      return source.pipe(
        tap((event) => {
          isSkipping &&= !isLast;
          const known = asKnownEvent(event);
          isLast = known.type === 'turn' && known.turn >= last;
        }),
        filter(() => !isSkipping),
      );
    });
};

/** Emits the record of a run once; nothing if there is none. */
export const recordOf = (store: RunStore, id: string) =>
  defer(() => store.get(id)).pipe(
    take(1),
    concatMap((stored) => (stored ? of(stored) : EMPTY)),
  );

/**
 * The rest of a run, after what its log does not have if its process has ended. A durable run is executed again from
 * its start: the engine has its steps, and the log its complete turns. Any other goes on from its checkpoint.
 */
export function continueRun(
  log: RunLog,
  record: RunRecord,
  rest: Observable<StreamEvent>,
  checkpoint: Checkpoint | undefined,
  isDurable: boolean,
): Observable<StreamEvent> {
  if (record.attempt === 0) return rest;
  if (isDurable) return continueLog(log, record, ({ turns }) => rest.pipe(skipTurns(turns)));
  return concat(
    continueLog(log, record, (seen) => (checkpoint ? replayCheckpoint(checkpoint, seen, record.answers) : EMPTY)),
    rest,
  );
}
