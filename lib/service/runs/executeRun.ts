import { asyncScheduler, AsyncSubject, catchError, concat, defer, EMPTY, exhaustMap, finalize, interval } from 'rxjs';
import { of, onErrorResumeNext, takeUntil, throwError, type Observable } from 'rxjs';
import type { Checkpoint } from '../../core/checkpoint.js';
import type { StreamEvent } from '../../core/event.js';
import { isCheckpoint, isResult, isTurn } from '../../core/eventGuards.js';
import { failedRunOf } from '../../core/failedRun.js';
import type { JsonObject } from '../../core/json/json.js';
import { requireNumber } from '../../core/options.js';
import { randomId } from '../../transport/randomId.js';
import type { RunControls } from './createRuns.js';
import { estimateSize } from './estimateSize.js';
import { changeAtEnd, changeAtFailure, HeldRecord, progress } from './heldRecord.js';
import type { EndOfRun } from './heldRecord.js';
import { LiveAnswers } from './liveAnswers.js';
import { onceOnly } from './onceOnly.js';
import { leftEvent } from './leftEvent.js';
import type { PromptInbox } from './promptInbox.js';
import { wrapBoth } from './wrapInnerRuns.js';
import { RequestError } from '../http/requestError.js';
import type { RunAudience } from '../publicEvents.js';
import { ExecutorLostError, RunAbandonedError, RunTakenError, isLeft } from './runErrors.js';
import type { RunLog } from '../ports/runLog.js';
import type { RunRecord, RunStore, StoredRun } from '../ports/runStore.js';
import { DEFAULT_LEASE } from '../ports/guardPorts.js';
import { writeFirst, WrittenEvents } from './writeFirst.js';

/** In milliseconds. A garbage collection, or the way to the store, takes a good part of less. */
const MIN_LEASE = 1000;

/** A run that this process is to execute. */
export interface RunPlan extends RunAudience, EndOfRun {
  readonly record: Omit<RunRecord, 'state' | 'updated' | 'attempt' | 'executor'>;
  /** The record that the store has under this id. Default: none. */
  readonly stored?: StoredRun | undefined;
  /**
   * The state of the record meanwhile: that of a run that has ended if only its log is completed, so that it does not
   * begin again if this process ends too. Default: `running`.
   */
  readonly state?: RunRecord['state'] | undefined;
  /** About how many bytes the run has besides its record: the conversation before it. Default: none. */
  readonly bytes?: number | undefined;
  /** `false`: nobody resumes the run, so its record has no checkpoints. Default: as the service decides. */
  readonly checkpoints?: false | undefined;
  /** The checkpoint from which the run is resumed. Default: it starts. */
  readonly resumed?: Checkpoint | undefined;
  /** The events of the run. Cold. */
  readonly events: (controls: RunControls) => Observable<StreamEvent>;
  /** Subscribed after the record is written, before the run begins. If it fails, the record is deleted. */
  readonly begin?: Observable<never> | undefined;
  /** Undoes `begin` if the run fails before it emits anything. */
  readonly undo?: Observable<never> | undefined;
  /** Whether the stored record is restored if the run fails before it emits anything. Default: false. */
  readonly restores?: boolean | undefined;
}

/** About how many bytes a run holds at its start. */
export const sizeOfPlan = ({ record, bytes = 0 }: RunPlan): number => estimateSize(record) + bytes;

/** The events of a run, for its notifiers. With `failure`, the run begins nothing, and its record says so. */
export interface ExecutedRun {
  (controls: RunControls, failure?: Observable<never>, inbox?: PromptInbox): Observable<StreamEvent>;
  /** The checkpoint from which it is resumed. Default: it starts. */
  readonly resumed?: Checkpoint | undefined;
}

/** Executes runs, and writes their records. */
export interface Executor {
  /** How long a lease is valid, in milliseconds. */
  readonly lease: number;
  /** Returns where the run is executed, according to its record. */
  locate(record: RunRecord): 'here' | 'elsewhere' | 'nowhere';
  /**
   * Takes a run over: its record says that this process executes it. Emits the events of the run once this is written.
   * It fails with a RunTakenError if the store has another version of the record.
   */
  execute(plan: RunPlan): Observable<ExecutedRun>;
  /** Completes when no record is being written. */
  readonly released: Observable<never>;
}

