import { from, Observable, type ObservableInput, type Observer, type Subscriber } from 'rxjs';
import { reportErrorsOf } from './reportUnhandled.js';

/** `onStart` receives the subscriber before `subscribe` returns. */
export function subscribeIsolated<T>(
  source: Observable<T>,
  observer: Observer<T>,
  onStart: (subscriber: Subscriber<T>) => void,
): void {
  new Observable<T>((subscriber) => {
    onStart(subscriber);
    reportErrorsOf(() => void source.subscribe(subscriber)); // throws if a synchronous teardown throws
  }).subscribe(observer);
}

/** As `defer`, but errors of the teardown of what the function returns are reported. */
export function isolateTeardown<T>(create: () => ObservableInput<T>): Observable<T> {
  return new Observable<T>((out) => {
    let inner: Subscriber<T> | undefined;
    const leave = () => reportErrorsOf(() => inner?.unsubscribe());
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
