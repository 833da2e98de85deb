import {
  asyncScheduler,
  AsyncSubject,
  catchError,
  concat,
  concatMap,
  defer,
  firstValueFrom,
  map,
  merge,
  throwError,
} from 'rxjs';
import { of, retry, tap } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { ConfigurationError, RivuletError } from '../core/errors.js';
import type { JsonObject } from '../core/json/json.js';
import { requireNumber } from '../core/options.js';
import { describeError } from '../transport/publicError.js';
import type { ServerSentEventsOptions } from '../transport/serverSentEvents.js';
import { createRuns } from './runs/createRuns.js';
import { descriptionOf } from './runs/trustedDescription.js';
import { createExecutor } from './runs/executeRun.js';
import { createGate } from './http/gate.js';
import { inTime, readBody } from './http/readBody.js';
import { remoteRun, watchExecutor } from './runs/remoteRun.js';
import { ExecutorLostError, RunAbandonedError } from './runs/runErrors.js';
import { memoryLog } from './stores/memory/memoryLog.js';
import { memoryStore } from './stores/memory/memoryStore.js';
import { createOwnerBytes } from './ownerBytes.js';
import { createOwnerLimits } from './ownerLimits.js';
import { guardLog, guardStore } from './ports/guardPorts.js';
import { RunNotFoundError, RunTakenError } from './ports/runLog.js';
import type { RunMessage } from './ports/runLog.js';
import { elsewhere, lateContext, lateStore, leaving, RequestError } from './http/requestError.js';
import type { ServiceOptions } from './serviceOptions.js';
import { createOwnerData } from './ownerData.js';
import type { ServiceChats } from './chats/chatStore.js';
import { createWorkLocks } from './runs/workLocks.js';
import { createRunAccess } from './runs/runAccess.js';
import { createReports, reportOnce } from './notices.js';
import { publicEvents } from './publicEvents.js';
import type { RunRecord } from './ports/runStore.js';
import { estimateSize } from './runs/estimateSize.js';
import { createSender } from './runs/sendMessage.js';
import type { Service } from './serviceType.js';
import { PromptInbox } from './runs/promptInbox.js';
import type { SharedRun } from './runs/sharedRun.js';

const DEFAULT_HISTORY_BYTES = 4_194_304;

const isOurs = (thrown: unknown): boolean => thrown instanceof RequestError || thrown instanceof RivuletError;

export type { Service } from './serviceType.js';

/** What a service knows of a run of this process. */
interface StartedRun {
  readonly owner: string;
  readonly inbox: PromptInbox;
}

/** How often the work for a request is retried when another process changes its record. */
const WORK_RETRIES = 5;

/**
 * Creates the kernel of a service.
 *
 * @throws ConfigurationError `options` if there is a `context`, but no `owner`.
 */
