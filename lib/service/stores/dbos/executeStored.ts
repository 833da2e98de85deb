import { catchError, concat, concatMap, defer, EMPTY, filter, ignoreElements, map, of, tap, throwError } from 'rxjs';
import { asyncScheduler, type Observable } from 'rxjs';
import { ConfigurationError, errorText } from '../../../core/errors.js';
import { isCheckpoint, isTurn } from '../../../core/eventGuards.js';
import type { Kernel } from '../../kernel.js';
import type { RunRecord, StoredRun } from '../../ports/runStore.js';
import { completeLog, isOpen, stateAtEnd } from '../../runs/continueLog.js';
import type { RunPlan } from '../../runs/executeRun.js';
import { recordOf } from '../../runs/handOver.js';
import { planRest } from '../../runs/planRun.js';
import { RunDeadError, RunParkedError, RunTakenError } from '../../runs/runErrors.js';

/** A run is executed with others, or alone until it calls `letIn`. */
export type EnterRun = <T>(isAlone: boolean, run: (letIn: () => void) => Observable<T>) => Observable<T>;

/**
 * Completes at the run's end, or after `aside` if it is dead or parked; fails if this process cannot go on. After two
 * failures, it runs alone until its next checkpoint: it may be what has ended the process.
 */
export type ExecuteStored<C> = (id: string, context: C, enter: EnterRun) => Observable<'aside'>;

/** Failures without a checkpoint in between. */
const MAX_FAILURES = 8;
/** One failure says nothing: a roll-out or a lost machine ends many runs, which should go on at once. */
const ALONE_FROM = 2;

export function executeStored<C>(kernel: Kernel<C>): ExecuteStored<C> {
  const { store, log } = kernel;
  const setAside = (record: RunRecord, changes: Partial<RunRecord>) =>
    concat(
      changeRunning(kernel, record, () => ({ updated: asyncScheduler.now(), executor: undefined, ...changes })),
      of('aside' as const),
    );
  const giveUp = (record: RunRecord) => {
    const messages = record.checkpoint?.emitted.messages ?? [];
    const failure = { messages, error: kernel.describe(new RunDeadError()) };
    return setAside(record, { state: 'dead', failures: failuresOf(record), failure, reason: reasonOf(record) });
  };
  const launch = (id: string, context: C, plans: (run: StoredRun) => Observable<RunPlan>): Observable<never> =>
    kernel
      .locked(id, { owner: '', context }, () =>
        recordOf(store, id).pipe(
          concatMap(plans),
          concatMap((planned) => kernel.launch(planned)),
        ),
      )
      .pipe(concatMap(({ settled }) => settled));

  const execute = (record: RunRecord, context: C, letIn: () => void): Observable<'aside'> => {
    let hasBegun = false;
    let attempt = 0;
    const plans = (run: StoredRun) => {
      if (run.record.state !== 'running') return EMPTY;
      attempt = run.record.attempt + 1;
      const { failures, reason } = { failures: failuresOf(run.record) || undefined, reason: reasonOf(run.record) };
      return planRest(kernel, run, { owner: run.record.owner, context }).pipe(
        map((plan) => ({
          ...watched(plan, () => (hasBegun = true), letIn),
          record: { ...plan.record, failures, reason, durable: run.record.durable },
        })),
      );
    };
    /** An execution that has begun may have asked the model, and could do so for ever. */
    const count = (thrown: unknown) =>
      changeRunning(kernel, record, (now) =>
        now.attempt === attempt
          ? { failures: (now.failures ?? 0) + 1, reason: errorText(thrown), executor: undefined }
          : undefined,
      ).pipe(catchError(() => EMPTY)); // the store is away, which is not the fault of the run
    return launch(record.id, context, plans).pipe(
      catchError((thrown: unknown) => {
        if (thrown instanceof RunParkedError) return setAside(record, { state: 'parked', reason: thrown.reason });
        if (thrown instanceof RunTakenError) return endElsewhere(kernel, record.id, thrown);
        return concat(
          hasBegun ? count(thrown) : EMPTY,
          throwError(() => thrown),
        );
      }),
    );
  };
  /** The process may have ended between the last write of the record and that of the log. */
  const complete = (id: string, context: C): Observable<never> =>
    launch(id, context, (run) =>
      stateAtEnd(log, id).pipe(
        filter(isOpen),
        map(() => completeLog(log, run)),
      ),
    );
  return (id, context, enter) =>
    recordOf(store, id).pipe(
      concatMap(({ record }) => {
        if (record.state === 'dead' || record.state === 'parked') return of('aside' as const);
        if (record.state !== 'running') return complete(id, context);
        const failures = failuresOf(record);
        if (failures >= MAX_FAILURES) return giveUp(record);
        return enter(failures >= ALONE_FROM, (letIn) => execute(record, context, letIn));
      }),
    );
}

const changeRunning = <C>(
  kernel: Kernel<C>,
  { id, owner }: RunRecord,
  changes: (record: RunRecord) => Partial<RunRecord> | undefined,
): Observable<never> =>
  kernel.access
    .update(id, owner, (record) => {
      const changed = record?.state === 'running' ? changes(record) : undefined;
      return record && changed && { ...record, ...changed };
    })
    .pipe(ignoreElements());

/** The process that has taken the run executes it, unless it has ended since. */
const endElsewhere = <C>({ store, executor }: Kernel<C>, id: string, thrown: RunTakenError): Observable<never> =>
  recordOf(store, id).pipe(
    concatMap(({ record }) => (executor.locate(record) === 'elsewhere' ? EMPTY : throwError(() => thrown))),
  );

/** A process that has ended has not released the record. */
const failuresOf = ({ failures = 0, executor }: RunRecord): number => failures + (executor ? 1 : 0);

const reasonOf = ({ executor, reason }: RunRecord): string | undefined =>
  executor ? 'The process that executed the run has ended.' : reason;

const watched = (plan: RunPlan, begun: () => void, passed: () => void): RunPlan => ({
  ...plan,
  events: (...given) =>
    defer(() => {
      begun();
      return plan.events(...given);
    }).pipe(
      tap((event) => {
        if ((isCheckpoint(event) || isTurn(event)) && event.checkpoint) passed();
      }),
      catchError((thrown: unknown) => {
        const isForeign =
          plan.record.checkpoint && thrown instanceof ConfigurationError && thrown.subject === 'checkpoint';
        throw isForeign ? new RunParkedError(thrown.message) : thrown;
      }),
    ),
});
