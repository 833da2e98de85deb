/** The functions of the class `DBOS` of `@dbos-inc/dbos-sdk` that a worker needs. */
export interface DurableEngine {
  setConfig(config: EngineConfig): void;
  launch(): Promise<void>;
  shutdown(): Promise<void>;
  registerQueue(name: string, options: { workerConcurrency: number; minPollingIntervalMs: number }): Promise<unknown>;
  registerWorkflow(
    work: (run: string, context: unknown) => Promise<void>,
    options: { name: string; maxRecoveryAttempts: number },
  ): unknown;
  listWorkflows(filter: {
    workflowName: string;
    status: 'PENDING';
    executorId?: string | string[];
    loadInput: boolean;
    loadOutput: boolean;
  }): Promise<readonly { readonly workflowID: string; readonly executorId?: string }[]>;
  resumeWorkflows(ids: string[], options: { queueName: string }): Promise<unknown>;
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
}

/**
 * What a front (a process that answers requests, and executes no run) needs: `DBOSClient` of `@dbos-inc/dbos-sdk` has
 * it.
 */
export interface DurableQueue {
  enqueue(
    options: { workflowName: string; queueName: string; workflowID: string; appVersion: string },
    ...args: never[] // a client with arguments of any type
  ): Promise<unknown>;
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
