import { Observable } from 'rxjs';
import type { Observer, OperatorFunction, Subscriber } from 'rxjs';

/** What an operator does with the notifications of its source. An omitted handler passes its notification on. */
export interface OperatorHandlers<In> {
  next: (value: In) => void;
  error?: (error: unknown) => void;
  complete?: () => void;
  /**
   * Called when the source has completed and all of its resources have been released. Use it instead of `complete` to
   * continue with another source. It is not called after an error, nor if the output is closed.
   */
  afterTeardown?: () => void;
}

/**
 * Creates an operator that has state.
 *
 * <span class="informal">`new Observable((out) => source.subscribe({ ... }))`, without its pitfalls.</span>
 *
 * `start` creates the state. It is called at each subscription, so a second subscriber, `repeat` and `retry` each start
 * with fresh state. The plain form has two pitfalls: an exception in a handler is uncaught, and a synchronous source
 * continues after `take(1)`, because no subscription exists before `subscribe` returns. With `createOperator`, an
 * exception becomes an `error` notification, and the source is unsubscribed in the same emission in which the output
 * closes. If the output is already closed, the source is not subscribed.
 *
 * Pass timers and inner subscriptions to `out.add(...)`. They are then unsubscribed when the output completes, fails or
 * is unsubscribed.
 *
 * ```ts
 * const numbered = createOperator<string, string>((out) => {
 *   let count = 0;
 *   return { next: (value) => out.next(`${++count}. ${value}`) };
 * });
 * of('a', 'b').pipe(numbered).subscribe(console.log); // '1. a', '2. b'
 * ```
 *
 * @param start Receives the output at each subscription and returns the handlers.
 * @returns The operator; each subscription has its own state.
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
      const continueAfter = afterTeardown && (() => completed && attempt(out, afterTeardown));
      subscribeUntilClosed(out, source, { next, error, complete }, continueAfter);

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
 * Subscribes to a source until an output closes, even while the source emits synchronously and `subscribe` has not
 * returned yet.
 *
 * The Observable in between provides a subscriber that exists before the source is subscribed. `takeUntil` with a
 * Subject does the same, with two more calls per value and five more objects per subscription.
 *
 * @param out The output; when it closes, the source is unsubscribed.
 * @param source The source.
 * @param observer Receives the notifications. It must not throw: RxJS would report the exception as unhandled, and no
 * subscriber would be notified.
 * @param afterTeardown Called when the source has completed or failed and all of its resources have been released,
 * unless the output is closed by then. This includes the resources of a source that is subscribed later (by `retry`,
 * `catchError` or `switchMap`), unless that source completes synchronously: it returns its teardown function only after
 * it has completed. Default: nothing is called.
 */
export function subscribeUntilClosed<T>(
  out: Subscriber<unknown>,
  source: Observable<T>,
  observer: Observer<T>,
  afterTeardown?: () => void,
): void {
  const subscribe = (subscriber: Subscriber<T>) => {
    // First, so that the source is torn down before anything that is added to the output later (`finalize`).
    out.add(subscriber);
    source.subscribe(subscriber);
  };
  if (afterTeardown) subscribeAndTearDown(out, subscribe, observer, afterTeardown);
  else new Observable<T>(subscribe).subscribe(observer);
}

function subscribeAndTearDown<T>(
  out: Subscriber<unknown>,
  subscribe: (subscriber: Subscriber<T>) => void,
  observer: Observer<T>,
  afterTeardown: () => void,
): void {
  let subscriber: Subscriber<T> | undefined; // set when the first `subscribe` has returned
  let ended = false;
  const tearDown = () => {
    if (!ended || !subscriber) return;
    try {
      // RxJS would unsubscribe only after this notification, and in the order in which teardowns were added, so a
      // source that was subscribed later would still be open.
      subscriber.unsubscribe();
    } finally {
      if (!out.closed) afterTeardown(); // even if a teardown function throws; RxJS reports that error
    }
  };
  const start = (inner: Subscriber<T>) => {
    try {
      subscribe(inner);
    } catch (thrown) {
      if (!ended) throw thrown;
      reportUnhandled(thrown); // a teardown function threw after the source had ended
    }
    subscriber = inner;
    tearDown();
  };
  new Observable<T>(start).subscribe({
    next: observer.next, // passed on directly, to save one call per value
    error(thrown: unknown) {
      observer.error(thrown);
      ended = true;
      tearDown();
    },
    complete() {
      observer.complete();
      ended = true;
      tearDown();
    },
  });
}

/** Reports an error as RxJS reports one that no subscriber handles. */
export function reportUnhandled(thrown: unknown): void {
  new Observable<never>((out) => out.error(thrown)).subscribe();
}
