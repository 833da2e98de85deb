import { asyncScheduler } from 'rxjs';
import type { MonoTypeOperatorFunction, Subscriber, Subscription, Unsubscribable } from 'rxjs';
import { createOperator, type OperatorHandlers } from '../core/createOperator.js';
import { TimeoutError } from '../core/timeoutError.js';
import { MAX_TIMER_DELAY, requireNumber } from '../core/options.js';

export interface IdleTimeoutOptions {
  /** Milliseconds until the first content; announcements are none. Default: no limit, models think for minutes. */
  readonly first?: number | undefined;
  /** From the first content on, between two values, in milliseconds. `false`: no limit. Default: 120000. */
  readonly each?: number | false | undefined;
}

export interface HttpTimeoutOptions extends IdleTimeoutOptions {
  /** Until the headers, in milliseconds. Some servers send them with the first content. Default: no limit. */
  readonly connect?: number | undefined;
  /** Milliseconds between two bytes before the first content: broken compression is silent. Default: 300000. */
  readonly body?: number | false | undefined;
  /** Milliseconds until the `finish`, with retries: ends a server that sends a byte now and then. Default: no limit. */
  readonly turn?: number | undefined;
}

const DEFAULT_EACH = 120_000;

const DEFAULT_BODY = 300_000;

/** No runtime and no proxy ends the requests of such a `fetch`. */
const unlimitedFetches = new WeakSet<typeof fetch>();

export const declareUnlimited = (send: typeof fetch): typeof fetch => {
  unlimitedFetches.add(send);
  return send;
};

/** A request that nobody else ends ends as a silent response does, unless `first` limits it. */
export const limitsFor = (send: typeof fetch | undefined, timeout: HttpTimeoutOptions = {}): HttpTimeoutOptions =>
  send && unlimitedFetches.has(send) && timeout.first === undefined ? { connect: DEFAULT_BODY, ...timeout } : timeout;

/** Bytes are watched: a keep-alive is a sign of life. A subscriber's own time does not count. */
export function idleTimeout<T>(
  options: HttpTimeoutOptions = {},
  begins: (value: T) => boolean = () => true,
  listenToHeaders?: (listener: (isStream: boolean) => void) => void,
): MonoTypeOperatorFunction<T> {
  for (const [phase, limit] of Object.entries(options))
    if (limit !== false) requireNumber(`timeout.${phase}`, limit, 0);
  const { connect = Infinity, first = Infinity, each = DEFAULT_EACH, body = DEFAULT_BODY } = options;
  const limits = { connect, first, body: body === false ? Infinity : body, each: each === false ? Infinity : each };
  return createOperator((out) => {
    const watch = new SilenceWatch(out, limits, begins);
    listenToHeaders?.((isStream) => watch.onHeaders(isStream));
    return watch;
  });
}

/** How late a timer is in a process that is only busy, in milliseconds. */
const PUNCTUAL = 20;

/** One timer for all limits: RxJS's `timeout` schedules for each value, at about 2 us (measured). */
class SilenceWatch<T> implements OperatorHandlers<T>, Unsubscribable {
  private phase: 'connect' | 'body' | 'each' = 'connect';
  private startedAt = asyncScheduler.now();
  private silentSince = this.startedAt;
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

  unsubscribe(): void {
    this.timer?.unsubscribe();
  }

  private enter(phase: 'body' | 'each'): void {
    this.phase = phase;
    this.silentSince = asyncScheduler.now();
    if (!this.timer) this.check();
  }

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

  /** A late check shows a blocked process, for as long before the check was due: data may wait to be read. */
  private ignoreBlockedTime(now: number): void {
    const late = this.timer ? now - this.due : 0;
    const blocked = late > PUNCTUAL ? 2 * late : 0;
    this.startedAt = Math.min(this.startedAt + blocked, now);
    this.silentSince = Math.min(this.silentSince + blocked, now);
  }
}
