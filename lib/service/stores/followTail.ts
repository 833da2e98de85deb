import { catchError, concat, concatMap, defer, filter, finalize, of, ReplaySubject, share } from 'rxjs';
import { startWith, Subject, takeWhile, tap, throttle, throwError, type Observable } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import type { StreamEvent } from '../../core/event.js';
import type { JsonObject } from '../../core/json/json.js';
import { EventLog, readLog } from '../runs/eventLog.js';
import type { RunLog, RunMessage, SentMessage } from '../ports/runLog.js';
import { remoteRunError } from '../../transport/fromServerSentEvents.js';

export interface Tail<T> {
  readonly values: readonly T[];
  readonly position: string;
  readonly hasMore: boolean;
  readonly hasEnded: boolean;
  readonly failure?: JsonObject | undefined;
}

/** Reads again after each wake-up, until the end. `read` answers asynchronously. */
export function followTail<T extends Tail<unknown>>(
  read: (after: string) => Observable<T>,
  wakes: Observable<unknown>,
  from = '0',
): Observable<T> {
  return defer(() => {
    let position = from;
    const readRest: Observable<T> = defer(() => read(position)).pipe(
      concatMap((tail) => {
        position = tail.position;
        return tail.hasMore ? concat(of(tail), readRest) : of(tail);
      }),
    );
    const hasRead = new Subject<void>();
    return wakes.pipe(
      startWith(undefined),
      throttle(() => hasRead, { leading: true, trailing: true }),
      concatMap(() => readRest.pipe(finalize(() => hasRead.next()))),
      takeWhile(({ hasMore, hasEnded }) => hasMore || !hasEnded, true),
    );
  });
}

/** Readers of a run share a copy in memory: each event is read once, and numbered as in a log in memory. */
export function createRunReader(follow: (run: string) => Observable<Tail<StreamEvent>>): RunLog['read'] {
  const copies = new Map<string, Observable<EventLog<StreamEvent>>>();
  const copyOf = (run: string): Observable<EventLog<StreamEvent>> =>
    defer(() => {
      const known = copies.get(run);
      if (known) return known;
      const copy = copyEvents(follow(run)).pipe(
        finalize(() => copies.delete(run)),
        share({ connector: () => new ReplaySubject(1) }),
      );
      copies.set(run, copy);
      return copy;
    });
  return (run, from, receiver) =>
    copyOf(run).pipe(
      readLog(() => from, receiver),
      // The position may be newer than the copy: the page has read it from another process.
      catchError((thrown: unknown) => {
        if (!(thrown instanceof ConfigurationError)) throw thrown;
        return copyEvents(follow(run)).pipe(readLog(() => from, receiver));
      }),
    );
}

/** Emits when the existing events are read, and again each time the copy has grown. */
const copyEvents = (tails: Observable<Tail<StreamEvent>>): Observable<EventLog<StreamEvent>> =>
  defer(() => {
    const log = new EventLog();
    return tails.pipe(
      tap(({ values }) => {
        for (const event of values) log.append(event);
      }),
      filter(({ hasMore }) => !hasMore),
      concatMap(({ failure }) =>
        failure
          ? concat(
              of(log),
              throwError(() => remoteRunError(failure)),
            )
          : of(log),
      ),
    );
  });

/** The position comes from a user of the log. */
export const requirePosition = (from: string): string => {
  if (/^\d{1,9}$/.test(from)) return from;
  throw new ConfigurationError(
    'options',
    `"${from.slice(0, 40)}" is not the position of a message.`,
    'Pass the position of a message of this run, or omit it to read all.',
  );
};

export const eventsOf = (text: string): readonly StreamEvent[] => JSON.parse(text) as StreamEvent[];

export const messageOf = (text: string, position: string): readonly SentMessage[] => [
  { position, message: JSON.parse(text) as RunMessage },
];
