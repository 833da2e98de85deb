import { Observable } from 'rxjs';
import type { Subscriber, Subscription } from 'rxjs';

/**
 * Calls a function at each subscription, and emits the values of the Observable that it returns, as
 * `defer(() => create(...args))` does.
 *
 * A bound function, and not a closure: V8 keeps the optimized code of a closure only while such a closure exists. See
 * "State and cost" in ARCHITECTURE.md.
 *
 * @param create A function of a module. An error that it throws becomes an error notification.
 * @param args Its arguments.
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
