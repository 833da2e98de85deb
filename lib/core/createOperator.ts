import { Observable } from 'rxjs';
import type { Observer, OperatorFunction, Subscriber } from 'rxjs';

/** What an operator does with its source. What is left out is passed on as it is. */
export interface OperatorHandlers<In> {
  next: (value: In) => void;
  error?: (error: unknown) => void;
  complete?: () => void;
  /** In place of `complete`: called when the source has completed and all of its resources are gone, to go on with something else. */
  afterTeardown?: () => void;
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
export function createOperator<In, Out>(
  start: (out: Subscriber<Out>) => OperatorHandlers<In>,
): OperatorFunction<In, Out> {
  return (source) =>
    new Observable<Out>((out) => {
      const handlers = start(out);
      if (out.closed) return;
      const { afterTeardown: afterwards } = handlers;
      let completed = false;
      const ended = afterwards && (() => completed && attempt(out, afterwards));
      subscribeUntilClosed(out, source, { next, error, complete }, ended);

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

/**
 * Subscribes to a source that is left when an output closes: also in the very emission in which that happens, while a synchronous source still
 * subscribes and has returned no subscription yet.
 *
 * The Observable in between is there for its subscriber, which is known before the source is subscribed. `takeUntil` with a Subject does the same, for two
 * more calls a value and five more objects a subscription.
 *
 * @param out The output.
 * @param source What is subscribed.
 * @param observer Takes the notifications. It must not throw: RxJS would report it, and nobody would be told.
 * @param tornDown Called when the subscription has ended, however it did, and all of the source's resources are gone. Default: nothing.
 */
export function subscribeUntilClosed<T>(
  out: Subscriber<unknown>,
  source: Observable<T>,
  observer: Observer<T>,
  tornDown?: () => void,
): void {
  new Observable<T>((inner) => {
    out.add(inner); // first of all, so that the source is torn down before what is added to the output later (`finalize`)
    source.subscribe(inner);
    if (tornDown) inner.add(tornDown); // last of all: RxJS tears down in the order of what was added
  }).subscribe(observer);
}
