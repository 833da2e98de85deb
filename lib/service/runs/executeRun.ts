import { asyncScheduler, catchError, concat, defer, EMPTY, exhaustMap, finalize, interval, of, takeUntil } from 'rxjs';
import { tap, throwError, type Observable } from 'rxjs';
import type { Checkpoint } from '../../core/checkpoint.js';
import type { StreamEvent } from '../../core/event.js';
import { isCheckpoint, isResult, isTurn } from '../../core/eventGuards.js';
import type { JsonObject } from '../../core/json/json.js';
import { MAX_TIMER_DELAY, requireNumber } from '../../core/options.js';
import { randomId } from '../../transport/randomId.js';
import type { RunControls } from './createRuns.js';
import { estimateSize } from './estimateSize.js';
import { HeldRecord, Writes } from './heldRecord.js';
import { askAgain, progress, RunEnd, type EndOfRun } from './runEnd.js';
import { LiveAnswers } from './liveAnswers.js';
import { onceOnly } from './onceOnly.js';
import { leftEvent } from './leftEvent.js';
import type { PromptInbox } from './promptInbox.js';
import { wrapBoth } from './wrapInnerRuns.js';
import { RequestError } from '../http/requestError.js';
import type { RunAudience } from '../publicEvents.js';
import { ExecutorLostError, RunTakenError } from './runErrors.js';
import { isEnded } from '../ports/isEnded.js';
import type { RunLog } from '../ports/runLog.js';
import type { RunRecord, RunStore } from '../ports/runStore.js';
import { DEFAULT_LEASE } from '../ports/guardPorts.js';
import { writeFirst, WrittenEvents } from './writeFirst.js';

/** In milliseconds. A garbage collection, or the way to the store, takes a good part of less. */
const MIN_LEASE = 1000;

/** A run that this process is to execute. */
export interface RunPlan extends RunAudience, EndOfRun {
  readonly record: Omit<RunRecord, 'state' | 'updated' | 'attempt' | 'executor'>;
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
}

/** About how many bytes a run holds at its start. */
export const sizeOfPlan = ({ record, bytes = 0 }: RunPlan): number => estimateSize(record) + bytes;

/** The events of a run, for its notifiers. With `failure`, the run begins nothing, and its record says so. */
export interface ExecutedRun {
  (controls: RunControls, failure?: Observable<never>, inbox?: PromptInbox): Observable<StreamEvent>;
  /** The checkpoint from which it is resumed. Default: it starts. */
  readonly resumed?: Checkpoint | undefined;
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

/** Executes runs, and writes their records, which have its id. */
export class Executor {
  /** How long a lease is valid, in milliseconds. */
  readonly lease: number;
  readonly writes = new Writes();
  private ownId: string | undefined;

  constructor(
    private readonly store: RunStore,
    private readonly options: ExecutorOptions,
  ) {
    const { lease = DEFAULT_LEASE } = options;
    requireNumber('lease', lease, MIN_LEASE, MAX_TIMER_DELAY);
    this.lease = lease;
  }

  /** Returns where the run is executed, according to its record. */
  locate({ executor }: RunRecord): 'here' | 'elsewhere' | 'nowhere' {
    if (!executor || executor.until <= asyncScheduler.now()) return 'nowhere';
    return executor.id === this.ownId ? 'here' : 'elsewhere';
  }

  /**
   * Takes a run over: its record says that this process executes it. Emits the events of the run once this is written.
   * It fails with a RunTakenError if the store has another version of the record.
   */
  execute(plan: RunPlan): Observable<ExecutedRun> {
    return defer(() => {
      const { stored, begin = EMPTY, undo = EMPTY } = plan;
      const attempt = (stored?.record.attempt ?? 0) + 1;
      const times = { updated: asyncScheduler.now(), executor: this.newLease() };
      const taken: RunRecord = { ...plan.record, state: plan.state ?? 'running', attempt, ...times };
      const record = new HeldRecord(this.store, taken, stored?.version ?? 0, this.writes);
      /** What is still to be done with the record, if the run does not start: the request failed, or was too late. */
      let cleanUp = () => this.finish(stored ? record.restore(stored.record) : record.delete());
      const afterWrite = defer(() => {
        cleanUp = () => this.release(record);
        return EMPTY;
      });
      /** A request that was rejected has begun nothing. What another process has begun again is not undone. */
      const undoBegin = (thrown: unknown) =>
        concat(
          thrown instanceof RequestError ? EMPTY : concat(record.write({ executor: this.newLease() }), undo),
          record.delete(),
          throwError(() => thrown),
        );
      return concat(
        record.write({}),
        afterWrite,
        begin.pipe(catchError(undoBegin)),
        defer(() => {
          cleanUp = () => undefined;
          const run: ExecutedRun = (...given) => this.recorded(plan, record, ...given);
          return of(Object.assign(run, { resumed: plan.resumed }));
        }),
      ).pipe(finalize(() => cleanUp()));
    });
  }

