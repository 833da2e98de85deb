import { concat, defer, EMPTY, exhaustMap, from, ignoreElements, interval, merge, throwError } from 'rxjs';
import { Observable, of, retry, Subject, takeUntil, tap, timer } from 'rxjs';
import type { StreamEvent } from '../../../core/event.js';
import type { HandledAgent } from '../../handledAgent.js';
import { Kernel } from '../../kernel.js';
import { executeStored } from '../../runs/openRun.js';
import type { ServiceOptions } from '../../serviceOptions.js';
import { recordOf } from '../../runs/handOver.js';
import type { RunLog } from '../../ports/runLog.js';
import type { RunStore } from '../../ports/runStore.js';
import { randomId } from '../../../transport/randomId.js';
import { durableTurns } from './durableTurns.js';
import { DEFAULT_QUEUE, DEFAULT_VERSION, WORKFLOW } from './engine.js';
import type { DurableEngine, DurableNames } from './engine.js';
import { resumeAbandoned } from './resumeAbandoned.js';
import { RunSteps } from './runSteps.js';
import { holdWorkerLock } from './workerLock.js';
import type { LockClient } from './workerLock.js';
import { requireNumber } from '../../../core/options.js';

/** Options of `durableWorker`. */
export interface DurableWorkerOptions extends DurableNames, Pick<ServiceOptions, 'browser' | 'onError' | 'onResult'> {
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
  /** How many runs this worker executes at a time. Default: 50. */
  readonly concurrency?: number | undefined;
  /**
   * How many connections to PostgreSQL DBOS may open in this process. Default: 10. The worker needs two more, for its
   * lock and for notifications, and those of the pool of the store and the log.
   */
  readonly dbosConnections?: number | undefined;
  /** How often this worker looks for runs of workers that have ended, in milliseconds. Default: 1000. */
  readonly recoveryInterval?: number | undefined;
  /** How often this worker looks for new runs, in milliseconds. Default: 100. */
  readonly pollInterval?: number | undefined;
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
  /** Leaves the runs to other workers, for `SIGTERM`. It completes when this is done. */
  shutdown(): Observable<never>;
}

/** How often an execution is tried that has not begun. */
const START_RETRIES = 5;

/**
 * Executes the runs that `durableAgent` has enqueued, as workflows of DBOS.
 *
 * <span class="informal">Start as many of them as you need: a run goes on when its worker dies.</span>
 *
 * Each model request and each tool call is a step. A stored step is not executed again; the turn that was interrupted
 * is voided by `retract`, and shown again. A call that had begun is executed again with the same `idempotencyKey`,
 * unless its tool is `atMostOnce`: then it is answered with `outcome_unknown`.
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
 * @param agent The agent that `createAgent` returns. It must ask for the same requests and calls when it is executed
 * again: `prepareTurn` may not depend on the time or on chance.
 * @param options `dbos`, `databaseUrl`, `connect`, `store`, `log`; `queue` (default: `rivulet`), `version` (default:
 * `1`), `concurrency` (default: 50), `dbosConnections` (default: 10), and in milliseconds `recoveryInterval` (default:
 * 1000), `pollInterval` (default: 100) and `keep` (default: 3600000); `browser` (what the pages of the fronts receive),
 * `onError`, `onResult`.
 */
