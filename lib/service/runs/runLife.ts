import { asyncScheduler, AsyncSubject, catchError, defer, EMPTY, endWith, ignoreElements, map, merge } from 'rxjs';
import { noop, Subject, Subscription, take, takeUntil, tap, throwError, timer, type Observable } from 'rxjs';
import { createOperator, subscribeUntilClosed } from '../../core/createOperator.js';
import type { StreamEvent } from '../../core/event.js';
import { MAX_TIMER_DELAY, requireNumber } from '../../core/options.js';
import { reportRejection } from '../../core/reportUnhandled.js';
import { createCompactor, type CompactEvent } from '../../transport/compactEvents.js';
import { describeError } from '../../transport/publicError.js';
import { randomId } from '../../transport/randomId.js';
import { SHUTDOWN_READING_TIME } from '../http/connections.js';
import { lateStore } from '../http/requestError.js';
import { ExecutorLostError, isElsewhere, RunAbandonedError, RunTakenError } from './runErrors.js';
import type { Receiver, RunLog } from '../ports/runLog.js';
import { isLeftEvent } from './leftEvent.js';
import type { Envelope } from './lateReader.js';
import type { ShareRunOptions, SharedRun, SharedRunStatus } from './sharedRun.js';

/** How long a stopped run may take to write its result, in milliseconds. */
const STOP_TIME = 10_000;

/** Options of `RunLife`. */
export interface RunLifeOptions extends ShareRunOptions {
  readonly log: RunLog;
  /** Default: a random one. */
  readonly id?: string | undefined;
  /** Default: 1. */
  readonly attempt?: number | undefined;
  /** How long the log keeps the events after the end, in milliseconds. Default: as the log decides. */
  readonly keep?: number | undefined;
  /** Whose run it is. Default: of nobody. */
  readonly owner?: string | undefined;
}

/** A shared run that another process may continue. */
export interface LoggedRun<E extends StreamEvent = StreamEvent> extends SharedRun<E> {
  /** Completes when the log has the end of the run. It fails when the run was left: the log has none. */
  readonly settled: Observable<never>;
  /** As `unsubscribe`, but a log that other processes share does not say that the run has ended: one continues it. */
  leave(): void;
  /** Completes when nobody reads the run. Slow readers are closed: they join again, or have what they need. */
  readonly unread: Observable<never>;
}

/** Without the end in its record, another process would resume the run. Emits true, or fails. */
export const confirmStop = ({ settled }: LoggedRun): Observable<boolean> =>
  settled.pipe(
    catchError(() => {
      throw lateStore();
    }),
    endWith(true),
  );

/** Creates the events of a run. With `failure`, which fails, the log is not open: the run begins nothing. */
export type RunSource<E> = (failure?: Observable<never>) => Observable<E>;

type State = 'idle' | 'opening' | 'running' | 'ending' | 'ended' | 'settled' | 'left';

/**
 * The life of a run whose events are written to a log. A subscriber receives an event when the log has it. The source
 * has written the record (`runEnd.ts`) before it ends, so the record comes first, then the log; when it is
 * unsubscribed, it writes its record afterwards.
 *
 * | state     | what happens                                    | next                                              |
 * | --------- | ----------------------------------------------- | ------------------------------------------------- |
 * | `idle`    | nobody has subscribed                           | `opening`: a subscriber; `ending`: unsubscribed   |
 * | `opening` | the log is opened                               | `running`: it is open; `ending`: unsubscribed     |
 * | `running` | the source is subscribed, its events are logged | `ending`: it completes, fails, or is unsubscribed |
 * | `ending`  | the last events are written                     | `ended`: the log has them                         |
 * | `ended`   | the end is written to the log                   | `settled`: the log has it                         |
 * | `settled` | the log has the end                             |                                                   |
 * | `left`    | readers have an error, and join again           |                                                   |
 *
 * Without subscribers for the time `grace`, a run is stopped if it can be, and later unsubscribed. Each state but
 * `settled` becomes `left` if the log fails or rejects a write. With a shared log, the first three do so by `leave`,
 * and `running` also if the source says that the record has no end, or that another process goes on. A source that has
 * not begun receives the failure in place of its run. The Observable `settled` fails in the state `left`, and with a
 * log of this process also in `settled` if the record has no end. How a run ended (`completed`, `failed`, `abandoned`)
 * is `status`; waiting and stopped are results. A run that waits in memory is `running` here, and `waiting` in its
 * record.
 */
