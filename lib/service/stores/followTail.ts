import { catchError, concat, concatMap, defer, finalize, map, of, ReplaySubject, share } from 'rxjs';
import { startWith, Subject, takeWhile, throttle, throwError, type Observable } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import type { StreamEvent } from '../../core/event.js';
import type { JsonObject } from '../../core/json/json.js';
import { EventLog, readLog } from '../runs/eventLog.js';
import { RunNotFoundError } from '../runs/runErrors.js';
import type { RunLog, RunMessage } from '../ports/runLog.js';
import type { WakeUps } from './wakeUps.js';
import { remoteRunError } from '../../transport/fromServerSentEvents.js';

/** What a log has stored of a run after a position. */
export interface Tail {
  /** The attempt that has opened the run: those before had another log, which is lost. */
  readonly firstAttempt: number;
  /** JSON: the events of a write, or a message. */
  readonly values: readonly { readonly position: string; readonly text: string }[];
  readonly hasMore: boolean;
  readonly hasEnded: boolean;
  /** JSON, or empty. */
  readonly failure: string;
}

/** Reads the rest of a run after a position, in one step: the end is not seen before the rest. */
type ReadTail = (stream: 'events' | 'messages', run: string, after: string) => Observable<Tail>;

/** Reads again after each wake-up, until the end. `read` answers asynchronously. */
function followTail(read: (after: string) => Observable<Tail>, wakes: Observable<unknown>, from: string) {
  return defer(() => {
    let position = from;
    const readRest: Observable<Tail> = defer(() => read(position)).pipe(
      concatMap((tail) => {
        position = tail.values.at(-1)?.position ?? position;
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

/** The functions of a log that read. Readers of the events of a run share a copy, so that each is read once. */
export function createReaders(readTail: ReadTail, wakeUps: WakeUps): Pick<RunLog, 'read' | 'messages'> {
  const copies = new Map<string, Observable<EventLog<StreamEvent>>>();
  const follow = (stream: 'events' | 'messages', run: string, from = '0') =>
    followTail((after) => readTail(stream, run, after), wakeUps.of(run, stream), from);
  const copyOf = (run: string): Observable<EventLog<StreamEvent>> =>
    defer(() => {
      const known = copies.get(run);
      if (known) return known;
      const copy = copyEvents(follow('events', run)).pipe(
        finalize(() => copies.delete(run)),
        share({ connector: () => new ReplaySubject(1) }),
      );
      copies.set(run, copy);
      return copy;
    });
  return {
    read: (run, from, receiver) =>
      copyOf(run).pipe(
        readLog(() => from, receiver),
        // The position may be newer than the copy: the page has read it from another process.
        catchError((thrown: unknown) => {
          if (!(thrown instanceof ConfigurationError)) throw thrown;
          return copyEvents(follow('events', run)).pipe(readLog(() => from, receiver));
        }),
      ),
    messages: (run, from = '0') =>
      follow('messages', run, requirePosition(from)).pipe(
        concatMap(({ values }) => values),
        map(({ position, text }) => ({ position, message: JSON.parse(text) as RunMessage })),
      ),
  };
}

/** Emits when the existing events are read, and again each time the copy has grown. */
const copyEvents = (tails: Observable<Tail>): Observable<EventLog<StreamEvent>> =>
  defer(() => {
    let log: EventLog<StreamEvent> | undefined;
    return tails.pipe(
      concatMap(({ firstAttempt, values, hasMore, failure }) => {
        log ??= new EventLog(firstAttempt);
        if (log.firstAttempt !== firstAttempt) throw new RunNotFoundError();
        for (const event of values.flatMap(({ text }) => JSON.parse(text) as StreamEvent[])) log.append(event);
        if (hasMore) return [];
        return concat(
          of(log),
          failure === '' ? [] : throwError(() => remoteRunError(JSON.parse(failure) as JsonObject)),
        );
      }),
    );
  });

/** The position comes from a user of the log. */
const requirePosition = (from: string): string => {
  if (/^\d{1,9}$/.test(from)) return from;
  throw new ConfigurationError(
    'options',
    `"${from.slice(0, 40)}" is not the position of a message.`,
    'Pass the position of a message of this run, or omit it to read all.',
  );
};
