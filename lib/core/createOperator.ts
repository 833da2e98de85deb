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
      const { afterTeardown } = handlers;
      let completed = false;
      const tornDown = afterTeardown && (() => completed && attempt(out, afterTeardown));
      subscribeUntilClosed(out, source, { next, error, complete }, tornDown);

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
        else if (!afterTeardown) out.complete();
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
 * @param source The source to subscribe to.
 * @param observer Receives the notifications. It must not throw: RxJS would report the error outside the stream.
 * @param afterTeardown Called once the source has completed or failed and all of its resources are gone, unless the output is closed by then. Default:
 * nothing.
 */
export function subscribeUntilClosed<T>(
  out: Subscriber<unknown>,
  source: Observable<T>,
  observer: Observer<T>,
  afterTeardown?: () => void,
): void {
  const barrier = afterTeardown && teardownBarrier(source, observer, () => out.closed || afterTeardown());
  new Observable<T>((upstream) => {
    out.add(upstream); // first, so that the source is torn down before what is added to the output later (`finalize`)
    if (barrier) barrier.subscribe(upstream);
    else source.subscribe(upstream);
  }).subscribe(barrier?.observer ?? observer);
}

/**
 * Goes on when a source has completed or failed and its resources are gone.
 *
 * A teardown that is added to the subscriber would run too early: RxJS tears down in the order of what was added, and `retry`, `catchError` and
 * `switchMap` add their later subscriptions after it. So the barrier unsubscribes from everything upstream itself, and waits for the initial `subscribe`
 * to return, since a source that ends synchronously returns its teardown last. An inner source that is subscribed late and ends synchronously cannot be
 * waited for: its `subscribe` returns to the operator that called it, after the end was passed on.
 */
function teardownBarrier<T>(source: Observable<T>, { next, error, complete }: Observer<T>, goOn: () => void) {
  let upstream: Subscriber<T> | undefined;
  let subscribing = true;
  let ended = false;
  const end = () => {
    ended = true;
    try {
      upstream?.unsubscribe();
    } finally {
      if (!subscribing) goOn(); // also when a teardown throws, which RxJS reports
    }
  };
  return {
    subscribe(subscriber: Subscriber<T>): void {
      upstream = subscriber;
      try {
        source.subscribe(subscriber);
      } catch (thrown) {
        if (!ended) throw thrown;
        new Observable((report) => report.error(thrown)).subscribe(); // a teardown threw after the end: RxJS reports it
      }
      subscribing = false;
      if (ended) goOn();
    },
    observer: {
      next, // the very function: no further call for each value
      error(thrown: unknown): void {
        error(thrown);
        end();
      },
      complete(): void {
        complete();
        end();
      },
    },
  };
}
