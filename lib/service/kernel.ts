import { AsyncSubject, catchError, concat, concatMap, defaultIfEmpty, defer, EMPTY, map, merge, of } from 'rxjs';
import { throwError, type Observable } from 'rxjs';
import { ConfigurationError, RivuletError } from '../core/errors.js';
import type { JsonObject } from '../core/json/json.js';
import { requireNumbers } from '../core/options.js';
import type { Tool } from '../core/tool.js';
import { omitRefused } from '../protocol/omitRefused.js';
import { describeReported, heartbeatDelay, type HeartbeatOption } from '../transport/serverSentEvents.js';
import type { HandledAgent } from './handledAgent.js';
import type { ChatAnswer } from './chats/chatStore.js';
import { createGate } from './http/gate.js';
import { readBody } from './http/readBody.js';
import { elsewhere, lateStore, leaving, refusal, RequestError, requireTaken } from './http/requestError.js';
import { observed, reportOnce } from './observed.js';
import { createOwnerData, type OwnerData } from './ownerData.js';
import { createRunUsage, OwnerLimits, tooManyPrompts } from './ownerLimits.js';
import { guardLog, guardStore } from './ports/guardPorts.js';
import type { RunLog, RunMessage } from './ports/runLog.js';
import type { RunRecord, RunStore, StoredRun } from './ports/runStore.js';
import { publicEvents, type RunAudience } from './publicEvents.js';
import { createRegistry, type Registry, type RunTimes, type Runs } from './runs/createRuns.js';
import { Executor, sizeOfPlan, type ExecutedRun, type RunPlan } from './runs/executeRun.js';
import { inboxOf, PromptInbox } from './runs/promptInbox.js';
import { createWatch, remoteRun } from './runs/remoteRun.js';
import { ownerIsMissing, RunAccess } from './runs/runAccess.js';
import type { Client } from './client.js';
import { hasNoOutcome, isElsewhere, RunAbandonedError, RunFullError } from './runs/runErrors.js';
import { confirmStop, type LoggedRun } from './runs/runLife.js';
import type { SharedRun } from './runs/sharedRun.js';
import { descriptionOf, NotBegunError } from './runs/trustedDescription.js';
import { retryTaken, WorkLocks } from './runs/workLocks.js';
import { wrapBoth } from './runs/wrapInnerRuns.js';
import { readinessOf } from './readiness.js';
import type { AgentHandler, Service } from './service.js';
import { requireGroups, type BrowserOptions, type ServedAgent, type ServiceOptions } from './serviceOptions.js';
import { memoryLog } from './stores/memory/memoryLog.js';
import { memoryStore } from './stores/memory/memoryStore.js';

const DEFAULT_HISTORY_BYTES = 33_554_432;

export type KernelOptions<C> = ServiceOptions<C> & { readonly agent?: ServedAgent<C> | undefined };

/** Who starts a run, and the id by which it is joined. */
interface Start extends RunAudience, RunTimes {
  readonly id: string;
  readonly owner: string;
  /** The id for which the work is done: `stop` with this id stops the run. */
  readonly lockId: string;
  /** About how many bytes the run has. */
  readonly bytes: number;
  /** Whether the run is executed: one that has ended may only be logged. Default: true. */
  readonly isExecuted?: boolean | undefined;
}

/** What the protocols of a service use: it owns the guarded ports, the limits, and the runs of this process. */
export class Kernel<C> implements OwnerData {
  readonly browser: BrowserOptions;
  readonly onError: (thrown: unknown) => void;
  readonly store: RunStore;
  readonly log: RunLog;
  readonly chats: { readonly answer: (request: Request, client: Client<C>) => Observable<ChatAnswer> } | undefined;
  readonly access: RunAccess<C>;
  readonly executor: Executor;
  /** Who executes the runs, if another engine makes them durable: it resumes them. */
  readonly durable: HandledAgent<C>['durable'];
  readonly checkpoints: boolean;
  readonly exportData: OwnerData['exportData'];
  readonly deleteData: OwnerData['deleteData'];
  /** Stops and deletes a run of an owner, the runs that it resumed, and those that resumed it. */
  readonly deleteRun: (id: string, owner: string) => Observable<never>;

