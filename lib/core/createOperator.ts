import { Observable, type Observer, type OperatorFunction, type Subscriber } from 'rxjs';

/** Without a handler, a notification is passed on. */
export interface OperatorHandlers<In> {
  next: (value: In) => void;
  error?: (error: unknown) => void;
  complete?: () => void;
  /** After completion or leaving, not after an error, nor if the output is closed: continue with a source here. */
  afterTeardown?: () => void;
}

export interface OperatorSource {
  /** A source that is not subscribed yet is never subscribed. */
  unsubscribe(): void;
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
 * is unsubscribed. To leave the source and continue, call `source.unsubscribe()`, and continue in `afterTeardown`.
 *
 * ```ts
 * const numbered = createOperator<string, string>((out) => {
 *   let count = 0;
 *   return { next: (value) => out.next(`${++count}. ${value}`) };
 * });
 * of('a', 'b').pipe(numbered).subscribe(console.log); // '1. a', '2. b'
 * ```
 *
 * @param start Receives the output and the source at each subscription, and returns the handlers.
 * @returns The operator; each subscription has its own state.
 */
export function createOperator<In, Out>(
  start: (out: Subscriber<Out>, source: OperatorSource) => OperatorHandlers<In>,
): OperatorFunction<In, Out> {
  return (source) => new Observable<Out>((subscribeOperator<In, Out>).bind(undefined, source, start));
}

function subscribeOperator<In, Out>(
  source: Observable<In>,
  start: (out: Subscriber<Out>, source: OperatorSource) => OperatorHandlers<In>,
  out: Subscriber<Out>,
): void {
  const observer = new SourceObserver<In>(out, source);
  const handlers = start(out, observer);
  if (!out.closed) observer.subscribe(handlers);
}

export interface SourceHandlers<In> extends OperatorHandlers<In> {
  /** As `afterTeardown`, after an error. */
  afterFailure?: () => void;
}

/**
 * Subscribes until the output closes, even before `subscribe` returns. `takeUntil` takes two more calls per value.
 * Resources are released before `afterTeardown`, except those of a later source that completes synchronously.
 */
export function subscribeUntilClosed<T>(
  out: Subscriber<unknown>,
  source: Observable<T>,
  handlers: SourceHandlers<T>,
): OperatorSource {
  const observer = new SourceObserver<T>(out, source);
  observer.subscribe(handlers);
  return observer;
}

/** A class, and not closures: see "State and cost" in ARCHITECTURE.md. */
class SourceObserver<T> implements Observer<T>, OperatorSource {
  private handlers: SourceHandlers<T> | undefined;
  private subscriber: Subscriber<T> | undefined;
  private isSubscribed = false;
  private ended: 'completed' | 'failed' | 'left' | undefined;

  constructor(
    private readonly out: Subscriber<unknown>,
    private readonly source: Observable<T>,
  ) {}

  subscribe(handlers: SourceHandlers<T>): void {
    this.handlers = handlers;
    if (this.ended) this.resume();
    else new Observable<T>(this.start.bind(this)).subscribe(this);
  }

  private start(subscriber: Subscriber<T>): void {
    this.subscriber = subscriber;
    // First, so that the source is torn down before anything that is added to the output later (`finalize`).
    this.out.add(subscriber);
    try {
      this.source.subscribe(subscriber);
    } catch (thrown) {
      if (!this.ended) throw thrown;
      throwUnhandled(thrown); // a teardown function threw after the source had ended
    }
    this.isSubscribed = true;
    this.tearDown();
  }

  next(value: T): void {
    try {
      this.handlers?.next(value);
    } catch (thrown) {
      this.out.error(thrown);
    }
  }

  // Without a handler, the notification is passed on outside of `try`: RxJS reports the errors of teardown functions.

  error(thrown: unknown): void {
    if (this.handlers?.error) this.call('error', thrown);
    else this.out.error(thrown);
    this.end('failed');
  }

  complete(): void {
    if (this.handlers?.complete) this.call('complete');
    else if (!this.handlers?.afterTeardown) this.out.complete();
    this.end('completed');
  }

  unsubscribe(): void {
    if (this.ended) return;
    this.ended = 'left';
    try {
      this.subscriber?.unsubscribe(); // at once, also while a synchronous source emits
    } catch (thrown) {
      throwUnhandled(thrown);
    }
    this.tearDown();
  }

  private call(name: Exclude<keyof SourceHandlers<T>, 'next'>, argument?: unknown): void {
    try {
      this.handlers?.[name]?.(argument);
    } catch (thrown) {
      this.out.error(thrown);
    }
  }

  private end(ended: NonNullable<typeof this.ended>): void {
    this.ended = ended;
    this.tearDown();
  }

  private tearDown(): void {
    if (!this.ended || !this.isSubscribed) return;
    try {
      // RxJS would unsubscribe only after this notification: a source that was subscribed later would still be open.
      this.subscriber?.unsubscribe();
    } finally {
      this.resume(); // even if a teardown function throws; RxJS reports that error
    }
  }

  private resume(): void {
    if (!this.out.closed) this.call(this.ended === 'failed' ? 'afterFailure' : 'afterTeardown');
  }
}

/** As RxJS does: to `config.onUnhandledError`, otherwise thrown outside of the call. */
export function throwUnhandled(thrown: unknown): void {
  new Observable<never>((out) => out.error(thrown)).subscribe();
}