/** What an executor needs of its service. */
export interface ExecutorOptions {
  /** How long a lease in a record is valid, in milliseconds. It is renewed three times in this time. Default: 30000. */
  readonly lease?: number | undefined;
  /** Whether checkpoints are written. */
  readonly checkpoints: boolean;
  /** How long a run waits in memory for a person, in milliseconds. Default: 0. */
  readonly patience?: number | undefined;
  /** Describes the error of a failed run to its readers. */
  readonly describe: (thrown: unknown) => JsonObject;
  /** Where other processes learn that this one has left a run. Default: they find out by themselves. */
  readonly log?: RunLog | undefined;
  /** Called if a record cannot be released, or the beginning of a run cannot be undone. */
  readonly onError: (thrown: unknown) => void;
}

/** Creates the executor of this process. Its id is in the records of the runs that it executes. */
export function createExecutor(store: RunStore, options: ExecutorOptions): Executor {
  const { lease = DEFAULT_LEASE, onError, log } = options;
  requireNumber('lease', lease, MIN_LEASE);
  let executorId: string | undefined;
  // Not before the first run: Cloudflare Workers refuse random values outside of a request.
  const ownId = () => (executorId ??= randomId());
  /** The records that are being written. */
  const writing = new Set<Observable<never>>();
  const newLease = () => ({ id: ownId(), until: asyncScheduler.now() + lease });

  /** Does the last write of a record. Only a shutdown waits for it. If it fails, the lease expires. */
  const finish = (work: Observable<never>): void => {
    work.subscribe({ error: (thrown: unknown) => thrown instanceof RunTakenError || onError(thrown) });
  };
  /** Another process may go on: one that shows the run learns it from the log. */
  const release = (record: HeldRecord): void => {
    const { id, attempt } = record;
    const told = defer(() => (log?.isShared ? log.append(id, attempt, [leftEvent]) : EMPTY));
    const work = new AsyncSubject<never>();
    writing.add(work);
    concat(record.write({ executor: undefined }), told)
      .pipe(finalize(() => writing.delete(work)))
      .subscribe(work);
    finish(work);
  };
  const recording = { ...options, lease, newLease, finish, release };
  return {
    lease,
    released: defer(() => onErrorResumeNext(...writing)),
    locate({ executor }) {
      if (!executor || executor.until <= asyncScheduler.now()) return 'nowhere';
      return executor.id === ownId() ? 'here' : 'elsewhere';
    },
    execute: (plan) =>
      defer(() => {
        const { stored, begin = EMPTY, undo = EMPTY } = plan;
        const attempt = (stored?.record.attempt ?? 0) + 1;
        const times = { updated: asyncScheduler.now(), executor: newLease() };
        const taken: RunRecord = { ...plan.record, state: plan.state ?? 'running', attempt, ...times };
        const record = new HeldRecord(store, taken, stored?.version ?? 0, writing);
        /** What is still to be done with the record, if the run does not start: the request failed, or was too late. */
        let cleanUp = () => finish(stored ? record.restore(stored.record) : record.delete());
        const afterWrite = defer(() => {
          cleanUp = () => release(record);
          return EMPTY;
        });
        /** A request that was rejected has begun nothing. */
        const undoBegin = (thrown: unknown) =>
          concat(
            thrown instanceof RequestError ? EMPTY : undo,
            record.delete(),
            throwError(() => thrown),
          );
        return concat(
          record.write({}),
          afterWrite,
          begin.pipe(catchError(undoBegin)),
          defer(() => {
            cleanUp = () => undefined;
            const run: ExecutedRun = (...given) => runRecorded(plan, record, recording, ...given);
            return of(Object.assign(run, { resumed: plan.resumed }));
          }),
        ).pipe(finalize(() => cleanUp()));
      }),
  };
}

