import { concat, concatMap, defer, EMPTY, exhaustMap, finalize, from, ignoreElements, interval, map } from 'rxjs';
import { merge, NEVER, of, retry, Subject, takeUntil, tap, timer, type Observable } from 'rxjs';
import type { HandledAgent } from '../../handledAgent.js';
import { Kernel } from '../../kernel.js';
import { executeStored } from './executeStored.js';
import type { OwnerLimitOptions } from '../../ownerLimits.js';
import type { ServiceOptions } from '../../serviceOptions.js';
import type { RunLog } from '../../ports/runLog.js';
import type { RunRecord, RunStore } from '../../ports/runStore.js';
import { randomId } from '../../../transport/randomId.js';
import { createDoor } from './workerDoor.js';
import { DEFAULT_QUEUE, DEFAULT_VERSION, WORKFLOW, type DurableEngine, type DurableNames } from './engine.js';
import { readHealth, type DurableHealth } from './health.js';
import { removeEnded, resumeAbandoned, retryParked } from './upkeep.js';
import { holdWorkerLock, type LockClient, type WorkerLock } from './workerLock.js';
import { requireNumber } from '../../../core/options.js';

/** Options of `durableWorker`. */
export interface DurableWorkerOptions
  extends DurableNames, Pick<ServiceOptions, 'browser' | 'name' | 'observe' | 'onError'> {
  /** The class `DBOS` of `@dbos-inc/dbos-sdk`. A process has one worker. */
  readonly dbos: DurableEngine;
  /** The URL of the PostgreSQL database in which DBOS keeps its workflows. */
  readonly databaseUrl: string;
  /**
   * Returns a client of `pg` for that database that is not connected yet. It holds the lock by which others see that
   * this worker lives, so it must not go through a pooler.
   */
  readonly connect: () => LockClient;
  /** The store of the fronts. */
  readonly store: RunStore;
  /** The log of the fronts: one that the processes share. */
  readonly log: RunLog;
  /** The `limits.budget` of the fronts: what the runs of an owner use counts in all processes. Default: none. */
  readonly budget?: OwnerLimitOptions['budget'];
  /** How many runs this worker executes at a time. Default: 50. */
  readonly concurrency?: number | undefined;
  /**
   * The `Pool` of `pg` that the store and the log use, for DBOS too: 4 connections are enough for 100 runs at once, and
   * DBOS holds one of them. The worker needs two more, for its lock and for notifications. Default: DBOS has a pool of
   * its own, with 10.
   */
  readonly pool?: Pick<LockClient, 'connect' | 'query'> | undefined;
  /** How often this worker looks for runs of workers that have ended, in milliseconds. Default: 1000. */
  readonly recoveryInterval?: number | undefined;
  /** How often this worker looks for new runs, in milliseconds. Default: 100. */
  readonly pollInterval?: number | undefined;
  /**
   * How long DBOS keeps a workflow after its end, in milliseconds. That of a run that was set aside stays. `Infinity`:
   * for ever. Default: 24 hours.
   */
  readonly retention?: number | undefined;
  /** How long the log keeps a run after its end, in milliseconds. Default: 3600000. */
  readonly keep?: number | undefined;
}

/** A process that executes runs. */
export interface DurableWorker {
  /** Its executor id in DBOS. */
  readonly id: string;
  /**
   * Executes runs while it is subscribed, after it has emitted once. It fails if the worker has lost its lock or its
   * database: end the process then, since other workers execute its runs.
   */
  readonly run: Observable<'ready'>;
  /** How the runs of the queue are, and how many slots of this worker are used. */
  health(): Observable<DurableHealth & { readonly slots: { readonly used: number; readonly all: number } }>;
  /** Leaves the runs to other workers, for `SIGTERM`. It completes when this is done. */
  shutdown(): Observable<never>;
  /**
   * Takes no run any more, and completes when those of this worker have ended: a roll-out that repeats no request.
   * What has not ended after `timeLimit` milliseconds (default: 1 hour) is left to other workers.
   */
  drain(timeLimit?: number): Observable<never>;
}

/** How long `drain` waits for the runs, in milliseconds. */
const DRAIN_TIME = 3_600_000;

/** A worker that looks less often, in milliseconds, has none of these runs. */
const MAX_INTERVAL = 86_400_000;

/** How often parked runs are retried, in intervals of the recovery. */
const PARKED_INTERVALS = 10;

/** The longest delay before an execution that could not be completed is tried again, in milliseconds. */
const MAX_DELAY = 30_000;

/**
 * Executes the runs that `durableAgent` has enqueued, as workflows of DBOS.
 *
 * <span class="informal">Start as many of them as you need: a run goes on when its worker dies.</span>
 *
 * A workflow resumes its run from the checkpoint in its record, as a service with `checkpoints` does: no response with
 * a call and no result that is stored is asked for again. The turn that was interrupted is voided by `retract`, and
 * shown again. A call that had begun is executed again with the same `idempotencyKey`, unless its tool is `atMostOnce`:
 * then it is answered with `outcome_unknown`.
 *
 * A worker has an executor id of its own, and holds a session lock of PostgreSQL under this id. When the lock is free,
 * any worker resumes the workflows of the executor.
 *
 * ```ts
 * const connect = () => new pg.Client(databaseUrl);
 * const worker = durableWorker(agent, { dbos: DBOS, databaseUrl, connect, store, log });
 * worker.run.subscribe({ error: () => process.exit(1) });
 * process.once('SIGTERM', () => worker.shutdown().subscribe({ complete: () => process.exit() }));
 * ```
 *
 * @param agent The agent that `createAgent` returns.
 * @param options `dbos`, `databaseUrl`, `connect`, `store`, `log`; `queue` (default: `rivulet`), `version` (default:
 * `1`), `concurrency` (default: 50), `pool` (default: one of DBOS), and in milliseconds `recoveryInterval` (default:
 * 1000), `pollInterval` (default: 100), `retention` (default: 24 hours) and `keep` (default: 3600000); `budget`,
 * `browser` (what the pages of the fronts receive), `name`, `observe`, `onError`.
 */