  readonly limits: OwnerLimits;
  private readonly gate;
  readonly registry: Registry;
  readonly locks = new WorkLocks();
  /** Fails when this process leaves its readers to others: also those of runs that go on elsewhere. */
  private readonly left = new AsyncSubject<never>();
  private readonly watch;
  /** Whether the runs were left to another process. */
  private isLeaving = false;
  /** Whether no run is started any more. */
  private isClosing = false;

  constructor(readonly options: KernelOptions<C>) {
    requireGroups(options);
    const { agent, browser = {}, chats, limits = {}, owner, checkpoints = false, lease, patience = 0 } = options;
    const { maxHistoryBytes = DEFAULT_HISTORY_BYTES, maxBodyBytes = 0 } = limits;
    requireNumbers({ maxHistoryBytes, maxBodyBytes, patience }, 0);
    if (options.context !== undefined && owner === undefined) throw ownerIsMissing();
    this.browser = browser;
    this.onError = reportOnce(options.onError);
    const guard = { onError: this.onError, lease, isEnding: () => this.isClosing };
    this.store = guardStore(options.store ?? memoryStore(), guard);
    this.log = guardLog(options.log ?? memoryLog(), guard);
    const chatStore = chats && guardStore(chats.store, guard);
    this.durable = typeof agent === 'object' ? agent.durable : undefined;
    this.checkpoints = checkpoints;
    this.access = new RunAccess(this.store, options, this.onError, maxHistoryBytes);
    this.limits = new OwnerLimits(limits, this.store);
    this.registry = createRegistry(this.log, options);
    this.gate = createGate(browser, this.registry.connections);
    this.executor = new Executor(this.store, {
      ...{ lease, checkpoints, log: this.log, onError: this.onError, patience: this.durable ? 0 : patience },
      describe: (thrown) => this.describe(thrown),
    });
    this.watch = createWatch(this.store, (record) => this.isExecuted(record), this.executor.lease / 3);
    const data = createOwnerData(this.store, chatStore, (runOwner, id) => this.endWork(runOwner, id));
    ({ exportData: this.exportData, deleteData: this.deleteData, deleteRun: this.deleteRun } = data);
    const forChats = chatStore && { ...data, store: chatStore, receive: this.limits.receive, onError: this.onError };
    this.chats = forChats && { answer: (request, client) => chats.answer(request, client, forChats) };
  }

  /** Whether a run whose process has ended is resumed. */
  get isResumable(): boolean {
    return this.checkpoints || this.durable !== undefined;
  }

  agentFor(tools: readonly Tool[] = []): HandledAgent<C> {
    const { agent } = this.options;
    if (!agent) throw new ConfigurationError('options', 'The service has no `agent`.', 'Pass it to `createService`.');
    return typeof agent === 'function' ? agent(tools) : agent;
  }

  readonly ready: Service['ready'] = () => readinessOf(this.store, this.log, () => this.isClosing);

  readonly shutdown: Runs['shutdown'] = (how) =>
    defer(() => {
      this.isClosing = true;
      this.isLeaving ||= how === 'abandon';
      this.left.error(new RunAbandonedError());
      // A request that is being answered may have begun to start a run, which is stopped at once.
      const late = concat(this.locks.idle, this.registry.shutdown(how, this.registry.connections.unread));
      return concat(merge(this.registry.shutdown(how), late), this.executor.writes.done);
    });

  handler(
    answer: (request: Request) => Observable<Response>,
    fail = (thrown: unknown) => refusal(thrown, this.onError),
  ): AgentHandler {
    const { ready, shutdown, exportData, deleteData } = this;
    const handle = (request: Request, incoming?: unknown) => {
      if (this.options.context) this.access.incoming.set(request, incoming);
      return this.gate(request, () => (this.isLeaving ? throwError(() => leaving()) : answer(request)), fail);
    };
    return Object.assign(handle, { ready, shutdown, exportData, deleteData });
  }

  /** Reads the body of a request. It fails with a RequestError 413 or 429 if the service, or its owner, has no room. */
  readBody(request: Request, byDefault: number, owner?: string): Observable<string> {
    const max = this.options.limits?.maxBodyBytes ?? byDefault;
    return this.limits.receive(owner, (note) => readBody(request, max, note));
  }

