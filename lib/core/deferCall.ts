import { Observable, type Subscriber, type Subscription } from 'rxjs';

/** `defer` with a bound function: see "State and cost" in ARCHITECTURE.md. */
export function deferCall<A extends readonly unknown[], T>(
  create: (...args: A) => Observable<T>,
  ...args: A
): Observable<T> {
  return new Observable<T>((subscribeToResult<A, T>).bind(undefined, create, args));
}

function subscribeToResult<A extends readonly unknown[], T>(
  create: (...args: A) => Observable<T>,
  args: A,
  out: Subscriber<T>,
): Subscription {
  return create(...args).subscribe(out);
}
