import { AsyncSubject, asyncScheduler, concat, defer, EMPTY, map, merge, Subject, Subscription, takeUntil } from 'rxjs';
import type { Observable } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';
import { RivuletError } from '../../core/errors.js';
import type { StreamEvent } from '../../core/event.js';
import { MAX_TIMER_DELAY, requireNumber } from '../../core/options.js';
import { randomId } from '../../transport/randomId.js';
import { describeError } from '../../transport/publicError.js';
import type { Envelope } from './lateReader.js';
import { memoryLog } from '../stores/memory/memoryLog.js';
import { RunTakenError } from '../ports/runLog.js';
import type { RunLog } from '../ports/runLog.js';

/** Options of `shareRun`. */
export interface ShareRunOptions {
  /**
   * How long the run continues without a subscriber, in milliseconds. Then its source is unsubscribed, which aborts the
   * request and the tools, unless `stop` ends it. Default: no limit.
   */
  readonly grace?: number | undefined;
  /**
   * Called when the grace time is over, to end the run with a partial result. If it continues for another grace time,
   * and for at least 10 seconds, its source is unsubscribed. Default: it is unsubscribed at once.
   */
  readonly stop?: (() => void) | undefined;
}

/** The state of a run. `abandoned`: it had no subscriber for the grace time, or was unsubscribed. */
type SharedRunStatus = 'idle' | 'running' | 'completed' | 'failed' | 'abandoned';

/** One run with any number of subscribers. */
export interface SharedRun<E extends StreamEvent = StreamEvent> {
  /** The events of the run, from its start. A late subscriber receives the events that it missed, then the rest. */
  readonly events$: Observable<E>;
  readonly status: SharedRunStatus;
  /**
   * The events with their ids.
   *
   * A slow receiver unsubscribes when it is full, and subscribes again after the last id that it received: nothing is
   * buffered for it, and the deltas that it missed are merged. In between, `hold` counts it as a subscriber.
   *
   * @param after The `id` of the last envelope that was received. Default: the start of the run.
   */
  envelopes(after?: string): Observable<Envelope<E>>;
  /** Counts as a subscriber for the grace time, until it is unsubscribed. */
  hold(): Subscription;
  /** Starts the run without a subscriber. The first subscriber does this as well. */
  start(): void;
  /** Ends the run for all subscribers: its source is unsubscribed, and they receive a `RunAbandonedError`. */
  unsubscribe(): void;
}

/** A shared run was ended before its result: nobody subscribed to it during its grace time, or it was unsubscribed. */
export class RunAbandonedError extends RivuletError {
  override readonly name = 'RunAbandonedError';
  readonly code = 'run_abandoned';
  override readonly isPublic = true;

  constructor() {
    super('The run was ended before its result. Start another run, or raise `grace`, the time without subscribers.');
  }
}

/**
 * Shares one run among any number of subscribers.
 *
 * <span class="informal">Two tabs show one run; closing both does not stop it before the grace time is over.</span>
 *
 * It differs from `share` and `shareReplay` of RxJS in three ways. A run starts at most once, so a question is never
 * sent twice. Consecutive deltas are stored as one text, so a late subscriber receives few events, and the log takes
 * only the memory of the text. And each event has an id from which another reader can continue.
 *
 * ```ts
 * const run = shareRun(agent.stream('How warm is it in Oslo?'), { grace: 30_000 });
 * run.events$.subscribe(showInTab1);
 * run.events$.subscribe(showInTab2); // later: receives what it missed
 * ```
 *
 * @param source The run. It is subscribed once, by the first subscriber or by `start`.
 * @param options `grace` in milliseconds (default: no limit), `stop` (default: the source is unsubscribed).
 * @returns The shared run. The events of a run that has ended remain available while it is referenced.
 */
export function shareRun<E extends StreamEvent>(source: Observable<E>, options: ShareRunOptions = {}): SharedRun<E> {
  return logRun(source, { ...options, log: memoryLog({ maxBytes: Infinity, maxAge: Infinity }) });
}

/** How long a stopped run may take to write its result, in milliseconds. */
const STOP_TIME = 10_000;

/** Options of `logRun`. */
export interface LogRunOptions extends ShareRunOptions {
  readonly log: RunLog;
  /** Default: a random one. */
  readonly id?: string | undefined;
  /** Default: 1. */
  readonly attempt?: number | undefined;
  /** How long the log keeps the events after the end, in milliseconds. Default: as the log decides. */
  readonly keep?: number | undefined;
}

/** A shared run that another process may continue. */
export interface LoggedRun<E extends StreamEvent = StreamEvent> extends SharedRun<E> {
  /** As `unsubscribe`, but a log that other processes share does not say that the run has ended: one continues it. */
  leave(): void;
  /** Whether another process executes the run now: what this one has of it is out of date. */
  readonly isTaken: boolean;
  /** Completes when nothing more is written to the log: it has the end of the run, or the run was left or lost. */
  readonly settled: Observable<never>;
}

