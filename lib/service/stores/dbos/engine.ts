import { defer, from, type Observable } from 'rxjs';

/** The functions of the class `DBOS` of `@dbos-inc/dbos-sdk` that a worker needs. */
export interface DurableEngine extends WorkflowList {
  setConfig(config: {
    name: string;
    systemDatabaseUrl: string;
    executorID: string;
    applicationVersion: string;
    logLevel: string;
    runAdminServer: boolean;
    /** A pool of `pg`, whose types a user of other stores need not install. */
    systemDatabasePool?: never;
    listenQueues: string[];
  }): void;
  launch(): Promise<void>;
  shutdown(options?: { workflowCompletionTimeoutMS: number }): Promise<void>;
  registerQueue(name: string, options: { workerConcurrency: number; minPollingIntervalMs: number }): Promise<unknown>;
  registerWorkflow(
    work: (run: string, context: unknown) => Promise<void>,
    options: { name: string; maxRecoveryAttempts: number },
  ): unknown;
  cancelWorkflows(ids: string[]): Promise<unknown>;
  resumeWorkflows(ids: string[], options: { queueName: string }): Promise<unknown>;
  /** For `retention`. Default: DBOS keeps workflows for ever. */
  deleteWorkflows?(ids: string[]): Promise<unknown>;
}

/** The function of `DBOS` and of its client that lists workflows. */
export interface WorkflowList {
  listWorkflows(filter: WorkflowFilter & { readonly loadInput: boolean }): Promise<readonly ListedWorkflow[]>;
}

interface WorkflowFilter {
  status: ('ENQUEUED' | 'PENDING' | 'SUCCESS' | 'ERROR' | 'CANCELLED')[];
  queueName?: string;
  executorId?: string | string[];
  completedBefore?: string;
  limit?: number;
}

/** Lists the workflows of runs, without their content. */
export const listRuns = (engine: WorkflowList, filter: WorkflowFilter): Observable<readonly ListedWorkflow[]> =>
  defer(() =>
    from(engine.listWorkflows({ ...filter, ...{ workflowName: WORKFLOW, loadInput: false, loadOutput: false } })),
  );

/** What is read of a workflow. */
interface ListedWorkflow {
  readonly workflowID: string;
  readonly executorId?: string;
  readonly queueName?: string;
  readonly status?: string;
  readonly applicationVersion?: string;
  readonly createdAt?: number;
}

/**
 * What a front (a process that answers requests, and executes no run) needs: `DBOSClient` of `@dbos-inc/dbos-sdk` has
 * it.
 */
export interface DurableQueue {
  enqueue(
    options: { workflowName: string; queueName: string; workflowID: string; appVersion: string; priority: number },
    ...args: never[] // a client with arguments of any type
  ): Promise<unknown>;
  /** For `deadLetters().retry`. Default: it enqueues nothing. */
  resumeWorkflows?(ids: string[], options: { queueName: string }): Promise<unknown>;
  /** For runs that are stopped before they begin. Default: a worker finds that they have ended. */
  cancelWorkflows?(ids: string[]): Promise<unknown>;
}

/** The name of the DBOS workflow. Each run is one execution of it. */
export const WORKFLOW = 'rivulet.run';

/** How workers and fronts find each other. */
export interface DurableNames {
  /** The queue of DBOS. Default: `rivulet`. */
  readonly queue?: string | undefined;
  /**
   * The application version of DBOS: a worker executes only the runs that were enqueued with its version. If you change
   * it, keep the workers of the old version running until their runs have ended. Default: `1`.
   */
  readonly version?: string | undefined;
}

export const DEFAULT_QUEUE = 'rivulet';
export const DEFAULT_VERSION = '1';
