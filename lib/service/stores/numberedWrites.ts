import { concat, defer, ignoreElements, tap, timer, type Observable } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import type { RunLog } from '../ports/runLog.js';

/** Milliseconds: the service gives up a write that takes longer than 9 s. */
export const MAX_WRITE_INTERVAL = 5000;

/** Writes events as an attempt, after its `last` write; without events, opens the run. Emits the number of it. */
type WriteEvents = (
  run: string,
  attempt: number,
  events: readonly StreamEvent[],
  last: number | undefined,
) => Observable<number>;

/**
 * Numbers the writes of the runs of this process: only a write with a number can be told from one that was lost.
 *
 * @param writeInterval The shortest time between two writes of one run, in milliseconds.
 */
export function numberWrites(write: WriteEvents, writeInterval: number) {
  const lastWrites = new Map<string, { readonly attempt: number; readonly number: number }>();
  const append: RunLog['append'] = (run, attempt, events) =>
    defer(() => {
      const known = lastWrites.get(run);
      const last = known?.attempt === attempt ? known.number : undefined;
      // Opening a run twice does no harm.
      if (last === undefined && events.length > 0)
        return concat(append(run, attempt, []), append(run, attempt, events));
      const written = write(run, attempt, events, last).pipe(tap((number) => lastWrites.set(run, { attempt, number })));
      return concat(written, events.length === 0 ? [] : timer(writeInterval));
    }).pipe(ignoreElements());
  return { append, forget: (run: string) => lastWrites.delete(run) };
}
