import { NEVER, takeUntil, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';

/** What an Observable did in virtual time. */
export interface VirtualRun<T> {
  /** The values, each with its time in milliseconds since the subscription. */
  readonly values: readonly TimedValue<T>[];
  /** How it ended; `open` if it had not ended at the limit. */
  readonly end: 'completed' | 'failed' | 'open';
  /** The error. Present if it failed. */
  readonly error?: unknown;
  /** The time of the end, in milliseconds since the subscription. */
  readonly at: number;
}

/** A value and its time. */
export interface TimedValue<T> {
  readonly at: number;
  readonly value: T;
}

/** A day of virtual time: a run that has not ended then never ends. */
const LONGEST_RUN = 86_400_000;

/**
 * Subscribes to an Observable in virtual time, and returns what it emitted and when.
 *
 * <span class="informal">A whole agent, with its delays, in no time.</span>
 *
 * RxJS's clock and timers are virtual: delays, retries, deadlines and the pauses of a scripted model take no time, and
 * their times are exact. Promises are not virtual: what a tool or a model does with a Promise happens after the test.
 *
 * ```ts
 * const { values, end } = inVirtualTime(() => agent.stream('How warm is it in Oslo?'));
 * expect(values.map(({ at, value }) => [at, value.type])).toEqual([[200, 'text'], ...]);
 * ```
 *
 * @param create Creates the Observable. It is called in virtual time, at 0.
 * @param limit The longest time, in milliseconds. Default: a day.
 * @returns The values with their times, and how it ended.
 */
export function inVirtualTime<T>(create: () => Observable<T>, limit = LONGEST_RUN): VirtualRun<T> {
  const values: TimedValue<T>[] = [];
  let end: Omit<VirtualRun<T>, 'values'> = { end: 'open', at: limit };
  const scheduler = new TestScheduler(() => true);
  scheduler.run(() => {
    const now = () => Math.floor(scheduler.now() + 1e-7);
    create()
      .pipe(takeUntil(limit === Infinity ? NEVER : timer(limit)))
      .subscribe({
        next: (value) => values.push({ at: now(), value }),
        error: (error: unknown) => (end = { end: 'failed', error, at: now() }),
        complete: () => (end = now() < limit ? { end: 'completed', at: now() } : end),
      });
  });
  return { values, ...end };
}
