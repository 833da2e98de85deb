import { asyncScheduler, Observable, Subject, takeUntil } from 'rxjs';
import type { Subscription } from 'rxjs';
import { RivuletError } from '../core/errors.js';
import type { StreamEvent } from '../core/event.js';
import { maxTimerDelay, requireNumber } from '../core/options.js';
import { createEventLog } from './eventLog.js';
import type { Envelope } from './eventLog.js';

/** Options of `shareRun`. */
export interface ShareRunOptions {
  /**
   * How long the run goes on without a subscriber, in milliseconds. Then its source is unsubscribed, which aborts the
   * request and the tools, unless `stop` ends it. Default: no limit.
   */
  readonly grace?: number | undefined;
  /**
   * Called when the grace time is over, to end the run with what it has. If it goes on for another grace time, its
   * source is unsubscribed. Default: it is unsubscribed at once.
   */
  readonly stop?: (() => void) | undefined;
}

/** What a run is doing. `abandoned`: it had no subscriber for the grace time, or was unsubscribed. */
export type SharedRunStatus = 'idle' | 'running' | 'completed' | 'failed' | 'abandoned';

/** One run with any number of subscribers. */
export interface SharedRun<E extends StreamEvent = StreamEvent> {
  /** The events of the run, from its start. A subscriber that comes late receives what it missed, then the rest. */
  readonly events$: Observable<E>;
  readonly status: SharedRunStatus;
  /**
   * The events with their ids.
   *
   * @param after The `id` of the last envelope that was received. Default: the start of the run.
   */
  envelopes(after?: string): Observable<Envelope<E>>;
  /**
   * Reads the run at the speed of a slow receiver. Events that wait are not stored for this receiver: it continues in
   * the log that all share, where deltas are merged.
   *
   * @param receiver Receives the envelopes and the end.
   * @param after The `id` of the last envelope that was received. Default: the start of the run.
   */
  read(receiver: RunReceiver<E>, after?: string): RunReading;
  /** Starts the run without a subscriber. The first subscriber does this as well. */
  start(): void;
  /** Ends the run for all subscribers: its source is unsubscribed, and they receive a `RunAbandonedError`. */
  unsubscribe(): void;
}

/** Receives a run at its own speed. */
export interface RunReceiver<E> {
  /** @returns Whether the receiver takes more now. After false, call `resume` when it does. */
  next(envelope: Envelope<E>): boolean;
  error(thrown: unknown): void;
  complete(): void;
}

/** A receiver's subscription. */
export interface RunReading {
  resume(): void;
  unsubscribe(): void;
}

/** A shared run was ended before its result: nobody subscribed to it during its grace time, or it was unsubscribed. */
export class RunAbandonedError extends RivuletError {
  override readonly name = 'RunAbandonedError';
  readonly code = 'run_abandoned';

  constructor() {
    super('The run was ended before its result. Start another run, or raise `grace`, the time without subscribers.');
  }
}

/** How a run ended. */
type End = { readonly error: unknown } | 'completed';

/**
 * Shares one run among any number of subscribers.
 *
 * <span class="informal">Two tabs show one run; closing both does not stop it before the grace time is over.</span>
 *
 * It differs from `share` and `shareReplay` of RxJS in three ways. A run starts at most once, so a question is never
 * asked twice. Consecutive deltas are stored as one text, so a late subscriber receives few events, and the memory is
 * that of the text. And each event has an id from which another reader can continue.
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
export function shareRun<E extends StreamEvent>(
  source: Observable<E>,
  { grace = Infinity, stop }: ShareRunOptions = {},
): SharedRun<E> {
  requireNumber('grace', grace, 0);
  return new RunHub(source, grace, stop);
}

class RunHub<E extends StreamEvent> implements SharedRun<E> {
  readonly events$ = this.emit(undefined, ({ event }) => event);
  status: SharedRunStatus = 'idle';
  private readonly log = createEventLog<E>();
  /** Called after each event and at the end: each reads on. */
  private readonly readers = new Set<() => void>();
  private readonly abandoned = new Subject<void>();
  private end: End | undefined;
  private abandonment: Subscription | undefined;

  constructor(
    private readonly source: Observable<E>,
    private readonly grace: number,
    private stop: (() => void) | undefined,
  ) {}

  envelopes(after?: string): Observable<Envelope<E>> {
    return this.emit(after, (envelope) => envelope);
  }

  start(): void {
    if (this.status !== 'idle') return;
    this.status = 'running';
    this.waitForReaders();
    this.source.pipe(takeUntil(this.abandoned)).subscribe({
      next: (event) => {
        this.log.append(event);
        this.notify();
      },
      error: (error: unknown) => this.finish('failed', { error }),
      complete: () => this.finish('completed', 'completed'),
    });
  }

  unsubscribe(): void {
    this.finish('abandoned', { error: new RunAbandonedError() });
    this.abandoned.next();
  }

  read(receiver: RunReceiver<E>, after?: string): RunReading {
    const reader = this.log.reader(after);
    let isReading = false;
    let isFull = false;
    let hasLeft = false;
    const leave = () => {
      if (hasLeft) return;
      hasLeft = true;
      this.readers.delete(pump);
      this.waitForReaders();
    };
    const pump = () => {
      if (isReading) return; // the receiver has caused an event while it receives one: the loop below reads it
      isReading = true;
      for (let envelope; !hasLeft && !isFull && (envelope = reader.next());) isFull = !receiver.next(envelope);
      isReading = false;
      if (isFull || hasLeft || !this.end) return;
      leave();
      if (this.end === 'completed') receiver.complete();
      else receiver.error(this.end.error);
    };
    this.readers.add(pump);
    this.abandonment?.unsubscribe();
    pump();
    this.start();
    return {
      resume() {
        isFull = false;
        pump();
      },
      unsubscribe: leave,
    };
  }

  /** Emits what a reader reads. An Observable has no demand, so its reader is never full. */
  private emit<T>(after: string | undefined, select: (envelope: Envelope<E>) => T): Observable<T> {
    return new Observable((out) => {
      if (out.closed) return undefined; // RxJS subscribes for a closed subscriber too, and a run is billed
      const next = (envelope: Envelope<E>) => {
        out.next(select(envelope));
        return !out.closed;
      };
      const reading = this.read({ next, error: (thrown) => out.error(thrown), complete: () => out.complete() }, after);
      return () => reading.unsubscribe();
    });
  }

  private waitForReaders(): void {
    if (this.readers.size > 0 || this.status !== 'running' || this.grace === Infinity) return;
    this.abandonment = asyncScheduler.schedule(() => this.abandon(), Math.min(this.grace, maxTimerDelay));
  }

  private abandon(): void {
    const { stop } = this;
    if (!stop) {
      this.unsubscribe();
      return;
    }
    this.stop = undefined;
    stop();
    this.waitForReaders();
  }

  private finish(status: SharedRunStatus, end: End): void {
    if (this.end) return;
    this.status = status;
    this.end = end;
    this.abandonment?.unsubscribe();
    this.notify();
  }

  private notify(): void {
    for (const read of [...this.readers]) read();
  }
}
