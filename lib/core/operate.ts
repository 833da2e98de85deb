import { Observable } from 'rxjs';
import type { OperatorFunction, Subscriber } from 'rxjs';

/** What an operator does with its source. What is left out is passed on as it is. */
export interface Handlers<In> {
  next: (value: In) => void;
  error?: (error: unknown) => void;
  complete?: () => void;
}

/**
 * Makes an operator with state of its own. The state is born in `start`, at each subscription: `retry`, `repeat` and a second subscriber get a
 * fresh one.
 *
 * The bare form, `new Observable(out => source.subscribe({ ... }))`, has two faults that this has not: a throwing handler becomes an uncaught
 * exception, and a synchronous source runs on after `take(1)`, because its subscription is not known before it returns. Here a throw is an
 * `error` notification, and the source is left in the very emission in which the output closes.
 *
 * @param start Called at each subscription with the output; returns the handlers.
 */
export function operate<In, Out>(start: (out: Subscriber<Out>) => Handlers<In>): OperatorFunction<In, Out> {
  return (source) =>
    new Observable<Out>((out) => {
      const handlers = start(out);
      if (out.closed) return;
      // The inner Observable is there for its subscriber: known before the source is subscribed, it closes with the output even while a synchronous source
      // still subscribes. (`takeUntil` with a Subject does the same, for two more calls a value and five more objects a subscription.)
      new Observable<In>((inner) => {
        out.add(inner); // first of all, so that the source is torn down before what is added later (`finalize`)
        source.subscribe(inner);
      }).subscribe({
        next(value) {
          try {
            handlers.next(value);
          } catch (thrown) {
            out.error(thrown);
          }
        },
        error(thrown: unknown) {
          try {
            if (handlers.error) handlers.error(thrown);
            else out.error(thrown);
          } catch (again) {
            out.error(again);
          }
        },
        complete() {
          try {
            if (handlers.complete) handlers.complete();
            else out.complete();
          } catch (thrown) {
            out.error(thrown);
          }
        },
      });
    });
}