export class RunLife<E extends StreamEvent = StreamEvent> implements LoggedRun<E> {
  private readonly settling = new AsyncSubject<never>();
  readonly settled: Observable<never> = this.settling;

  private state: State = 'idle';
  private how: Extract<SharedRunStatus, 'completed' | 'failed' | 'abandoned'> | undefined;
  private thrown: unknown;
  private readonly log: RunLog;
  private readonly id: string;
  private readonly attempt: number;
  private readonly grace: number;
  private readonly opened = new AsyncSubject<never>();
  private readonly unsubscribed = new Subject<void>();
  /** Emits when the last subscriber has left. */
  private readonly deserted = new Subject<void>();
  /** Fails when nobody may read any more. */
  private readonly closed = new AsyncSubject<never>();
  /** Absent after its subscription: it has the request, which may be large. */
  private source: RunSource<E> | undefined;

  /** The events that arrived during a write form the next write. */
  private pending: CompactEvent[] = [];
  private toCompact = createCompactor();
  private isWriting = false;
  private isFlushing = false;

  private subscribers = 0;
  private mayStop: boolean;
  private graceTimer = Subscription.EMPTY;

  constructor(
    source: RunSource<E>,
    private readonly options: RunLifeOptions,
  ) {
    const { log, id = randomId(), attempt = 1, grace = Infinity, stop } = options;
    requireNumber('grace', grace, 0);
    this.source = source;
    this.log = log;
    this.id = id;
    this.attempt = attempt;
    this.grace = grace;
    this.mayStop = stop !== undefined;
  }

  get events$(): Observable<E> {
    return this.envelopes().pipe(map(({ event }) => event));
  }

  get status(): SharedRunStatus {
    if (this.how) return this.how;
    return this.state === 'idle' ? 'idle' : 'running';
  }

  envelopes(after?: string, receiver?: Receiver): Observable<Envelope<E>> {
    const started = defer(() => {
      this.start();
      return EMPTY;
    });
    const read = defer(() => this.log.read(this.id, after, receiver)) as Observable<Envelope<E>>;
    return started.pipe(this.reading(read));
  }

  private hold(): Subscription {
    this.subscribers += 1;
    this.graceTimer.unsubscribe();
    return new Subscription(() => {
      this.subscribers -= 1;
      if (this.subscribers === 0) this.deserted.next();
      this.waitForSubscribers();
    });
  }

  start(): void {
    if (this.state !== 'idle') return;
    this.state = 'opening';
    this.waitForSubscribers();
    this.open();
  }

  private open(): void {
    this.write(this.log.append(this.id, this.attempt, []));
  }

  unsubscribe(): void {
    const isIdle = this.state === 'idle';
    this.end('abandoned', new RunAbandonedError());
    this.unsubscribed.next();
    if (isIdle) this.open();
  }

  leave(): void {
    if (this.log.isShared && !this.how) this.lose(new RunAbandonedError());
    else this.unsubscribe();
  }

  get unread(): Observable<never> {
    return defer(() => {
      if (this.subscribers === 0) return EMPTY;
      const late = timer(SHUTDOWN_READING_TIME).pipe(tap(() => this.closed.error(new RunAbandonedError())));
      return merge(this.deserted, late).pipe(take(1), ignoreElements());
    });
  }

  /** Holds the run for open subscribers only: RxJS subscribes for a closed one too, and a run costs money. */
  private reading(read: Observable<Envelope<E>>) {
    return createOperator<never, Envelope<E>>((out) => {
      const next = (envelope: Envelope<E>) => {
        if (!isLeftEvent(envelope)) out.next(envelope);
      };
      const error = (thrown: unknown) => out.error(this.thrown ?? thrown); // the log only has a description of it
      // The reader must be there before the run starts, which may emit at once.
      if (!out.closed) {
        out.add(this.hold());
        out.add(this.closed.subscribe({ error }));
        out.add(this.opened.subscribe({ error, complete: () => subscribeUntilClosed(out, read, { next, error }) }));
      }
      return { next: noop, complete: noop };
    });
  }

