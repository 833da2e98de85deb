import { catchError, defer, Observable, tap } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';

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
    defer(() => {
      let emitted = false;
      return source.pipe(
        tap(() => (emitted = true)),
        catchError((error: unknown) => (emitted ? undefined : instead(error)) ?? new Observable<never>((out) => out.error(error))),
      );
    });
}
