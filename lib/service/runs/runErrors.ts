import { RivuletError } from '../../core/errors.js';

/** A shared run was ended before its result: nobody subscribed to it during its grace time, or it was unsubscribed. */
export class RunAbandonedError extends RivuletError {
  override readonly name = 'RunAbandonedError';
  readonly code = 'run_abandoned';
  override readonly isPublic = true;

  constructor() {
    super('The run was ended before its result. Start another run, or raise `grace`, the time without subscribers.');
  }
}

/** The process that executed a run has ended. The page comes back, and the run is resumed. */
export class ExecutorLostError extends RivuletError {
  override readonly name = 'ExecutorLostError';
  readonly code = 'run_abandoned';
  override readonly retryable = true;
  override readonly isPublic = true;

  constructor() {
    super('The process that executed the run has ended. Join the run again.');
  }
}
