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
  return (source) => new Observable<Out>((subscribeOperator<In, Out>).bind(undefined, source, start));
}

function subscribeOperator<In, Out>(
  source: Observable<In>,
  start: (out: Subscriber<Out>) => OperatorHandlers<In>,
  out: Subscriber<Out>,
): void {
  const handlers = start(out);
  if (!out.closed) subscribeUntilClosed(out, source, handlers);
}

/** The handlers of a source, which may subscribe to another source after a failure. */
export interface SourceHandlers<In> extends OperatorHandlers<In> {
  /** As `afterTeardown`, after an error: called when all resources of the source have been released. */
  afterFailure?: () => void;
}

/**
 * Subscribes to a source until an output closes, even while the source emits synchronously and `subscribe` has not
 * returned yet.
 *
 * The Observable in between provides a subscriber that exists before the source is subscribed. `takeUntil` with a
 * Subject does the same, with two more calls per value and five more objects per subscription.
 *
 * The resources of the source have been released when `afterTeardown` or `afterFailure` is called. This includes the
 * resources of a source that is subscribed later (by `retry`, `catchError` or `switchMap`), unless that source
 * completes synchronously: it returns its teardown function only after it has completed.
 *
 * @param out The output; when it closes, the source is unsubscribed. It fails with what a handler throws.
 * @param source The source.
 * @param handlers Receive the notifications.
 */
export function subscribeUntilClosed<T>(
  out: Subscriber<unknown>,
  source: Observable<T>,
  handlers: SourceHandlers<T>,
): void {
  const observer = new SourceObserver(out, source, handlers);
  new Observable<T>(observer.start.bind(observer)).subscribe(observer);
}

/**
 * Receives the notifications of a source, for its handlers.
 *
 * A class, and not closures: see "State and cost" in ARCHITECTURE.md.
 */
class SourceObserver<T> implements Observer<T> {
  /** Set when the first `subscribe` has returned. */
  private subscriber: Subscriber<T> | undefined;
  private ended: 'completed' | 'failed' | undefined;

  constructor(
    private readonly out: Subscriber<unknown>,
    private readonly source: Observable<T>,
    private readonly handlers: SourceHandlers<T>,
  ) {}

  start(subscriber: Subscriber<T>): void {
    // First, so that the source is torn down before anything that is added to the output later (`finalize`).
    this.out.add(subscriber);
    try {
      this.source.subscribe(subscriber);
    } catch (thrown) {
      if (!this.ended) throw thrown;
      reportUnhandled(thrown); // a teardown function threw after the source had ended
    }
    this.subscriber = subscriber;
    this.tearDown();
  }

  next(value: T): void {
    try {
      this.handlers.next(value);
    } catch (thrown) {
      this.out.error(thrown);
    }
  }

  // Without a handler, the notification is passed on outside of `try`: RxJS reports the errors of teardown functions.

  error(thrown: unknown): void {
    if (this.handlers.error) this.handle(thrown);
    else this.out.error(thrown);
    this.ended = 'failed';
    this.tearDown();
  }

  complete(): void {
    if (this.handlers.complete) this.handleEnd();
    else if (!this.handlers.afterTeardown) this.out.complete();
    this.ended = 'completed';
    this.tearDown();
  }

  private handle(failure: unknown): void {
    try {
      this.handlers.error?.(failure);
    } catch (thrown) {
      this.out.error(thrown);
    }
  }

  private handleEnd(): void {
    try {
      this.handlers.complete?.();
    } catch (thrown) {
      this.out.error(thrown);
    }
  }

  private tearDown(): void {
    if (!this.ended || !this.subscriber) return;
    try {
      // RxJS would unsubscribe only after this notification, and in the order in which teardowns were added, so a
      // source that was subscribed later would still be open.
      this.subscriber.unsubscribe();
    } finally {
      if (!this.out.closed) this.goOn(); // even if a teardown function throws; RxJS reports that error
    }
  }

  private goOn(): void {
    try {
      if (this.ended === 'completed') this.handlers.afterTeardown?.();
      else this.handlers.afterFailure?.();
    } catch (thrown) {
      this.out.error(thrown);
    }
  }
}

/** Reports an error as RxJS reports one that no subscriber handles. */
export function reportUnhandled(thrown: unknown): void {
  new Observable<never>((out) => out.error(thrown)).subscribe();
}
