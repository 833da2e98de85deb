import { asyncScheduler, EMPTY, Subscription } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import { TimeoutError } from '../core/timeoutError.js';
import type { TimeoutPhase } from '../core/timeoutError.js';
import { maxTimerDelay } from '../core/options.js';

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
const defaultEach = 120_000;

/** The default of `body`. */
const defaultBody = 300_000;

/**
 * Errors when the source is silent for too long. Meant for the bytes of a response, where a keep-alive comment is a
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
 * @returns The source's values. Errors with TimeoutError.
 */
export function idleTimeout<T>(
  { connect = Infinity, first = Infinity, each = defaultEach, body = defaultBody }: HttpTimeoutOptions = {},
  begins: (value: T) => boolean = () => true,
  headers: Observable<boolean> = EMPTY,
): MonoTypeOperatorFunction<T> {
  return createOperator((out) => {
    const createTimer = (phase: TimeoutPhase, limit: number | false) =>
      new SilenceTimer(limit === false ? Infinity : limit, (exceeded) => out.error(new TimeoutError(phase, exceeded)));
    const timers = {
      connect: createTimer('connect', connect),
      first: createTimer('first', first),
      body: createTimer('body', body),
      each: createTimer('each', each),
    };
    let current = timers.body; // that each value restarts
    const stop = () => {
      for (const timer of Object.values(timers)) timer.stop();
    };
    const onHeaders = (isStream: boolean) => {
      timers.connect.stop();
      if (isStream) timers.body.start();
      else stop();
    };
    out.add(stop);
    out.add(headers.subscribe({ next: onHeaders, error: (error: unknown) => out.error(error) }));
    timers.connect.start();
    timers.first.start();
    return {
      next(value) {
        out.next(value);
        if (current === timers.body && !out.closed && begins(value)) {
          stop();
          current = timers.each;
          current.start();
        }
        current.silentSince = asyncScheduler.now(); // after the subscriber has handled it
      },
    };
  });
}

/**
 * Calls back after a silence. A value only records the time, and the timer, when it fires, is scheduled again for the
 * remaining time. RxJS's `timeout` schedules again for each value, which was measured at about 2 us.
 */
class SilenceTimer {
  silentSince = 0;
  private scheduled = Subscription.EMPTY;

  constructor(
    private readonly limit: number,
    private readonly onSilence: (limit: number) => void,
  ) {}

  start(): void {
    this.stop();
    this.silentSince = asyncScheduler.now();
    this.schedule();
  }

  stop(): void {
    this.scheduled.unsubscribe();
  }

  private schedule(): void {
    if (this.limit === Infinity) return;
    const remaining = this.limit - (asyncScheduler.now() - this.silentSince);
    if (remaining <= 0) this.onSilence(this.limit);
    else this.scheduled = asyncScheduler.schedule(() => this.schedule(), Math.min(remaining, maxTimerDelay));
  }
}
