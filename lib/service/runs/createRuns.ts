import { asyncScheduler, concat, defer, EMPTY, finalize, merge, onErrorResumeNext, ReplaySubject } from 'rxjs';
import { retry, Subject, throwError, type Observable } from 'rxjs';
import type { CallAnswers } from '../../core/approval.js';
import type { StreamEvent } from '../../core/event.js';
import type { Message } from '../../core/message.js';
import { requireNumbers } from '../../core/options.js';
import { randomId } from '../../transport/randomId.js';
import { Connections } from '../http/connections.js';
import type { Envelope } from './lateReader.js';
import { memoryLog } from '../stores/memory/memoryLog.js';
import { RunNotFoundError } from './runErrors.js';
import { guardLog } from '../ports/guardPorts.js';
import type { RunLog } from '../ports/runLog.js';
import { PromptInbox } from './promptInbox.js';
import { RunLife, type LoggedRun } from './runLife.js';
import type { WrapTurn } from './wrapInnerRuns.js';

/** Options of `createRuns`. */
export interface RunsOptions extends Pick<RunTimes, 'grace' | 'keep'> {
  /** Where the events of the runs, and the messages to them, are stored. Default: in memory. */
  readonly log?: RunLog | undefined;
}

/** How long a run lives. */
export interface RunTimes {
  /**
   * How long a run continues without a subscriber, in milliseconds. Then it is stopped, and ends with its result; if it
   * ignores `stop`, it is unsubscribed after the same time again, and at least 10 s. Default: 60000.
   */
  readonly grace?: number | undefined;
  /** How long a run can be joined after its end, in milliseconds. Default: 60000. */
  readonly keep?: number | undefined;
  /** The number of its executor, for a log that other processes share. Default: 1. */
  readonly attempt?: number | undefined;
  /** Whose run it is: a log in memory is shared fairly. Default: of nobody. */
  readonly owner?: string | undefined;
  /** What has taken the messages of earlier executors. Default: one that has taken none. */
  readonly inbox?: PromptInbox | undefined;
}

/** A run of a registry. */
interface RegisteredRun<E extends StreamEvent = StreamEvent> {
  /** Nobody can guess it, so a browser can join the run with nothing else. */
  readonly id: string;
  readonly run: LoggedRun<E>;
}

/** The notifiers of a run: pass them as its options of these names. */
export interface RunControls {
  readonly stop: Observable<void>;
  /** The ids of the calls to cancel. */
  readonly cancel: Observable<string>;
  /** The messages of the prompts that join the run, those of an earlier process first. */
  readonly prompts: Observable<Message>;
  /** The option `wrapTurn` of the run. Default: none. */
  readonly wrapTurn?: WrapTurn | undefined;
  /** Completes when what the run has emitted is in its record. Absent: there are no checkpoints. */
  readonly written?: Observable<never> | undefined;
  /** The options `answers` and `patience` of a run that may wait in memory. Absent: it ends as waiting at once. */
  readonly answers?: Observable<CallAnswers>;
  readonly patience?: number;
}

/** Creates a run from its notifiers. With `failure`, which fails, the log is not open: nobody could read the run. */
type CreateRun<E extends StreamEvent> = (
  stop: Observable<void>,
  cancel: Observable<string>,
  prompts: Observable<Message>,
  failure?: Observable<never>,
) => Observable<E>;

