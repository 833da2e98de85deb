/** The functions of the class `DBOS` of `@dbos-inc/dbos-sdk` that a worker needs. */
export interface DurableEngine extends WorkflowList {
  setConfig(config: EngineConfig): void;
  launch(): Promise<void>;
  shutdown(options?: { workflowCompletionTimeoutMS: number }): Promise<void>;
  registerQueue(name: string, options: { workerConcurrency: number; minPollingIntervalMs: number }): Promise<unknown>;
  registerWorkflow(
    work: (run: string, context: unknown) => Promise<void>,
    options: { name: string; maxRecoveryAttempts: number },
  ): unknown;
  cancelWorkflows(ids: string[]): Promise<unknown>;
  resumeWorkflows(ids: string[], options: { queueName: string }): Promise<unknown>;
}

/** The function of `DBOS` and of its client that lists workflows. */
export interface WorkflowList {
  listWorkflows(filter: {
    workflowName: string;
    status: ('ENQUEUED' | 'PENDING')[];
    queueName: string;
    executorId?: string | string[];
    loadInput: boolean;
    loadOutput: boolean;
  }): Promise<readonly ListedWorkflow[]>;
}

/** What is read of a workflow. */
interface ListedWorkflow {
  readonly workflowID: string;
  readonly executorId?: string;
  readonly queueName?: string;
  readonly status?: string;
  readonly applicationVersion?: string;
  readonly createdAt?: number;
}

/** The settings with which a worker starts DBOS. */
interface EngineConfig {
  readonly name: string;
  readonly systemDatabaseUrl: string;
  readonly executorID: string;
  readonly applicationVersion: string;
  readonly logLevel: string;
  readonly runAdminServer: boolean;
  readonly systemDatabasePoolSize: number;
  /** A pool of `pg`, whose types a user of other stores need not install. */
  readonly systemDatabasePool?: never;
  readonly listenQueues: string[];
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
