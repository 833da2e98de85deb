import { asyncScheduler, EMPTY } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable, Subscriber, Subscription, Unsubscribable } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import type { OperatorHandlers } from '../core/createOperator.js';
import { TimeoutError } from '../core/timeoutError.js';
import { MAX_TIMER_DELAY, requireNumber } from '../core/options.js';

/** How long a response may be silent. */
export interface IdleTimeoutOptions {
  /**
   * Until the first content, in milliseconds. Default: no limit, since models that think take minutes. Events that only
   * announce the response (`response.created`) are not content.
   */
  readonly first?: number | undefined;
  /** From the first content on, between two values, in milliseconds. `false`: no limit. Default: 120000. */
  readonly each?: number | false | undefined;
}

/** How long a response over HTTP may take to begin, be silent, and take in total. */
export interface HttpTimeoutOptions extends IdleTimeoutOptions {
  /**
   * From the request to the headers of its response, in milliseconds. Some servers send the headers with the first
   * content, so a model that thinks may need minutes. Default: no limit.
   */
  readonly connect?: number | undefined;
  /**
   * From the headers of the response to the first content, between two bytes of the body, in milliseconds. A model that
   * thinks is silent for as long; a broken compression, or a connection that is gone, is silent for ever. `false`: no
   * limit. Default: 300000, as in Node's `fetch`.
   */
  readonly body?: number | false | undefined;
  /**
   * From the subscription to the `finish`, with all retries, in milliseconds. A server that sends a byte now and then
   * is never silent: only this limit, or one of the run, ends it. Default: no limit.
   */
  readonly turn?: number | undefined;
}

/** The default of `each`. */
const DEFAULT_EACH = 120_000;

/** The default of `body`. */
const DEFAULT_BODY = 300_000;

/** Functions like `fetch` without any limit of time: no runtime and no proxy ends their requests. */
const unlimitedFetches = new WeakSet<typeof fetch>();

/** Says that no runtime and no proxy ends a request that is never answered. */
export const declareUnlimited = (send: typeof fetch): typeof fetch => {
  unlimitedFetches.add(send);
  return send;
};

/** The limits of a request: one that nobody else ends ends as a silent response does, unless `first` limits it. */
export const limitsFor = (send: typeof fetch | undefined, timeout: HttpTimeoutOptions = {}): HttpTimeoutOptions =>
  send && unlimitedFetches.has(send) && timeout.first === undefined ? { connect: DEFAULT_BODY, ...timeout } : timeout;

/**
 * Fails when the source is silent for too long. Meant for the bytes of a response, where a keep-alive comment is a
 * sign of life.
 *
 * Only the source's silence counts: the time that a subscriber takes to handle a value does not.
 *
 * @param options The limits.
 * @param begins Whether there was content, called after a value was emitted. Until then, `first` is the limit, measured
 * from the subscription. Default: any value is content.
 * @param headers Emits whether the response is the requested stream, when its headers have arrived. Until then,
 * `connect` is a limit too, and from then on, `body`; for another response there is none, since reading its error has a
 * limit of its own. Default: neither is a limit.
 * @returns The source's values. Fails with TimeoutError.
 * @throws ConfigurationError `options` if a limit is not a number of at least 0.
 */
export function idleTimeout<T>(
  { connect = Infinity, first = Infinity, each = DEFAULT_EACH, body = DEFAULT_BODY }: HttpTimeoutOptions = {},
  begins: (value: T) => boolean = () => true,
  headers: Observable<boolean> = EMPTY,
): MonoTypeOperatorFunction<T> {
  const limits = { connect, first, body: body === false ? Infinity : body, each: each === false ? Infinity : each };
  for (const [phase, limit] of Object.entries(limits)) requireNumber(`timeout.${phase}`, limit, 0);
  return createOperator((out) => {
    const watch = new SilenceWatch(out, limits, begins);
    const onHeaders = (isStream: boolean) => watch.onHeaders(isStream);
    out.add(headers.subscribe({ next: onHeaders, error: (error: unknown) => out.error(error) }));
    return watch;
  });
}

/** By how much a timer is late in a process that is only busy, in milliseconds. */
const PUNCTUAL = 20;

/**
 * Watches one response. A value only records the time, and one timer serves all limits: when it fires, it is scheduled
 * again for the remaining time. RxJS's `timeout` schedules again for each value, which was measured at about 2 us.
 */
class SilenceWatch<T> implements OperatorHandlers<T>, Unsubscribable {
  /** The limit that each value restarts. */
  private phase: 'connect' | 'body' | 'each' = 'connect';
  private startedAt = asyncScheduler.now();
  private silentSince = this.startedAt;
  /** When the next check is due. */
  private due = this.startedAt;
  private timer: Subscription | undefined;

  constructor(
    private readonly out: Subscriber<T>,
    private readonly limits: Readonly<Record<'connect' | 'first' | 'body' | 'each', number>>,
    private readonly begins: (value: T) => boolean,
  ) {
    out.add(this);
    this.check();
  }

  next(value: T): void {
    this.out.next(value);
    if (this.phase !== 'each' && !this.out.closed && this.begins(value)) this.enter('each');
    else this.silentSince = asyncScheduler.now(); // after the subscriber has handled it
  }

  onHeaders(isStream: boolean): void {
    if (isStream) this.enter('body');
    else this.unsubscribe();
  }

  /** Ends all limits. Called when the output closes, too. */
  unsubscribe(): void {
    this.timer?.unsubscribe();
  }

  private enter(phase: 'body' | 'each'): void {
    this.phase = phase;
    this.silentSince = asyncScheduler.now();
    if (!this.timer) this.check();
  }

  /** Errors if a limit is exceeded; otherwise waits for the earliest time at which one can be. */
  private check(): void {
    const { phase, limits } = this;
    const now = asyncScheduler.now();
    this.ignoreBlockedTime(now);
    const silence = limits[phase] - (now - this.silentSince);
    const first = phase === 'each' ? Infinity : limits.first - (now - this.startedAt);
    const remaining = Math.min(silence, first);
    this.timer = undefined;
    if (remaining <= 0) {
      const exceeded = silence <= 0 ? phase : 'first';
      this.out.error(new TimeoutError(exceeded, limits[exceeded]));
    } else if (remaining < Infinity) {
      // No later than the end of a limit that begins to apply in the meantime.
      const next = phase === 'each' ? Infinity : Math.min(limits.body, limits.each);
      const delay = Math.min(remaining, next, MAX_TIMER_DELAY);
      this.due = now + Math.max(delay, 1);
      this.timer = asyncScheduler.schedule(() => this.check(), Math.max(delay, 1));
    }
  }

  /**
   * A late check shows that the process was blocked or suspended, or its clock set: data may have arrived and wait to be
   * read. The block is taken to have begun as long before the check was due as it ended after it.
   */
  private ignoreBlockedTime(now: number): void {
    const late = this.timer ? now - this.due : 0;
    const blocked = late > PUNCTUAL ? 2 * late : 0;
    this.startedAt = Math.min(this.startedAt + blocked, now);
    this.silentSince = Math.min(this.silentSince + blocked, now);
  }
}