  private subscribeSource(failure?: Observable<never>): void {
    const { source } = this;
    this.source = undefined;
    source?.(failure)
      .pipe(takeUntil(this.unsubscribed))
      .subscribe({
        next: (event) => {
          this.pending.push(this.toCompact(event));
          this.flush();
        },
        error: (error: unknown) => {
          if (isElsewhere(error) && this.log.isShared) this.lose(error);
          else this.end('failed', error);
        },
        complete: () => this.end('completed'),
      });
  }

  private end(how: 'completed' | 'failed' | 'abandoned', error?: unknown): void {
    if (this.how) return;
    const isOpen = this.state === 'running';
    this.how = how;
    this.thrown = error;
    this.graceTimer.unsubscribe();
    this.state = 'ending';
    if (isOpen) this.flush();
  }

  /** Leaves the end to others, since the log has none: to another process, or to a page that comes back. */
  private lose(error: Error, cause: unknown = error): void {
    if (this.state === 'left' || this.state === 'settled') return;
    this.state = 'left';
    this.how ??= 'abandoned';
    this.thrown = error;
    this.pending = [];
    this.graceTimer.unsubscribe();
    this.fail(error);
    this.opened.error(cause);
    this.unsubscribed.next();
    if (this.source) this.subscribeSource(throwError(() => cause));
  }

  /** The log has no end for which readers could wait. */
  private fail(error: Error): void {
    this.settling.error(error);
    this.closed.error(error);
  }

  private write(write: Observable<never>): void {
    this.isWriting = true;
    write.subscribe(this.written);
  }

  /** Made once: most runs write for each delta. */
  private readonly written = {
    error: (error: unknown) => {
      this.isWriting = false;
      this.lose(error instanceof RunTakenError ? error : new ExecutorLostError(), error);
    },
    complete: () => {
      this.isWriting = false;
      this.opened.complete();
      if (this.state === 'opening') this.state = 'running';
      if (this.state === 'ended') this.settle();
      else if (this.source) this.subscribeSource(this.how && throwError(() => this.thrown));
      this.flush();
    },
  };

  /** Starts writes in a loop, not by recursion: a log in memory completes at once. */
  private flush(): void {
    if (this.isFlushing) return;
    this.isFlushing = true;
    while (!this.isWriting) {
      const write = this.nextWrite();
      if (!write) break;
      this.write(write);
    }
    this.isFlushing = false;
  }

  private nextWrite(): Observable<never> | undefined {
    const events = this.pending;
    this.pending = [];
    if (events.length > 0) return this.log.append(this.id, this.attempt, events);
    if (this.state !== 'ending') return undefined;
    this.state = 'ended';
    const failure = this.how === 'completed' ? undefined : describeError(this.thrown);
    const time = isElsewhere(this.thrown) ? 0 : this.options.keep; // this process may execute the run again
    return this.log.end(this.id, this.attempt, {
      failure,
      expires: time === undefined ? undefined : asyncScheduler.now() + time,
      owner: this.options.owner,
    });
  }

  private settle(): void {
    this.state = 'settled';
    this.toCompact = createCompactor(); // the last one has all that the run has emitted
    // V8 keeps what the frames of an error refer to, such as the request of the model, until its stack is read.
    readStack(this.thrown);
    if (isElsewhere(this.thrown)) this.fail(this.thrown);
    else this.settling.complete();
  }

  private waitForSubscribers(time = this.grace): void {
    if (this.subscribers > 0 || this.status !== 'running' || this.grace === Infinity) return;
    this.graceTimer = asyncScheduler.schedule(() => this.abandon(), Math.min(time, MAX_TIMER_DELAY));
  }

  private abandon(): void {
    if (!this.mayStop) {
      this.unsubscribe();
      return;
    }
    this.mayStop = false;
    reportRejection(this.options.stop?.());
    this.waitForSubscribers(Math.max(this.grace, STOP_TIME));
  }
}

/** The error of a program may throw when it is read: that must not end the process. */
const readStack = (thrown: unknown) =>
  defer(() => [thrown instanceof Error && thrown.stack]).subscribe({ error: noop });