interface Recording extends ExecutorOptions {
  readonly lease: number;
  readonly newLease: () => NonNullable<RunRecord['executor']>;
  readonly finish: (work: Observable<never>) => void;
  readonly release: (record: HeldRecord) => void;
}

/** The events of a run, each after the record has what a crash could take back. The end of the run is in it, too. */
function runRecorded(
  plan: RunPlan,
  record: HeldRecord,
  { describe, onError, lease, newLease, finish, release, ...recording }: Recording,
  ...[controls, failure, inbox]: Parameters<ExecutedRun>
): Observable<StreamEvent> {
  const { checkpoints = recording.checkpoints } = plan;
  const { answers = plan.record.answersLeft } = plan.record;
  const patience = checkpoints && inbox ? (recording.patience ?? 0) : 0;
  const live = checkpoints ? new LiveAnswers(plan.resumed, answers, patience > 0) : undefined;
  const written = checkpoints ? new WrittenEvents() : undefined;
  let hasBegun = false;
  let hasEnded = false;
  const write = (event: StreamEvent): Observable<never> | undefined => {
    hasBegun = true;
    inbox?.note(event);
    live?.note(event);
    if (isResult(event)) {
      hasEnded = true;
      return record.write(changeAtEnd(event.result, plan)).pipe(catchError(leftUnsettled));
    }
    const checkpoint = isCheckpoint(event) || isTurn(event) ? event.checkpoint : undefined;
    if (!checkpoint || !live) return undefined;
    const change = { ...progress, checkpoint, ...live.fields(checkpoint) };
    return record.write({ ...change, inner: plan.inner?.(), taken: inbox?.taken, executor: newLease() });
  };
  const fail = (thrown: unknown): Observable<never> => {
    const failed = throwError(() => thrown);
    if (hasEnded || isLeft(thrown)) return failed;
    hasEnded = true;
    const isBegun = hasBegun || failedRunOf(thrown) !== undefined;
    const restored = plan.restores && !isBegun ? plan.stored?.record : undefined;
    const undone = isBegun ? EMPTY : (plan.undo ?? EMPTY);
    const written = concat(undone, record.write(restored ?? changeAtFailure(thrown, describe)));
    const left = (unwritten: unknown) => {
      onError(thrown); // its readers do not see it
      return leftUnsettled(unwritten);
    };
    return concat(written.pipe(catchError(left)), failed);
  };
  const leave = () => {
    if (hasEnded) return;
    if (checkpoints) release(record);
    else finish(record.write(changeAtFailure(new RunAbandonedError(), describe))); // nobody resumes it
  };
  const renewals = interval(lease / 3).pipe(
    exhaustMap(() => {
      // What is taken is written with the checkpoint that has it, if there are checkpoints.
      const change = { executor: newLease(), ...(checkpoints ? {} : { taken: inbox?.taken }) };
      return record.write(change).pipe(catchError(ignoreUnlessTaken));
    }),
  );
  const begin = () => {
    const once = live && onceOnly(plan.record.begun, (begun) => record.write({ begun }));
    const answers$ = patience > 0 && inbox && live?.receive(inbox, (fields) => record.write(fields));
    return plan.events({
      ...controls,
      wrapTurn: wrapBoth(controls.wrapTurn, once),
      ...(written ? { written: written.all } : {}),
      ...(answers$ ? { answers: answers$, patience } : {}),
    });
  };
  return (failure ?? defer(begin)).pipe(
    writeFirst(write, written),
    catchError(fail),
    finalize(leave),
    takeUntil(renewals), // they emit nothing, and fail if another process has taken the run
  );
}

/** The end could not be written: whoever reads the record next settles it. */
const leftUnsettled = (thrown: unknown): Observable<never> =>
  throwError(() => (thrown instanceof RunTakenError ? thrown : new ExecutorLostError()));

/** The store may be unreachable for a while. The lease says how long. */
const ignoreUnlessTaken = (thrown: unknown): Observable<never> =>
  thrown instanceof RunTakenError ? throwError(() => thrown) : EMPTY;
