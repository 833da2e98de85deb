import { asyncScheduler } from 'rxjs';
import type { RunResult } from '../../core/event.js';
import { messagesOfFailed } from '../../core/failedRun.js';
import type { JsonObject } from '../../core/json/json.js';
import type { RunRecord } from '../ports/runStore.js';

/** What a run adds to its record at its end. */
export interface EndOfRun {
  /** The messages of the inner runs so far. Default: none. */
  readonly inner?: (() => RunRecord['inner']) | undefined;
  /** Returns more fields for the record at the end of the run. Default: none. */
  readonly ended?: ((result: RunResult) => Partial<RunRecord>) | undefined;
}

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

export const changeAtFailure = (thrown: unknown, describe: (thrown: unknown) => JsonObject): Partial<RunRecord> => ({
  state: 'ended',
  ...atEnd(),
  checkpoint: undefined,
  failure: { messages: messagesOfFailed(thrown) ?? [], error: describe(thrown) },
});
