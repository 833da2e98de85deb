import { Observable } from 'rxjs';
import type { OperatorFunction, Subscriber } from 'rxjs';
import { subscribeWith } from './subscribeWith.js';

/** What an operator does with its source. What is left out is passed on as it is. */
export interface Handlers<In> {
  next: (value: In) => void;
  error?: (error: unknown) => void;
  complete?: () => void;
  /** In place of `complete`: called when the source has completed and all of its resources are gone, to go on with something else. */
  afterwards?: () => void;
}

/**
 * Makes an operator with state of its own. The state is born in `start`, at each subscription: `retry`, `repeat` and a second subscriber get a
 * fresh one.
 *
 * The bare form, `new Observable(out => source.subscribe({ ... }))`, has two faults that this has not: a throwing handler becomes an uncaught
 * exception, and a synchronous source runs on after `take(1)`, because its subscription is not known before it returns. Here a throw is an
 * `error` notification, and the source is left in the very emission in which the output closes.
 *
 * Register timers and inner subscriptions with `out.add(...)`: they then end with the output, however it ends.
 *
 * @param start Called at each subscription with the output; returns the handlers.
 */
export function operate<In, Out>(start: (out: Subscriber<Out>) => Handlers<In>): OperatorFunction<In, Out> {
  return (source) =>
    new Observable<Out>((out) => {
      const handlers = start(out);
      if (out.closed) return;
      const { afterwards } = handlers;
      let completed = false;
      const ended = afterwards && (() => completed && attempt(out, afterwards));
      subscribeWith(out, source, { next, error, complete }, ended);

      function next(value: In) {
        try {
          handlers.next(value);
        } catch (thrown) {
          out.error(thrown);
        }
      }
      function error(thrown: unknown) {
        const { error: handle } = handlers;
        if (handle) attempt(out, () => handle(thrown));
        else out.error(thrown);
      }
      function complete() {
        completed = true;
        if (handlers.complete) attempt(out, handlers.complete);
        else if (!afterwards) out.complete();
      }
    });
}

function attempt(out: Subscriber<unknown>, work: () => void): void {
  try {
    work();
  } catch (thrown) {
    out.error(thrown);
  }
}