  /** Does work again if another process changes its record in the meantime. A store that fails is answered by 503. */
  tried<T>(work: () => Observable<T>): Observable<T> {
    return defer(work).pipe(
      retryTaken(),
      catchError((thrown: unknown) => this.storeFailed(thrown)),
    );
  }

  /** Tries the work for an id after earlier work for it: no two requests of this process change a record at once. */
  locked<T>(id: string, { owner }: Client<C>, work: () => Observable<T>, place?: number): Observable<T> {
    return this.tried(work).pipe(this.locks.locked(id, owner, place));
  }

  /** Executes a run, and emits it when its record is written. Its id may differ from that of the record. */
  launch(plan: RunPlan, times: Partial<Start> = {}): Observable<LoggedRun> {
    const { id = plan.record.id } = times;
    const { context, clientErrors, record, stored } = plan;
    const { attempt = 0, checkpoint, taken } = stored?.record ?? {};
    const bytes = sizeOfPlan(plan);
    const inbox = new PromptInbox(this.log.isShared && checkpoint ? taken : undefined, plan.resumed?.emitted.messages);
    const start = { id, lockId: id, attempt: attempt + 1, context, clientErrors, owner: record.owner, bytes, inbox };
    const isExecuted = plan.state === undefined;
    return this.register({ ...start, ...times, isExecuted }, () => this.executor.execute(plan));
  }

  /** Does the work that starts a run, if the limits of its owner allow it. One that was stopped does nothing more. */
  admit<T>(lockId: string, owner: string, work: Observable<T>, bytes: number): Observable<T> {
    const begin = () => this.limits.admit(owner, work, bytes, this.locks.holder(lockId, owner));
    return defer(() => (this.locks.isStopped(lockId, owner) ? work : begin()));
  }

  /** Registers the run that the work emits: it counts for its owner, it can be joined, and a shutdown ends it. */
  register(start: Start, work: () => Observable<ExecutedRun>): Observable<LoggedRun> {
    const { id, owner, lockId, context, clientErrors, bytes, inbox = new PromptInbox(), isExecuted = true } = start;
    const begin = defer(() => {
      if (this.isClosing) throw leaving();
      if (this.registry.get(id)) throw new RequestError(409, 'There is a run with this id.'); // of another owner
      return work();
    });
    return this.admit(
      lockId,
      owner,
      begin.pipe(
        map((events) => {
          const isStopped = this.locks.isStopped(lockId, owner);
          const { onError } = this;
          const { limits: { budget } = {}, omitRefused: isOmitted = true } = this.options;
          const usage = createRunUsage(events.resumed);
          const wrapTurn = wrapBoth(budget && usage.wrapTurn, isOmitted ? omitRefused : undefined);
          // These operators come after the record is written, so it has what they remove.
          const create: Parameters<Registry['start']>[0] = (stop, cancel, prompts, failure) =>
            events({ stop: isStopped ? of(undefined) : stop, cancel, prompts, wrapTurn }, failure, inbox).pipe(
              this.limits.count(owner, () => bytes + inbox.bytes, usage),
              observed(isExecuted ? this.options : {}, { id, context: context as C, resumed: events.resumed }, onError),
              publicEvents(this.browser, clientErrors),
            );
          return this.registry.start(create, id, { ...start, inbox }).run;
        }),
      ),
      bytes,
    );
  }

  /** The run of this process with an id; undefined if there is none, or if another owner has it. */
  runOf(id: string, owner: string): LoggedRun | undefined {
    const entry = this.registry.find(id);
    return entry?.owner === owner ? entry.run : undefined;
  }

  /** As `runOf`, but undefined too if the run has ended and the log has removed it: its record has the answer. */
  joinable(id: string, owner: string): Observable<LoggedRun | undefined> {
    return defer(() => {
      const run = this.runOf(id, owner);
      if (!run || run.status === 'running') return of(run);
      return this.log.state(id).pipe(map((state) => (state ? run : undefined)));
    });
  }

