import { isObservable, NEVER, take, takeUntil, timer, type Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { Plain } from '../core/typesOf.js';

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

/** More values than a spec looks at: an Observable that emits more never ends. */
const MOST_VALUES = 200_000;

/**
 * Subscribes to an Observable in virtual time, and returns what it emitted and when.
 *
 * <span class="informal">A whole agent, with its delays, in no time.</span>
 *
 * RxJS's clock and timers are virtual: delays, retries, deadlines and the pauses of a scripted model take no time, and
 * their times are exact. `asyncScheduler.now()` begins at 0; `Date.now()` is the clock of the host. Promises are not
 * virtual: what a tool or a model does with a Promise happens after the test. For an agent, see `runAgent`.
 *
 * ```ts
 * const { values, end } = inVirtualTime(() => agent.stream('How warm is it in Oslo?'));
 * expect(values.map(({ at, value }) => [at, value.type])).toEqual([[200, 'text'], ...]);
 * ```
 *
 * @param create Creates the Observable. It is called in virtual time, at 0.
 * @param limit The longest time, in milliseconds. Default: a day.
 * @returns The values with their times, and how it ended.
 * @throws Error if there are more than 200,000 values: the Observable is endless.
 */
export function inVirtualTime<T>(create: () => Observable<T>, limit = LONGEST_RUN): Plain<VirtualRun<T>> {
  const run = runVirtually(create, limit, MOST_VALUES);
  if (run.values.length <= MOST_VALUES) return run;
  throw new Error(
    `The Observable emits more than ${MOST_VALUES} values in ${run.at} ms of virtual time. ` +
      'Bound it with take(), or pass a limit of time to inVirtualTime.',
  );
}

/** An Observable with more values than `maxValues` is left after one more, and is `open` then. */
export function runVirtually<T>(create: () => Observable<T>, limit: number, maxValues: number): VirtualRun<T> {
  const values: TimedValue<T>[] = [];
  let end: Omit<VirtualRun<T>, 'values'> = { end: 'open', at: limit };
  const scheduler = new TestScheduler(() => true);
  scheduler.run(() => {
    const now = () => Math.floor(scheduler.now() + 1e-7);
    const ended = (): typeof end => {
      if (values.length > maxValues) return { end: 'open', at: now() };
      return now() < limit ? { end: 'completed', at: now() } : end;
    };
    createSource(create)
      .pipe(take(maxValues + 1), takeUntil(limit === Infinity ? NEVER : timer(limit)))
      .subscribe({
        next: (value) => values.push({ at: now(), value }),
        error: (error: unknown) => (end = { end: 'failed', error, at: now() }),
        complete: () => (end = ended()),
      });
  });
  return { values, ...end };
}

/** JavaScript, or a habit from RxJS's TestScheduler, may pass the Observable itself. */
function createSource<T>(create: () => Observable<T>): Observable<T> {
  const source: unknown = typeof create === 'function' ? create() : undefined;
  if (isObservable(source)) return source as Observable<T>;
  throw new TypeError('Pass a function that returns an Observable, which is called in virtual time: () => source$.');
}
