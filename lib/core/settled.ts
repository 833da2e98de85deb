import { from, isObservable, of, type Observable, type ObservableInput } from 'rxjs';

/** A value is emitted at once; an array is one value. */
export function settled<T>(value: T | ObservableInput<T>): Observable<T> {
  if (isObservable(value)) return value;
  return isThenable(value) ? from(value) : of(value as T);
}

/** The query builders of databases are thenable, and not Promises. */
export const isThenable = (value: unknown): value is PromiseLike<never> =>
  typeof (value as PromiseLike<never> | null)?.then === 'function';