export function createService<C>(
  options: ServiceOptions<C> & {
    readonly context?: unknown;
    readonly checkpoints?: boolean | undefined;
    /** Whether another engine makes the runs durable: it resumes them. Default: false. */
    readonly isDurable?: boolean;
    readonly describeError?: ServerSentEventsOptions['describeError'];
    readonly chats?: ServiceChats<C> | undefined;
  },
  defaultBodyBytes: number,
): Service<C> {
  const { owner: ownerOf, maxBodyBytes = defaultBodyBytes } = options;
  const onError = reportOnce(options.onError);
  const store = guardStore(options.store ?? memoryStore(), { onError });
  const log = guardLog(options.log ?? memoryLog(), { onError });
  if (options.context !== undefined && ownerOf === undefined)
    throw new ConfigurationError(
      'options',
      'The service has a `context`, but no `owner`: every user could read and continue the runs of any other.',
      'Pass `owner: (context) => context.userId`, or `() => ""` if all users share their runs.',
    );
  const runs = createRuns({ ...options, log });
  const gate = createGate(options);

  const held = createOwnerBytes(options);
  const started = new WeakMap<SharedRun, StartedRun>();
  const describe = (thrown: unknown): JsonObject =>
    descriptionOf(thrown) ?? (options.describeError ?? describeError)(thrown);
  const { maxHistoryBytes = DEFAULT_HISTORY_BYTES, checkpoints = false, isDurable = false } = options;
  requireNumber('maxHistoryBytes', maxHistoryBytes, 0);
  requireNumber('maxBodyBytes', maxBodyBytes, 0);
  const access = createRunAccess(store, ownerOf, onError, maxHistoryBytes);
  const limits = createOwnerLimits(options);
  const reports = createReports<C>(options, onError);
  /** Fails when this process leaves its readers to others: also those of runs that go on elsewhere. */
  const left = new AsyncSubject<never>();
  const executor = createExecutor(store, { checkpoints: isDurable ? 'calls' : checkpoints, describe, onError });
  /** Whether a process executes the run of a record, or will do so. */
  const isExecuted = (record: RunRecord): boolean =>
    isDurable ? record.state === 'running' : executor.locate(record) !== 'nowhere';

  const locks = createWorkLocks();
  /** Whether the runs were left to another process. */
  let isLeaving = false;
  /** Whether no run is started any more. */
  let isClosing = false;

  /** The store has failed: the client asks again. */
  const answered = <T>(): MonoTypeOperatorFunction<T> =>
    catchError((thrown: unknown) => {
      if (isOurs(thrown)) throw thrown;
      onError(thrown);
      throw lateStore();
    });
  const sendMessage = createSender(log, held, options, maxBodyBytes);
  const tellHere = (id: string, message: RunMessage, { owner, inbox }: StartedRun) => {
    if (message.type === 'prompt') return sendMessage(id, owner, message, inbox.taken);
    return of(message.type === 'cancel' ? runs.cancel(id, message.id) : runs.stop(id));
  };
  const tell: Service<C>['tell'] = (id, owner, message) =>
    defer(() => {
      const run = runs.get(id);
      const known = run && started.get(run);
      if (known) return known.owner === owner ? tellHere(id, message, known).pipe(answered()) : of(false);
      if (locks.has(id)) return of(message.type === 'stop' && locks.stop(id, owner));
      return access.find(id, owner).pipe(
        concatMap((stored) => {
          if (!stored || !isExecuted(stored.record)) return of(false);
          if (!log.isShared) throw elsewhere();
          return sendMessage(id, owner, message, stored.record.taken);
        }),
        answered(),
      );
    });
  const runOf: Service<C>['runOf'] = (id, owner) => {
    const run = runs.get(id);
    return run && started.get(run)?.owner === owner ? run : undefined;
  };
  /** Stops a run whose data is deleted: it may be executed where it cannot be reached. */
  const stopFor = (id: string, owner: string) =>
    tell(id, owner, { type: 'stop' }).pipe(
      catchError((thrown: unknown) => (thrown instanceof RequestError ? of(false) : throwError(() => thrown))),
    );
  return {
    store,
    log,
    executor,
    held,
    ...access,
    ...limits,
    ...reports,
    authorize: (context) => access.authorize(context).pipe(inTime(lateContext)),
    describe,
    onError,
    handler: (answer, fail) => (request) =>
      firstValueFrom(
        defer(() => {
          const preflight = gate.check(request);
          if (preflight) return of(preflight);
          return isLeaving ? throwError(() => leaving()) : answer(request);
        }).pipe(
          catchError((thrown: unknown) => of(fail(thrown))),
          map((response) => gate.admit(request, response)),
        ),
        { defaultValue: new Response(null, { status: 500 }) }, // a store has emitted nothing
      ),
    readBody: (request, maxBytes = maxBodyBytes) => readBody(request, maxBytes),
    locked: (id, client, work) =>
      defer(work).pipe(
        retry({
          count: WORK_RETRIES,
          delay: (thrown: unknown) => (thrown instanceof RunTakenError ? of(0) : throwError(() => thrown)),
        }),
        answered(),
        locks.locked(id, client.owner),
      ),
    launch(plan, runId = plan.record.id, lockId = runId) {
      const size = estimateSize(plan.record) + (plan.bytes ?? 0);
      return defer(() => {
        if (isClosing) throw leaving();
        if (runs.get(runId)) throw new RequestError(409, 'There is a run with this id.'); // of another owner
        return executor.execute(plan);
      }).pipe(
        map((events) => {
          const isStopped = locks.isStopped(lockId);
          const { owner } = plan.record;
          const { attempt = 0, checkpoint, taken } = plan.stored?.record ?? {};
          const inbox = new PromptInbox(log.isShared && checkpoint && !isDurable ? taken : undefined);
          const { run } = runs.start(
            // These operators come after the record is written, so it has what they remove.
            (stop, cancel, prompts, opened) =>
              events({ stop: isStopped ? of(undefined) : stop, cancel, prompts }, opened, inbox).pipe(
                limits.count(owner),
                held.count(owner, () => size + inbox.bytes),
                reports.reportResult(plan.context as C),
                tap({ error: onError }),
                publicEvents(options, plan.clientErrors),
              ),
            runId,
            attempt + 1,
            { owner, inbox },
          );
          started.set(run, { owner, inbox });
          return run;
        }),
        (work) => limits.admit(plan.record.owner, held.admit(plan.record.owner, size, work)),
      );
    },
    runOf,
    joinable: (id, owner) =>
      defer(() => {
        const run = runOf(id, owner);
        if (!run || run.status === 'running') return of(run);
        return log.state(id).pipe(map((state) => (state ? run : undefined)));
      }),
    tell,
    settleLost({ record: before, version }) {
      const failure = { messages: [], error: describe(new RunNotFoundError()) };
      const record: RunRecord = {
        ...before,
        state: 'ended',
        updated: asyncScheduler.now(),
        executor: undefined,
        failure,
      };
      return store.put(record, version).pipe(
        map((isDone) => {
          if (!isDone) throw new RunTakenError();
          return { record, version: version + 1 };
        }),
      );
    },
    stopRun: (id) => void runs.stop(id),
    stopLocked: (id, owner) => locks.stop(id, owner),
    runElsewhere(id) {
      if (!log.isShared) throw elsewhere();
      if (isClosing) throw leaving();
      return remoteRun(log, id, merge(watchExecutor(store, id, isExecuted), left));
    },
    hasLeft: (thrown) =>
      thrown instanceof ExecutorLostError ||
      thrown instanceof RunTakenError ||
      (isClosing && thrown instanceof RunAbandonedError),
    ...createOwnerData(store, options.chats?.store, stopFor),
    shutdown: (how) =>
      defer(() => {
        isClosing = true;
        isLeaving ||= how === 'abandon';
        left.error(new RunAbandonedError());
        // A request that is being answered may have begun to start a run, which is stopped at once.
        return concat(merge(runs.shutdown(how), concat(locks.idle, runs.shutdown(how))), executor.released);
      }),
  };
}
