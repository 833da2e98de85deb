import { defer, EMPTY, finalize, ignoreElements, interval, merge, retry, share, Subject, tap, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { MAX_TIMER_DELAY } from '../../core/options.js';

/** Tells the readers of a run that a database may have something new for them. */
export interface WakeUps {
  /**
   * Wakes the readers of this process.
   *
   * @param payload The id of a run, for all of its readers; or the ids of runs, each after a space, for the readers of
   * their events. Empty: all readers of all runs.
   */
  wake(payload: string): void;
  /** Emits when the events of a run, or the messages to it, may have changed. */
  of(run: string, what: 'events' | 'messages'): Observable<unknown>;
}

/** How long to wait before the notifications are subscribed again, in milliseconds. */
const RECONNECT_DELAY = 1000;

/** Creates the wake-ups of one process. */
export function createWakeUps(notifications: Observable<string> = EMPTY, pollInterval: number): WakeUps {
  const readers = { events: new Map<string, Subject<void>>(), messages: new Map<string, Subject<void>>() };
  const wake = (payload: string): void => {
    const [run = '', ...changed] = payload.split(' ');
    for (const id of changed) readers.events.get(id)?.next();
    for (const kind of Object.values(readers))
      if (run !== '') kind.get(run)?.next();
      else if (changed.length === 0) for (const reader of kind.values()) reader.next();
  };
  const listening = notifications.pipe(
    retry({ delay: () => timer(RECONNECT_DELAY) }), // polling continues meanwhile
    tap(wake),
    ignoreElements(),
    share(),
  );
  return {
    wake,
    of: (run, what) =>
      defer(() => {
        const reader = readers[what].get(run) ?? new Subject<void>();
        readers[what].set(run, reader);
        return merge(reader, listening, interval(Math.min(pollInterval, MAX_TIMER_DELAY))).pipe(
          finalize(() => {
            if (!reader.observed) readers[what].delete(run);
          }),
        );
      }),
  };
}