  /** The events of a run, each after the record has what a crash could take back. The end of the run is in it, too. */
  private recorded(
    plan: RunPlan,
    record: HeldRecord,
    ...[controls, failure, inbox]: Parameters<ExecutedRun>
  ): Observable<StreamEvent> {
    const end = new RunEnd(plan, record, this.options);
    const { checkpoints = this.options.checkpoints } = plan;
    const { answers = plan.record.answersLeft } = plan.record;
    const patience = checkpoints && inbox ? (this.options.patience ?? 0) : 0;
    const live = checkpoints
      ? new LiveAnswers(plan.resumed, answers, patience > 0, () => record.record.state)
      : undefined;
    const written = checkpoints ? new WrittenEvents() : undefined;
    let hasBegun = false;
    const write = (event: StreamEvent): Observable<never> | undefined => {
      hasBegun = true;
      inbox?.note(event);
      live?.note(event);
      if (isResult(event)) return end.writeResult(event.result);
      const checkpoint = isCheckpoint(event) || isTurn(event) ? event.checkpoint : undefined;
      if (!checkpoint || !live) return undefined;
      const change = { ...progress, checkpoint, ...live.fields(checkpoint) };
      const rest = { inner: plan.inner?.(), taken: inbox?.taken };
      const again = askAgain(asyncScheduler.now() + this.lease);
      const written$ = defer(() => record.write({ ...change, ...rest, executor: this.newLease() }));
      return written$.pipe(again, catchError(unlessLate));
    };
    /** A store that was away says nothing of the run: whoever reaches it resumes the run. */
    const unlessLate = (thrown: unknown) => {
      const isLate = isEnded(thrown) || this.locate(record.record) === 'nowhere';
      return throwError(() => (isLate ? new ExecutorLostError() : thrown));
    };
    const leave = () => {
      if (end.isKnown) return;
      if (checkpoints) this.release(record);
      else this.finish(end.writeLeft());
    };
    const renewals = interval(this.lease / 3).pipe(
      exhaustMap(() => {
        if (end.isKnown) return EMPTY;
        // What is taken is written with the checkpoint that has it, if there are checkpoints.
        const change = { executor: this.newLease(), ...(checkpoints ? {} : { taken: inbox?.taken }) };
        return record.write(change).pipe(catchError(ignoreUnlessTaken));
      }),
    );
    const begin = () => {
      const once = live && onceOnly(plan.record.begun, (begun) => record.write({ begun }));
      const answers$ = patience > 0 && inbox && live?.receive(inbox, (fields) => record.write(fields));
      return plan.events({
        ...controls,
        wrapTurn: wrapBoth(controls.wrapTurn, once),
        written: written?.all,
        ...(answers$ ? { answers: answers$, patience } : {}),
      });
    };
    return (failure ?? defer(begin)).pipe(
      tap((event) => {
        if (inbox && isResult(event)) inbox.isWaiting = event.result.checkpoint !== undefined;
      }),
      writeFirst(write, written),
      // Nothing has begun: whoever resumes the run may reach the log.
      catchError((thrown: unknown) =>
        end.writeFailure(failure && checkpoints ? new ExecutorLostError() : thrown, hasBegun),
      ),
      finalize(leave),
      takeUntil(renewals), // they emit nothing, and fail if another process has taken the run
    );
  }

  private newLease() {
    // Not before the first run: Cloudflare Workers refuse random values outside of a request.
    const id = (this.ownId ??= randomId());
    return { id, until: asyncScheduler.now() + this.lease };
  }

  /** Does the last write of a record. Only a shutdown waits for it. If it fails, the lease expires. */
  private finish(work: Observable<never>): void {
    const error = (thrown: unknown) => thrown instanceof RunTakenError || this.options.onError(thrown);
    this.writes.complete(work).subscribe({ error });
  }

  /** Another process may go on: one that shows the run learns it from the log. */
  private release(held: HeldRecord): void {
    const { log } = this.options;
    const { id, attempt } = held.record;
    const told = defer(() => (log?.isShared ? log.append(id, attempt, [leftEvent]) : EMPTY));
    this.finish(concat(held.write({ executor: undefined }), told));
  }
}

/** The store may be unreachable for a while. The lease says how long. */
const ignoreUnlessTaken = (thrown: unknown): Observable<never> =>
  thrown instanceof RunTakenError ? throwError(() => thrown) : EMPTY;