/** Shares a run whose events are written to a log. A subscriber receives an event when the log has it. */
export function logRun<E extends StreamEvent>(
  source: Observable<E>,
  { log, id = randomId(), attempt = 1, grace = Infinity, stop, keep }: LogRunOptions,
): LoggedRun<E> {
  requireNumber('grace', grace, 0);
  let status: SharedRunStatus = 'idle';
  const opened = new AsyncSubject<never>();
  let isOpening = false;
  let thrown: unknown;
  let subscribers = 0;
  let mayStop = stop !== undefined;
  let graceTimer = Subscription.EMPTY;
  const abandoned = new Subject<void>();
  /** Fails when the run was left: the log has no end for its readers. */
  const left = new AsyncSubject<never>();

  // The writes to the log are in order. Events that arrive during a write form the next write.
  let pending: E[] = [];
  let isWriting = false;
  let isFlushing = false;
  const isEnded = () => status !== 'idle' && status !== 'running';
  const isTaken = () => thrown instanceof RunTakenError;
  let isEndWritten = false;
  const settled = new AsyncSubject<never>();
  const nextWrite = (): Observable<never> | undefined => {
    const events = pending;
    pending = [];
    if (events.length > 0) return log.append(id, attempt, events);
    if (isEndWritten) settled.complete();
    if (!isEnded() || isEndWritten) return undefined;
    isEndWritten = true;
    const failure = status === 'completed' ? undefined : describeError(thrown);
    const time = isTaken() ? 0 : keep; // of a log that is not shared: this process may execute the run again
    return log.end(id, attempt, { failure, expires: time === undefined ? undefined : asyncScheduler.now() + time });
  };
  /** Starts writes in a loop, not by recursion: a log in memory completes at once. */
  const flush = (): void => {
    if (isFlushing) return;
    isFlushing = true;
    while (!isWriting) {
      const write = nextWrite();
      if (!write) break;
      follow(write);
    }
    isFlushing = false;
  };
  const follow = (write: Observable<never>): void => {
    isWriting = true;
    write.subscribe({
      error: lose,
      complete() {
        isWriting = false;
        opened.complete();
        flush();
      },
    });
  };
  /** Ends the run when the log rejects it, or fails: nobody could read its events. */
  const lose = (error: Error): void => {
    isWriting = false;
    pending = [];
    isEndWritten = true;
    end('abandoned', error);
    opened.error(error);
    settled.complete();
    abandoned.next();
  };

  const end = (how: SharedRunStatus, error?: unknown): void => {
    if (isEnded()) return;
    status = how;
    thrown = error;
    if (error instanceof RunTakenError && log.isShared) leaveLog(error);
    graceTimer.unsubscribe();
    flush();
  };
  const waitForSubscribers = (time = grace): void => {
    if (subscribers > 0 || status !== 'running' || grace === Infinity) return;
    graceTimer = asyncScheduler.schedule(abandon, Math.min(time, MAX_TIMER_DELAY));
  };
  const abandon = (): void => {
    if (!mayStop) {
      unsubscribe();
      return;
    }
    mayStop = false;
    stop?.();
    waitForSubscribers(Math.max(grace, STOP_TIME));
  };
  const unsubscribe = (): void => {
    open();
    end('abandoned', new RunAbandonedError());
    abandoned.next();
  };
  const leave = (): void => {
    if (log.isShared && !isEnded()) leaveLog(new RunAbandonedError());
    unsubscribe();
  };
  /** Leaves the log to another process, and the readers to a connection that they open again. */
  const leaveLog = (error: Error): void => {
    isEndWritten = true;
    settled.complete();
    left.error(error);
  };
  const hold = (): Subscription => {
    subscribers += 1;
    graceTimer.unsubscribe();
    return new Subscription(() => {
      subscribers -= 1;
      waitForSubscribers();
    });
  };
  const open = (): void => {
    if (isOpening) return;
    isOpening = true;
    follow(log.append(id, attempt, []));
  };
  const start = (): void => {
    open();
    if (status !== 'idle') return;
    status = 'running';
    waitForSubscribers();
    opened.subscribe({ error: lose, complete: subscribeSource });
  };
  const subscribeSource = (): void => {
    if (status !== 'running') return;
    source.pipe(takeUntil(abandoned)).subscribe({
      next(event) {
        pending.push(event);
        flush();
      },
      error: (error: unknown) => end('failed', error),
      complete: () => end('completed'),
    });
  };
  /** Holds the run for open subscribers only: RxJS subscribes for a closed one too, and a run costs money. */
  const holdWhileSubscribed = createOperator<Envelope<E>, Envelope<E>>((out) => {
    if (!out.closed) {
      open();
      out.add(hold());
    }
    return {
      next: (envelope) => out.next(envelope),
      error: (error) => out.error(thrown ?? error), // the log only has a description of the error
    };
  });
  const started = defer(() => {
    start();
    return EMPTY;
  });
  const envelopes = (after?: string): Observable<Envelope<E>> =>
    merge(
      concat(
        opened,
        defer(() => log.read(id, after) as Observable<Envelope<E>>),
      ).pipe(takeUntil(left)),
      started,
    ).pipe(holdWhileSubscribed);
  return {
    events$: envelopes().pipe(map(({ event }) => event)),
    get status() {
      return status;
    },
    envelopes,
    hold,
    start,
    unsubscribe,
    leave,
    settled,
    get isTaken() {
      return isTaken();
    },
  };
}