/** The runs of a service, by their ids. */
export interface Runs {
  /**
   * Starts a run, unless there is one with this id: a repeated request joins the run.
   *
   * @param create Creates the run. It receives the notifiers that `stop` and `cancel` trigger, and the prompts that
   * arrive as messages of the log: pass them as the run's options `stop`, `cancel` and `prompts`.
   * @param id The id of the run. Default: a random one.
   * @param times `grace` and `keep` (default: those of the registry), `attempt` (default: 1), `owner`, `inbox`.
   */
  start<E extends StreamEvent>(create: CreateRun<E>, id?: string, times?: RunTimes): RegisteredRun<E>;
  /** The run with this id; undefined if there is none, or if it ended longer than `keep` ago. */
  get(id: string): LoggedRun | undefined;
  /**
   * The events of a run, with their ids.
   *
   * @param id The id of the run.
   * @param after The id of the last event that was received. Default: the start of the run.
   * @returns The envelopes. It fails with a RunNotFoundError if there is no such run.
   */
  attach(id: string, after?: string): Observable<Envelope>;
  /** Stops a run: it ends with a result. Returns whether there is a run with this id. */
  stop(id: string): boolean;
  /**
   * Cancels one call of a run, which continues. A call that the run does not have is ignored.
   *
   * @returns Whether there is a run with this id.
   */
  cancel(id: string, call: string): boolean;
  /**
   * Ends the service, for `SIGTERM`. Completes when all runs have ended, and their readers have the end (at most 10 s
   * later); runs that are started later are ended in the same way. A service refuses them with 503. It waits
   * for its store and its log: 0.3 of `lease` if they do not answer, and `lease` if they refuse the end of a run.
   *
   * @param how `finish`: waits for the runs; `stop`: stops each, so that it ends with a result; `abandon`: unsubscribes
   * them, for runs that continue elsewhere from their checkpoints. Default: `stop`.
   */
  shutdown(how?: 'finish' | 'stop' | 'abandon'): Observable<never>;
}

type HowToEnd = NonNullable<Parameters<Runs['shutdown']>[0]>;

/** How long a slow reader may continue to read after the end of a run, in milliseconds. */
const LOG_READING_TIME = 600_000;

/** How often a read of the messages to a run is repeated, and after which time, in milliseconds. */
const MESSAGE_READS = 10;
const READ_INTERVAL = 1000;

/** What controls a run. */
interface Controls {
  /** A run may subscribe to it late, after its store has written. */
  readonly stop: ReplaySubject<void>;
  readonly cancel: Subject<string>;
  readonly inbox: PromptInbox;
}

interface Entry extends Controls {
  readonly run: LoggedRun;
  readonly owner: string | undefined;
  /** Until when the run can be joined. Undefined while it runs. */
  expires?: number;
}

/** The runs of a process, with their owners. */
export interface Registry extends Runs {
  readonly connections: Connections;
  find(id: string): Entry | undefined;
  /** Stops the runs of an owner, whatever their ids. Completes when they have ended, and write nothing more. */
  stopOwner(owner: string): Observable<never>;
  /** @param unread Completes when no connection is left, for which it waits too. Default: at once. */
  shutdown(how?: HowToEnd, unread?: Observable<never>): Observable<never>;
}

/**
 * Creates a registry of shared runs: a service starts them, and browsers join, leave and stop them by id.
 *
 * <span class="informal">Reload the page in the middle of an answer, and it continues.</span>
 *
 * ```ts
 * const runs = createRuns({ grace: 30_000 });
 * const { id } = runs.start((stop, cancel) => agent.stream('How warm is it in Oslo?', { stop, cancel }));
 * runs.attach(id).pipe(toServerSentEvents());
 * process.once('SIGTERM', () => runs.shutdown().subscribe({ complete: () => process.exit() }));
 * ```
 *
 * @param options `grace` and `keep` in milliseconds (default: 60000 each), `log` (default: in memory).
 * @returns The registry. It has the runs of this process.
 */
export const createRuns = ({ log = memoryLog(), ...times }: RunsOptions = {}): Runs =>
  createRegistry(guardLog(log), times);

