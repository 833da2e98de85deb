import { concat, defer, finalize, ignoreElements, tap, timer, type Observable } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import { createSemaphore, type Semaphore } from '../../core/semaphore.js';
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

type WriteEnd = (...given: Parameters<RunLog['end']>) => Observable<unknown>;

/**
 * Numbers the writes of the runs of this process: only a write with a number can be told from one that was lost.
 * Those of one run are done one by one, each after its number is known.
 *
 * @param writeInterval The shortest time between two writes of one run, in milliseconds.
 */
export function numberWrites(write: WriteEvents, end: WriteEnd, writeInterval: number) {
  const lastWrites = new Map<string, { readonly attempt: number; readonly number: number }>();
  const queues = new Map<string, Semaphore>();
  const inTurn = (run: string, work: () => Observable<unknown>): Observable<never> =>
    defer(() => {
      const queue = queues.get(run) ?? createSemaphore(1);
      queues.set(run, queue);
      const forget = finalize<never>(() => queue.isFull || queues.delete(run)); // it is full if another write waits
      return defer(work).pipe(queue.limit(), ignoreElements(), forget);
    });
  const writeNext = (run: string, attempt: number, events: readonly StreamEvent[]): Observable<unknown> =>
    defer(() => {
      const known = lastWrites.get(run);
      const last = known?.attempt === attempt ? known.number : undefined;
      // Opening a run twice does no harm.
      if (last === undefined && events.length > 0)
        return concat(writeNext(run, attempt, []), writeNext(run, attempt, events));
      lastWrites.delete(run); // not known if it fails, or if nobody waits for its answer
      return write(run, attempt, events, last).pipe(tap((number) => lastWrites.set(run, { attempt, number })));
    });
  return {
    append: (run: string, attempt: number, events: readonly StreamEvent[]) =>
      inTurn(run, () => concat(writeNext(run, attempt, events), events.length === 0 ? [] : timer(writeInterval))),
    end: (run, attempt, how) => inTurn(run, () => end(run, attempt, how).pipe(finalize(() => lastWrites.delete(run)))),
  } satisfies Pick<RunLog, 'append' | 'end'>;
}
