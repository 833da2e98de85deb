import { RivuletError } from '../../core/errors.js';

abstract class PublicError extends RivuletError {
  override readonly isPublic = true;
}

/** A shared run was ended before its result: nobody subscribed to it during its grace time, or it was unsubscribed. */
export class RunAbandonedError extends PublicError {
  override readonly name = 'RunAbandonedError';
  readonly code = 'run_abandoned';

  constructor() {
    super('The run was ended before its result. Start another run, or raise `grace`, the time without subscribers.');
  }
}

/** The process that executed a run has ended. The page comes back, and the run is resumed. */
export class ExecutorLostError extends PublicError {
  override readonly name = 'ExecutorLostError';
  readonly code = 'run_abandoned';
  override readonly retryable = true;

  constructor() {
    super('The process that executed the run has ended. Join the run again.');
  }
}

/** There is no run with this id: it never existed, or its events were removed. */
export class RunNotFoundError extends PublicError {
  override readonly name = 'RunNotFoundError';
  readonly code = 'run_not_found';

  constructor() {
    super('The run is not known: it ended some time ago, or the service has restarted. Ask again.');
  }
}

/** Another process has taken the run over, since this one was presumed dead. Its writes are rejected. */
export class RunTakenError extends PublicError {
  override readonly name = 'RunTakenError';
  readonly code = 'run_taken';
  override readonly retryable = true;

  constructor() {
    super('Another process executes this run. Join it there.');
  }
}

/** As many messages as are allowed wait for the run. */
export class RunFullError extends PublicError {
  override readonly name = 'RunFullError';
  readonly code = 'run_full';
  override readonly retryable = true;

  constructor() {
    super('Too many messages wait for this run. Send this one again when the run has taken some of them.');
  }
}

/** This process cannot continue the checkpoint of a run, as `reason` says. Another version of its code may. */
export class RunParkedError extends ExecutorLostError {
  constructor(readonly reason: string) {
    super();
  }
}

/** A run was given up: its executions have failed too often. */
export class RunDeadError extends PublicError {
  override readonly name = 'RunDeadError';
  readonly code = 'run_dead';

  constructor() {
    super('The run was given up, since its executions have failed too often. Ask again, or report it to the operator.');
  }
}

/** The record of the run has no end: another process has it, or a page that comes back settles it. */
export const isElsewhere = (thrown: unknown): thrown is Error =>
  thrown instanceof RunTakenError || thrown instanceof ExecutorLostError;

/** The run has been left, here or by another process, before it has failed. */
export const hasNoOutcome = (thrown: unknown): boolean => isElsewhere(thrown) || thrown instanceof RunAbandonedError;