/** `createRuns` for a log that is guarded. */
export function createRegistry(
  log: RunLog,
  { grace = 60_000, keep = 60_000 }: Pick<RunTimes, 'grace' | 'keep'>,
): Registry {
  requireNumbers({ keep, grace }, 0);
  const entries = new Map<string, Entry>();
  /** The ids of the runs that have ended, oldest first. */
  const ended = new Set<string>();
  let closing: HowToEnd | undefined;

  const removeExpired = (id: string): boolean => {
    if ((entries.get(id)?.expires ?? Infinity) > asyncScheduler.now()) return false;
    ended.delete(id);
    return entries.delete(id);
  };
  const find = (id: string): Entry | undefined => {
    for (const each of ended) if (!removeExpired(each)) break;
    removeExpired(id); // it may be kept for a shorter time than those before it
    return entries.get(id);
  };
  const tell = (id: string, act: (entry: Entry) => void): boolean => {
    const entry = find(id);
    if (entry) act(entry);
    return entry !== undefined;
  };
  const start = <E extends StreamEvent>(create: CreateRun<E>, id = randomId(), own: RunTimes = {}) => {
    const known = find(id);
    if (known) return { id, run: known.run as LoggedRun<E> };
    const { keep: kept = keep, inbox = new PromptInbox(), owner, attempt } = own;
    const controls: Controls = { stop: new ReplaySubject(1), cancel: new Subject(), inbox };
    const run: LoggedRun<E> = new RunLife<E>(listeningSource(create, log, id, controls), {
      ...{ log, id, owner, attempt, grace: own.grace ?? grace, keep: kept + LOG_READING_TIME },
      stop: () => {
        inbox.endAnswers(); // a run that waits for a person ends as waiting
        controls.stop.next();
      },
    });
    const entry: Entry = { run, owner, ...controls };
    entries.set(id, entry);
    run.settled.subscribe({
      complete() {
        entry.expires = asyncScheduler.now() + kept;
        ended.add(id);
      },
      // Another process has it, or its record tells what there is.
      error: () => entries.get(id) === entry && entries.delete(id),
    });
    if (closing) close(entry, closing);
    run.start();
    return { id, run };
  };
  return {
    start,
    find,
    connections: new Connections(),
    get: (id) => find(id)?.run,
    attach: (id, after) => find(id)?.run.envelopes(after) ?? throwError(() => new RunNotFoundError()),
    stop: (id) => tell(id, ({ stop }) => stop.next()),
    cancel: (id, call) => tell(id, ({ cancel }) => cancel.next(call)),
    stopOwner: (owner) =>
      defer(() => {
        const own = [...entries.values()].filter((entry) => entry.owner === owner);
        for (const { stop } of own) stop.next();
        return merge(...own.map(({ run }) => onErrorResumeNext(run.settled)));
      }),
    shutdown: (how = 'stop', unread = EMPTY) =>
      defer(() => {
        closing = how;
        const all = [...entries.values()];
        for (const entry of all) if (entry.run.status === 'running') close(entry, how);
        const settled = merge(...all.map(({ run }) => onErrorResumeNext(run.settled)));
        return concat(settled, merge(unread, ...all.map(({ run }) => run.unread)));
      }),
  };
}

/** Ends a run for a shutdown. One that is left before it has started begins nothing. */
function close({ run, stop, inbox }: Entry, how: HowToEnd): void {
  if (how !== 'abandon') inbox.endAnswers();
  if (how === 'stop') stop.next();
  if (how === 'abandon') run.leave();
}

/** The source of a run, with what the messages of its log say. */
const listeningSource =
  <E extends StreamEvent>(create: CreateRun<E>, log: RunLog, id: string, { stop, cancel, inbox }: Controls) =>
  (failure?: Observable<never>): Observable<E> =>
    defer(() => {
      const read = defer(() => log.messages(id, inbox.seen));
      const messages =
        failure ?? read.pipe(retry({ count: MESSAGE_READS, delay: READ_INTERVAL, resetOnSuccess: true }));
      const listening = messages.subscribe({
        next(sent) {
          const { message } = sent;
          if (message.type === 'stop') {
            inbox.isStopLate = inbox.isWaiting;
            stop.next();
          }
          if (message.type === 'cancel') cancel.next(message.id);
          inbox.add(sent);
        },
        error: () => stop.next(), // nobody could stop it later
      });
      return create(stop, cancel, inbox.prompts, failure).pipe(
        finalize(() => {
          listening.unsubscribe();
          inbox.clear();
        }),
      );
    });
