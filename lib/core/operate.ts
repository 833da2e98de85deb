import { Observable, Subject, takeUntil } from 'rxjs';
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
      const closed = new Subject<void>();
      out.add(() => closed.next());
      // Returned as well, so that the source is torn down before what was added to the output later (`finalize`): in its own `complete`, a
      // subscriber no longer listens to `closed`.
      return source.pipe(takeUntil(closed)).subscribe({
        next(value) {
          if (out.closed) return;
          try {
            handlers.next(value);
          } catch (thrown) {
            out.error(thrown);
          }
        },
        error(thrown: unknown) {
          if (out.closed) return; // `takeUntil` completes when the output has closed
          try {
            if (handlers.error) handlers.error(thrown);
            else out.error(thrown);
          } catch (again) {
            out.error(again);
          }
        },
        complete() {
          if (out.closed) return;
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
