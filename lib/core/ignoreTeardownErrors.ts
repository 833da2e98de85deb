import { from, Observable } from 'rxjs';
import type { ObservableInput, Observer, Subscriber } from 'rxjs';
import { reportUnhandled } from './createOperator.js';

/**
 * Isolates a run from the errors of a teardown.
 *
 * RxJS throws such an error to the caller of `complete` or `unsubscribe`: the next call of the turn would never start.
 * `ignoreTeardownErrors` reports the error as RxJS reports every unhandled error: asynchronously, to
 * `config.onUnhandledError`, or, without that handler, as an uncaught exception. No notification is lost: when the
 * teardown runs, the source has ended or has been unsubscribed.
 *
 * @param work Unsubscribes a source, or subscribes to one that may end at once.
 */
export function ignoreTeardownErrors(work: () => void): void {
  try {
    work();
  } catch (thrown) {
    reportUnhandled(thrown);
  }
}

/**
 * Subscribes an observer to a source, isolated from the errors of its teardown.
 *
 * @param source The source.
 * @param observer Receives the notifications.
 * @param onStart Receives the subscriber before the source is subscribed, so that it can be unsubscribed while
 * `subscribe` still runs.
 */
export function subscribeIsolated<T>(
  source: Observable<T>,
  observer: Observer<T>,
  onStart: (subscriber: Subscriber<T>) => void,
): void {
  new Observable<T>((subscriber) => {
    onStart(subscriber);
    ignoreTeardownErrors(() => void source.subscribe(subscriber)); // throws if a synchronous teardown throws
  }).subscribe(observer);
}

/**
 * Calls a function of the user at each subscription, and emits the values of what it returns, isolated from the errors
 * of its teardown.
 */
export function isolateTeardown<T>(create: () => ObservableInput<T>): Observable<T> {
  return new Observable<T>((out) => {
    let inner: Subscriber<T> | undefined;
    const leave = () => ignoreTeardownErrors(() => inner?.unsubscribe());
    out.add(leave);
    const observer: Observer<T> = {
      next: (value) => out.next(value),
      error(thrown) {
        leave();
        out.error(thrown);
      },
      complete() {
        leave();
        out.complete();
      },
    };
    subscribeIsolated(from(create()), observer, (subscriber) => (inner = subscriber));
  });
}
