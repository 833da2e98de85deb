import { defer, EMPTY, finalize, ignoreElements, interval, merge, retry, share, Subject, tap, timer } from 'rxjs';
import type { Observable } from 'rxjs';

/** Tells the readers of a run that a database may have something new for them. */
export interface WakeUps {
  /** Wakes the readers of a run of this process. */
  wake(run: string): void;
  /** Emits when a run may have changed. */
  of(run: string): Observable<unknown>;
}

/** How long to wait before the notifications are subscribed again, in milliseconds. */
const RECONNECT_DELAY = 1000;

/** Creates the wake-ups of one process. */
export function createWakeUps(notifications: Observable<string> = EMPTY, pollInterval: number): WakeUps {
  const readers = new Map<string, Subject<void>>();
  const wake = (run: string): void => {
    if (run !== '') readers.get(run)?.next();
    else for (const reader of readers.values()) reader.next();
  };
  const listening = notifications.pipe(
    retry({ delay: () => timer(RECONNECT_DELAY) }), // polling continues meanwhile
    tap(wake),
    ignoreElements(),
    share(),
  );
  return {
    wake,
    of: (run) =>
      defer(() => {
        const reader = readers.get(run) ?? new Subject<void>();
        readers.set(run, reader);
        return merge(reader, listening, interval(pollInterval)).pipe(
          finalize(() => {
            if (!reader.observed) readers.delete(run);
          }),
        );
      }),
  };
}