export function durableWorker<C>(agent: HandledAgent<C>, options: DurableWorkerOptions): DurableWorker {
  const { dbos, databaseUrl, store, log, queue = DEFAULT_QUEUE, version = DEFAULT_VERSION } = options;
  const {
    concurrency = 50,
    dbosConnections = 10,
    recoveryInterval = 1000,
    pollInterval = 100,
    keep = 3_600_000,
  } = options;
  requireNumber('concurrency', concurrency, 1);
  requireNumber('dbosConnections', dbosConnections, 1);
  requireNumber('recoveryInterval', recoveryInterval, 1);
  requireNumber('pollInterval', pollInterval, 1);
  const id = `rivulet-${randomId()}`;
  const executing = new Map<string, RunSteps>();
  const lost = new Subject<never>();
  const left = new Subject<void>();
  let isLeaving = false;

  /** One execution of a run, with its steps. When it is unsubscribed from outside, another process has the run. */
  const durably = <O extends DurableOptions>(given: O, start: (options: O) => Observable<StreamEvent>) =>
    new Observable<StreamEvent>((out) => {
      const run = given.runId ?? '';
      const steps = executing.get(run);
      if (!steps) throw new Error(`The run ${run} is not executed here.`);
      let hasEnded = false;
      const stop = given.stop && steps.whenLive(given.stop);
      const cancel = given.cancel && steps.whenLive(given.cancel);
      const prompts = given.prompts && steps.storedPrompts(from(given.prompts));
      const wrapTurn = durableTurns(steps, given.wrapTurn);
      const subscription = start({ ...given, stop, cancel, prompts, wrapTurn }).subscribe({
        next: (event) => out.next(event),
        error: (thrown: unknown) => {
          hasEnded = true;
          out.error(thrown);
        },
        complete: () => {
          hasEnded = true;
          out.complete();
        },
      });
      return () => {
        if (!hasEnded) steps.abandon();
        subscription.unsubscribe();
      };
    });
  const durable: HandledAgent<C> = {
    durable: {},
    stream: (input, given) => durably(given, (own) => agent.stream(input, own)),
    resume: (checkpoint, given) => durably(given, (own) => agent.resume(checkpoint, own)),
  };
  const { browser, onError, onResult } = options;
  const limits = { maxRunsPerOwner: Infinity };
  const kernel = new Kernel<C>({
    ...{ agent: durable, store, log, keep, limits, browser, onError, onResult },
    grace: Infinity,
  });

  /** The function of the workflow. It settles only if the run has ended: DBOS would not resume it otherwise. */
  const execute = (run: string, context: unknown): Promise<void> =>
    new Promise((resolve, reject) => {
      if (isLeaving) return;
      const steps = new RunSteps(dbos, (thrown) => {
        steps.abandon();
        if (isConflict(thrown)) reject(thrown);
        else lost.error(asError(thrown));
      });
      executing.set(run, steps);
      const isNew = recordOf(store, run).pipe(
        tap(({ record }) => record.attempt === 0 && steps.replayed()),
        ignoreElements(),
      );
      concat(isNew, executeStored(kernel, run, context as C))
        .pipe(
          retry({
            count: START_RETRIES,
            delay: (thrown: unknown) => (steps.hasBegun || isLeaving ? throwError(() => thrown) : timer(200)),
          }),
        )
        .subscribe({
          error: (thrown: unknown) => {
            if (executing.get(run) === steps) executing.delete(run);
            if (!isLeaving) onError?.(thrown);
          },
          complete: () => {
            executing.delete(run);
            resolve();
          },
        });
    });

  const launch = defer(() => {
    dbos.setConfig({
      name: 'rivulet',
      systemDatabaseUrl: databaseUrl,
      executorID: id,
      applicationVersion: version,
      logLevel: 'error',
      runAdminServer: false,
      systemDatabasePoolSize: dbosConnections,
    });
    dbos.registerWorkflow(execute, { name: WORKFLOW, maxRecoveryAttempts: 1_000_000 });
    return from(dbos.launch());
  });
  const listen = defer(() =>
    from(dbos.registerQueue(queue, { workerConcurrency: concurrency, minPollingIntervalMs: pollInterval })),
  );
  const run = holdWorkerLock(options.connect, id, (lock) =>
    merge(
      lost,
      concat(
        launch.pipe(ignoreElements()),
        listen.pipe(ignoreElements()),
        of('ready' as const),
        interval(recoveryInterval).pipe(
          exhaustMap(() => resumeAbandoned(dbos, lock, id, queue)),
          ignoreElements(),
        ),
      ),
    ),
  ).pipe(takeUntil(left));
  return {
    id,
    run,
    shutdown: () =>
      defer(() => {
        isLeaving = true;
        return concat(
          kernel.shutdown('abandon'),
          defer(() => from(dbos.shutdown())).pipe(ignoreElements()),
          defer(() => {
            left.next();
            return EMPTY;
          }),
        );
      }),
  };
}

type DurableOptions = Pick<Parameters<HandledAgent['resume']>[1], 'runId' | 'stop' | 'cancel' | 'prompts' | 'wrapTurn'>;

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/** Whether DBOS says that another process executes the workflow. */
const isConflict = (thrown: unknown): thrown is Error =>
  thrown instanceof Error && thrown.constructor.name === 'DBOSWorkflowConflictError';