  /** A run that another process executes. It throws a RequestError 503 if the log is not shared. */
  runElsewhere(id: string): SharedRun {
    if (!this.log.isShared) throw elsewhere();
    if (this.isClosing) throw leaving();
    return remoteRun(this.log, id, merge(this.watch.lost(id), this.left), () => this.watch.check(id));
  }

  /**
   * Sends a message to a run, in whatever process it is. Emits whether there is such a run.
   *
   * @param stopLeft Stops a run that nobody executes; it emits nothing if there is nothing to stop.
   */
  tell(
    id: string,
    owner: string,
    message: RunMessage,
    stopLeft: (run: StoredRun) => Observable<boolean> = () => EMPTY,
  ): Observable<boolean> {
    return this.tried(() => {
      const run = this.registry.find(id);
      if (run && run.owner !== owner) return of(false);
      if (run && message.type === 'cancel') return of(this.registry.cancel(id, message.id));
      const send = (inbox?: PromptInbox) =>
        inbox?.has(message) ? of(true) : this.limits.send(this.log, id, owner, message, inbox?.taken);
      if (run && message.type !== 'stop') return send(run.inbox);
      const isRunning = run?.run.status === 'running';
      if (isRunning && run.inbox.isWaiting) return concat(run.run.settled, this.tell(id, owner, message, stopLeft));
      // At once; the log of other processes has it too, if this one ends before the run does.
      const isHere = message.type === 'stop' && (this.registry.stop(id) || this.locks.stop(id, owner));
      if (isRunning) return this.log.isShared ? send().pipe(map(() => true)) : confirmStop(run.run);
      if (!isHere && this.locks.has(id, owner)) return of(false);
      return this.access.find(id, owner).pipe(
        concatMap((stored) => {
          if (!stored) return of(isHere);
          if (!this.isExecuted(stored.record)) return stopLeft(stored).pipe(defaultIfEmpty(isHere));
          if (this.log.isShared) return send(inboxOf(stored.record)).pipe(map(requireTaken));
          if (!isHere || this.executor.locate(stored.record) === 'elsewhere') throw elsewhere();
          return of(true);
        }),
      );
    });
  }

  describe(thrown: unknown): JsonObject {
    return descriptionOf(thrown) ?? describeReported(thrown, { describeError: this.browser.describeError });
  }

  /** Whether an error says that a process has left a run to others: at its shutdown, or since it was too slow. */
  hasLeft(thrown: unknown): boolean {
    // After a NotBegunError, the page may answer again.
    return !(thrown instanceof NotBegunError) && (this.isClosing ? hasNoOutcome(thrown) : isElsewhere(thrown));
  }

  /**
   * Ends what is done for data that is deleted, so that nothing of it is written later: all work of an owner in this
   * process, or a run, which may be executed where it cannot be reached. What has no record yet is waited for.
   */
  private endWork(owner: string, id?: string): Observable<unknown> {
    const refused = (thrown: unknown) => (thrown instanceof RequestError ? EMPTY : throwError(() => thrown));
    const stopRun = (run: string) => this.tell(run, owner, { type: 'stop' }).pipe(catchError(refused));
    const stopped = id === undefined ? this.registry.stopOwner(owner) : stopRun(id);
    return concat(this.locks.end(owner, id), stopped, this.executor.writes.done);
  }

  /** Whether a process executes the run of a record, or will do so. */
  isExecuted(record: RunRecord): boolean {
    return this.durable ? ['running', 'parked'].includes(record.state) : this.executor.locate(record) !== 'nowhere';
  }

  /** The store has failed, or the log has no room: the client asks again. */
  private storeFailed(thrown: unknown): never {
    if (thrown instanceof RunFullError) throw tooManyPrompts(this.limits.maxWaiting);
    if (thrown instanceof RequestError || thrown instanceof RivuletError) throw thrown;
    this.onError(thrown);
    throw lateStore();
  }
}

/** The kernel of a service, or that of a new one for the agent of a handler's short form. */
export function kernelOf<C>(given: Service<C> | ServedAgent<C>, options: ServiceOptions<C> & HeartbeatOption) {
  heartbeatDelay(options); // it throws if the interval is not valid
  return given instanceof Kernel ? (given as Kernel<C>) : new Kernel({ ...options, agent: given as ServedAgent<C> });
}
