import { defer, EMPTY, filter, finalize, ignoreElements, merge, noop, Subject, take, tap, timer } from 'rxjs';
import type { Observable, Subscription } from 'rxjs';

/** How long a shutdown waits for those who read, in milliseconds. */
export const SHUTDOWN_READING_TIME = 10_000;

/** By their bodies: an application may put a body into a response of its own. */
const ends = new WeakMap<object, Observable<void>>();

/** Calls `end` when the connection of a response must end, although its reader has not read all. */
export const onEndOfConnection = ({ body }: Response, end: () => void): Subscription =>
  ((body && ends.get(body)) ?? EMPTY).subscribe({ next: end, error: noop });

/** The connections over which a service sends: each is a subscriber of its end until it is closed. */
export class Connections {
  private readonly overdue = new Subject<void>();
  private readonly closed = new Subject<void>();
  private readonly end = this.overdue.pipe(
    take(1),
    finalize(() => this.closed.next()),
  );

  /** Completes when no connection is left. Those that do not read are ended. */
  readonly unread: Observable<never> = defer(() => {
    if (!this.overdue.observed) return EMPTY;
    const left = this.closed.pipe(filter(() => !this.overdue.observed));
    return merge(left, timer(SHUTDOWN_READING_TIME)).pipe(
      take(1),
      tap({ complete: () => this.overdue.next() }),
      ignoreElements(),
    );
  });

  /** Ends the connection of this response with the service. */
  add(response: Response): Response {
    if (response.body) ends.set(response.body, this.end);
    return response;
  }
}
