import { Observable } from 'rxjs';
import type { Subscriber, Subscription } from 'rxjs';

/**
 * `defer(() => create(...args))` with a bound function: V8 keeps the optimized code of a closure only while such a
 * closure exists. See "State and cost" in ARCHITECTURE.md.
 */
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
