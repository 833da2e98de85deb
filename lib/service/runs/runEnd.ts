import { asyncScheduler, catchError, concat, defer, EMPTY, retry, throwError, timer, type Observable } from 'rxjs';
import { RivuletError } from '../../core/errors.js';
import type { RunResult } from '../../core/event.js';
import { failedRunOf, messagesOfFailed } from '../../core/failedRun.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import { isEnded } from '../ports/isEnded.js';
import type { RunRecord, RunStore, StoredRun } from '../ports/runStore.js';
import type { HeldRecord } from './heldRecord.js';
import { requireDone } from './changeRecord.js';
import { leftMessages } from './leftMessages.js';
import { ExecutorLostError, hasNoOutcome, RunAbandonedError, RunNotFoundError, RunTakenError } from './runErrors.js';
import { NotBegunError } from './trustedDescription.js';

/** Describes the error of a failed run to its readers. */
type Describe = (thrown: unknown) => JsonObject;

/** What a run adds to its record at its end. */
export interface EndOfRun {
  /** The messages of the inner runs so far. Default: none. */
  readonly inner?: (() => RunRecord['inner']) | undefined;
  /** The record that the store has under this id. Default: none. */
  readonly stored?: StoredRun | undefined;
  /** Undoes `begin` if the run fails before it emits anything: it has no record then, and may begin again. */
  readonly undo?: Observable<never> | undefined;
  /** Whether the stored record is restored if the run fails before it emits anything. Default: false. */
  readonly restores?: boolean | undefined;
  /** Returns more fields for the record at the end of the run. Default: none. */
  readonly ended?: ((result: RunResult) => Partial<RunRecord>) | undefined;
}

/** How long to wait before a refused write is done again, in milliseconds. */
const WRITE_INTERVAL = 2000;

/** Asks a store again, until a time, that refuses a write. */
export const askAgain = (until: number) =>
  retry<never>({
    delay(thrown) {
      const isLate = asyncScheduler.now() + WRITE_INTERVAL >= until;
      if (isLate || thrown instanceof RivuletError || isEnded(thrown)) throw thrown;
      return timer(WRITE_INTERVAL);
    },
  });

/**
 * The end of a run in its record: its result, its failure, or that it was left. A store that refuses it is asked again
 * while the lease is valid. Without an end, whoever reads the record next settles it.
 */
export class RunEnd {
  /** Whether the run has ended: its lease is not renewed any more. */
  isKnown = false;

  constructor(
    private readonly plan: EndOfRun,
    private readonly held: HeldRecord,
    private readonly options: { readonly describe: Describe; readonly onError: (thrown: unknown) => void },
  ) {}

  /** Writes a result, before its reader has it. */
  writeResult(result: RunResult): Observable<never> {
    return this.write(this.held.write(changeAtEnd(result, this.plan)));
  }

  /**
   * Writes why the run has failed, and fails. A run that has not begun leaves the record of before, if it has one. If
   * it resumes another one, that one waits on, and the next answer to it begins a run with the same id.
   */
  writeFailure(thrown: unknown, hasBegun: boolean): Observable<never> {
    const failed = throwError(() => thrown);
    if (this.isKnown || hasNoOutcome(thrown)) return failed;
    const { undo, restores, stored } = this.plan;
    const isBegun = hasBegun || failedRunOf(thrown) !== undefined;
    const { describe, onError } = this.options;
    const before = isBegun ? EMPTY : (undo ?? EMPTY);
    if (undo && !isBegun && !stored) {
      onError(thrown);
      const undone = this.write(concat(before, this.held.delete()));
      return concat(
        undone,
        throwError(() => new NotBegunError(describe(thrown))),
      );
    }
    const restored = restores && !isBegun ? stored?.record : undefined;
    const end = restored ?? changeAtFailure(thrown, describe, this.held.record);
    return concat(this.write(concat(before, this.held.write(end)), thrown), failed);
  }

  /** Writes that the run was left, which nobody resumes. */
  writeLeft(): Observable<never> {
    return this.write(
      this.held.write(changeAtFailure(new RunAbandonedError(), this.options.describe, this.held.record)),
    );
  }

  /** @param failure What the readers do not see if it cannot be written. */
  private write(work: Observable<never>, failure?: unknown): Observable<never> {
    this.isKnown = true;
    const { until = 0 } = this.held.record.executor ?? {};
    return work.pipe(
      askAgain(until),
      catchError((thrown: unknown) => {
        if (failure !== undefined) this.options.onError(failure);
        throw thrown instanceof RunTakenError ? thrown : new ExecutorLostError();
      }),
    );
  }
}

/** Ends the record of a run that nobody executes, and nobody can resume. Emits the record. */
export const settleLost = (
  kernel: { readonly store: RunStore; readonly describe: Describe },
  { record, version }: StoredRun,
): Observable<StoredRun> =>
  defer(() => {
    const lost = { ...record, ...changeAtFailure(new RunNotFoundError(), (thrown) => kernel.describe(thrown), record) };
    return kernel.store.put(lost, version).pipe(requireDone({ record: lost, version: version + 1 }));
  });

/** The fields that a checkpoint replaces. */
export const progress = { answers: undefined, history: undefined, failures: undefined, reason: undefined };

/** A run that has ended needs nothing that one in progress needs. */
const atEnd = () => ({
  ...progress,
  answersLeft: undefined,
  taken: undefined,
  executor: undefined,
  updated: asyncScheduler.now(),
});

/** The change of the record at the end of a run. */
export const changeAtEnd = ({ checkpoint, ...result }: RunResult, plan: EndOfRun): Partial<RunRecord> => ({
  state: checkpoint ? 'waiting' : 'ended',
  ...atEnd(),
  ...(checkpoint ? {} : { begun: undefined }), // the calls of a run that waits have no result yet
  checkpoint,
  result,
  ...(plan.inner ? { inner: plan.inner() } : {}),
  ...plan.ended?.({ checkpoint, ...result } as RunResult),
});

/** A run that was left, or lost, has what its checkpoint has; one whose end is written once more, what it had. */
export const messagesOfLost = ({ checkpoint, answers, answersLeft, failure }: RunRecord): readonly Message[] =>
  checkpoint ? leftMessages(checkpoint, answers ?? answersLeft) : (failure?.messages ?? []);

const changeAtFailure = (thrown: unknown, describe: Describe, record: RunRecord): Partial<RunRecord> => ({
  state: 'ended',
  ...atEnd(),
  begun: undefined,
  checkpoint: undefined,
  failure: {
    messages: messagesOfFailed(thrown) ?? messagesOfLost(record),
    error: describe(thrown),
  },
});
