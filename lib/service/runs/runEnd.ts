import { asyncScheduler, catchError, concat, defer, EMPTY, map, retry, throwError, timer, type Observable } from 'rxjs';
import { RivuletError } from '../../core/errors.js';
import type { RunResult } from '../../core/event.js';
import { failedRunOf, messagesOfFailed } from '../../core/failedRun.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Kernel } from '../kernel.js';
import { isEnded } from '../ports/isEnded.js';
import type { RunRecord, StoredRun } from '../ports/runStore.js';
import type { ExecutorOptions, RunPlan } from './executeRun.js';
import type { HeldRecord } from './heldRecord.js';
import { ExecutorLostError, isLeft, RunAbandonedError, RunNotFoundError, RunTakenError } from './runErrors.js';

/** What a run adds to its record at its end. */
export interface EndOfRun {
  /** The messages of the inner runs so far. Default: none. */
  readonly inner?: (() => RunRecord['inner']) | undefined;
  /** Returns more fields for the record at the end of the run. Default: none. */
  readonly ended?: ((result: RunResult) => Partial<RunRecord>) | undefined;
}

/** How long to wait before the end is written again, in milliseconds. */
const END_INTERVAL = 2000;

/**
 * The end of a run in its record: its result, its failure, or that it was left. A store that refuses it is asked again
 * while the lease is valid. Without an end, whoever reads the record next settles it.
 */
export class RunEnd {
  /** Whether the run has ended: its lease is not renewed any more. */
  isKnown = false;

  constructor(
    private readonly plan: RunPlan,
    private readonly record: HeldRecord,
    private readonly options: Pick<ExecutorOptions, 'describe' | 'onError'>,
  ) {}

  /** Writes a result, before its reader has it. */
  writeResult(result: RunResult): Observable<never> {
    return this.write(changeAtEnd(result, this.plan)).pipe(catchError(unsettled));
  }

  /** Writes why the run has failed, and fails. A run that has not begun leaves the record of before, if it has one. */
  writeFailure(thrown: unknown, hasBegun: boolean): Observable<never> {
    const failed = throwError(() => thrown);
    if (this.isKnown || isLeft(thrown)) return failed;
    const { plan } = this;
    const isBegun = hasBegun || failedRunOf(thrown) !== undefined;
    const restored = plan.restores && !isBegun ? plan.stored?.record : undefined;
    const undone = isBegun ? EMPTY : (plan.undo ?? EMPTY);
    const written = concat(undone, this.write(restored ?? changeAtFailure(thrown, this.options.describe)));
    const left = (unwritten: unknown) => {
      this.options.onError(thrown); // its readers do not see it
      return unsettled(unwritten);
    };
    return concat(written.pipe(catchError(left)), failed);
  }

  /** Writes that the run was left, which nobody resumes. */
  writeLeft(): Observable<never> {
    return this.write(changeAtFailure(new RunAbandonedError(), this.options.describe));
  }

  private write(end: Partial<RunRecord>): Observable<never> {
    this.isKnown = true;
    const { record } = this;
    const again = (thrown: unknown) => {
      const isFinal = thrown instanceof RivuletError || isEnded(thrown);
      return isFinal || asyncScheduler.now() + END_INTERVAL >= record.until
        ? throwError(() => thrown)
        : timer(END_INTERVAL);
    };
    return record.write(end).pipe(retry({ delay: again }));
  }
}

const unsettled = (thrown: unknown): Observable<never> =>
  throwError(() => (thrown instanceof RunTakenError ? thrown : new ExecutorLostError()));

/** Ends the record of a run that nobody executes, and nobody can resume. Emits the record. */
export const settleLost = <C>(kernel: Kernel<C>, { record, version }: StoredRun): Observable<StoredRun> =>
  defer(() => {
    const lost = { ...record, ...changeAtFailure(new RunNotFoundError(), (thrown) => kernel.describe(thrown)) };
    return kernel.store.put(lost, version).pipe(
      map((isDone) => {
        if (!isDone) throw new RunTakenError();
        return { record: lost, version: version + 1 };
      }),
    );
  });

/** The fields that a checkpoint replaces. */
export const progress = { answers: undefined, history: undefined, failures: undefined, reason: undefined };

/** A run that has ended needs nothing that one in progress needs. */
const atEnd = () => ({
  ...progress,
  answersLeft: undefined,
  begun: undefined,
  taken: undefined,
  executor: undefined,
  updated: asyncScheduler.now(),
});

/** The change of the record at the end of a run. */
export const changeAtEnd = ({ checkpoint, ...result }: RunResult, plan: EndOfRun): Partial<RunRecord> => ({
  state: checkpoint ? 'waiting' : 'ended',
  ...atEnd(),
  checkpoint,
  result,
  ...(plan.inner ? { inner: plan.inner() } : {}),
  ...plan.ended?.({ checkpoint, ...result } as RunResult),
});

const changeAtFailure = (thrown: unknown, describe: (thrown: unknown) => JsonObject): Partial<RunRecord> => ({
  state: 'ended',
  ...atEnd(),
  checkpoint: undefined,
  failure: { messages: messagesOfFailed(thrown) ?? [], error: describe(thrown) },
});
