import type { Observable } from 'rxjs';
import { differenceOf } from './compareMarbles.js';
import type { MarbleValues } from './playMarbles.js';

/**
 * Fails unless an Observable emits what a marble diagram shows, in virtual time.
 *
 * <span class="informal">`expectObservable` without a TestScheduler of your own, and with a failure that can be
 * read.</span>
 *
 * The failure shows both diagrams, one above the other, with a mark below the first difference, and the values there:
 *
 *     expected  200ms a 10ms (b|)
 *     actual    200ms a 10ms b 299ms |
 *                              ^
 *
 * The diagram has the syntax of `playMarbles`: a letter and a `-` last a millisecond, and each letter stands for a
 * value, as in RxJS, or for a list of values that are emitted in one millisecond. Values may be anything: dates, maps,
 * sets, errors and instances of classes are compared by their content; instances without visible fields by the
 * `toString` of their class. A stream that emits much more than is drawn is left, so that an endless one fails. It
 * works with any test runner. For a matcher of jest or vitest, see `marbleMatchers`.
 *
 * ```ts
 * expectMarbles(() => playMarbles('a 9ms (b|)', { a: 1, b: 2 }).pipe(delay(5)), '5ms a 9ms (b|)', {
 *   a: 1,
 *   b: 2,
 * });
 * ```
 *
 * @param create Creates the Observable. It is called in virtual time, at 0.
 * @param marbles The diagram. Without `|` or `#`, the Observable must not end within an hour.
 * @param values The value of each letter, or the list of its values. Default: the letter itself.
 * @param error The error of `#`. Default: any.
 * @throws Error if the Observable emits something else.
 */
export function expectMarbles<T>(
  create: () => Observable<T>,
  marbles: string,
  values: MarbleValues<T> = {},
  error?: unknown,
): void {
  const difference = differenceOf(create, marbles, values, error);
  if (difference !== undefined) throw new Error(difference);
}

/** What a matcher of jest and of vitest returns. */
export interface MarbleMatch {
  readonly pass: boolean;
  readonly message: () => string;
}

/**
 * Matchers for `expect.extend` of jest and of vitest: `expect(() => stream$).toEmitMarbles(marbles, values, error)`
 * fails as `expectMarbles` does.
 *
 * ```ts
 * expect.extend(marbleMatchers);
 * expect(() => source$.pipe(mask())).toEmitMarbles('a 9ms (b|)', { a: ['Write to '], b: ['•••'] });
 * ```
 *
 * In TypeScript, declare the matcher once, as
 * https://github.com/rivulet-rx/rivulet/blob/main/docs/testing.md#the-matcher-in-typescript shows for each runner.
 */
export const marbleMatchers = {
  toEmitMarbles: <T>(
    create: () => Observable<T>,
    marbles: string,
    values: MarbleValues<T> = {},
    error?: unknown,
  ): MarbleMatch => {
    const difference = differenceOf(create, marbles, values, error);
    return {
      pass: difference === undefined,
      message: () => difference ?? `The stream emits what ${marbles} shows, and should not.`,
    };
  },
};