export function durableWorker<C>(agent: HandledAgent<C>, options: DurableWorkerOptions): DurableWorker {
  const { dbos, store, log, queue = DEFAULT_QUEUE, version = DEFAULT_VERSION, keep = 3_600_000 } = options;
  const { recoveryInterval = 1000, concurrency = 50, retention = 86_400_000 } = options;
  requireNumber('recoveryInterval', recoveryInterval, 1, MAX_INTERVAL);
  requireNumber('retention', retention, 1);
  const id = `rivulet-${randomId()}`;
  const door = createDoor();
  const left = new Subject<void>();
  const parkedHere = new Set<string>();
  /** Emits when DBOS is to be stopped, which ends what uses it. */
  const leaving = new Subject<void>();
  let isLeaving = false;
  // A front has accepted the run, so the worker only counts what it uses.
  const budget = options.budget && { ...options.budget, tokens: Infinity, cost: Infinity };
  const limits = { maxRunsPerOwner: Infinity, maxOwnerBytes: Infinity, budget };
  const { browser, name, observe, onError } = options;
  const kernel = new Kernel<C>({
    ...{ agent, store, log, keep, limits, browser, name, observe, onError },
    checkpoints: true,
    grace: Infinity,
  });

  const execution = executeStored(kernel);

  /** The function of the workflow. It settles only if the run has ended: DBOS would not resume it otherwise. */
  const execute = (run: string, context: unknown): Promise<void> =>
    new Promise((resolve, reject) => {
      if (isLeaving) return;
      const delay = (_: unknown, count: number) => (isLeaving ? NEVER : timer(Math.min(500 * 2 ** count, MAX_DELAY)));
      execution(run, context as C, door)
        .pipe(
          tap(() => parkedHere.add(run)),
          // Its workflow can be resumed later, with its context.
          concatMap(() => dbos.cancelWorkflows([run])),
          retry({ delay }),
        )
        .subscribe({ error: reject, complete: resolve });
    });
  const upkept = { ...options, queue, version };
  const start = startEngine(upkept, id, execute);
  const work = (lock: WorkerLock) =>
    merge(
      of('ready' as const),
      interval(recoveryInterval).pipe(exhaustMap(() => resumeAbandoned(upkept, lock, id))),
      retryParked(upkept, parkedHere, PARKED_INTERVALS * recoveryInterval),
      removeEnded(upkept, lock, retention),
    ).pipe(takeUntil(leaving));
  const run = holdWorkerLock(options.connect, id, (lock) => concat(lock.inTurn('launch', start), work(lock)));
  const leave = () => {
    isLeaving = true;
    return kernel.shutdown('abandon');
  };
  const stop = (workflowCompletionTimeoutMS: number) =>
    defer(() => {
      leaving.next();
      return from(dbos.shutdown({ workflowCompletionTimeoutMS }));
    }).pipe(ignoreElements());
  const release = EMPTY.pipe(finalize(() => left.next()));
  return {
    id,
    run: run.pipe(takeUntil(left)),
    health: () =>
      readHealth(dbos, store, queue).pipe(
        map((health) => ({ ...health, slots: { used: door.inside(), all: concurrency } })),
      ),
    shutdown: () => concat(defer(leave), stop(0), release),
    drain: (timeLimit = DRAIN_TIME) => concat(stop(timeLimit), defer(leave), release),
  };
}

/** Starts DBOS, which dispatches the runs of the queue. */
const startEngine = (
  options: DurableWorkerOptions & NonNullable<RunRecord['durable']>,
  executorID: string,
  execute: (run: string, context: unknown) => Promise<void>,
): Observable<never> => {
  const { dbos, pool, queue, version, concurrency = 50, pollInterval = 100 } = options;
  requireNumber('concurrency', concurrency, 1);
  requireNumber('pollInterval', pollInterval, 1, MAX_INTERVAL);
  return defer(() => {
    dbos.setConfig({
      name: 'rivulet',
      systemDatabaseUrl: options.databaseUrl,
      executorID,
      applicationVersion: version,
      logLevel: 'error',
      runAdminServer: false,
      ...(pool ? { systemDatabasePool: pool as never } : {}),
      listenQueues: [queue],
    });
    dbos.registerWorkflow(execute, { name: WORKFLOW, maxRecoveryAttempts: 1_000_000 });
    return from(dbos.launch());
  }).pipe(
    concatMap(() => dbos.registerQueue(queue, { workerConcurrency: concurrency, minPollingIntervalMs: pollInterval })),
    ignoreElements(),
  );
};
