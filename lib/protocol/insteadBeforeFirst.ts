import { defer, Observable } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { subscribeWith } from '../core/subscribeWith.js';

/**
 * Goes on with another source after an error, as long as nothing was emitted.
 *
 * ```
 * source   --#       (instead gives other)
 * other      --a-|
 * result   ----a-|   what was shown is not shown twice
 * ```
 *
 * @param instead The other source for an error; undefined: the error stands.
 * @returns The source's values, or the other's.
 */
export function insteadBeforeFirst<T>(instead: (error: unknown) => Observable<T> | undefined): MonoTypeOperatorFunction<T> {
  return (source) =>
    new Observable<T>((out) => {
      let emitted = false;
      let other: Observable<T> | undefined;
      // `tap` and `catchError` in one: on the way of every delta, a call less. As with them, the other source begins when the first is gone.
      const observer = {
        next(value: T) {
          emitted = true;
          out.next(value);
        },
        error(error: unknown) {
          if (emitted) out.error(error);
          else other = defer(() => instead(error) ?? new Observable<never>((failed) => failed.error(error)));
        },
        complete: () => out.complete(),
      };
      subscribeWith(out, source, observer, () => other?.subscribe(out));
    });
}
