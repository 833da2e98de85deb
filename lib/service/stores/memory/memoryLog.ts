import { asyncScheduler, defer, filter, Observable, of, ReplaySubject, Subject, throwError } from 'rxjs';
import type { StreamEvent } from '../../../core/event.js';
import { requireNumbers } from '../../../core/options.js';
import { remoteRunError } from '../../../transport/fromServerSentEvents.js';
import { RunFullError, RunNotFoundError, RunTakenError } from '../../runs/runErrors.js';
import type { MessageRoom, RunLog, SentMessage } from '../../ports/runLog.js';
import { estimateSize } from '../../runs/estimateSize.js';
import { ENTRY_BYTES, EventLog, readLog } from '../../runs/eventLog.js';
import { DEFAULT_MAX_AGE, DEFAULT_MAX_BYTES, type MemoryOptions } from './memoryStore.js';
import { createMemoryTable, type MemoryEntry } from './memoryTable.js';

/** What V8 needs for the objects of a run without events (measured). */
const RUN_BYTES = 2048;

interface LoggedRun extends MemoryEntry {
  readonly log: EventLog<StreamEvent>;
  /** The subject ends as the run: late subscribers receive the end, too. */
  readonly grown: Subject<EventLog<StreamEvent>>;
  readonly messages: ReplaySubject<SentMessage>;
  readonly messageSizes: number[];
  readonly attempt: number;
  readonly hasEnded: boolean;
}

/**
 * Creates a log in memory. Consecutive deltas are stored as one text, whatever the number of readers.
 *
 * When it is full, it removes runs that have ended, of the owner that uses most of it, oldest first. A running one is
 * never removed, and an owner that uses less than its share (`maxBytes` divided by the number of owners) loses nothing.
 *
 * @param options `maxBytes` of the runs that have ended (default: 64 MiB), `maxAge` in milliseconds (default: 24
 * hours).
 */
export function memoryLog({ maxBytes = DEFAULT_MAX_BYTES, maxAge = DEFAULT_MAX_AGE }: MemoryOptions = {}): RunLog {
  requireNumbers({ maxBytes, maxAge }, 0);
  const runs = createMemoryTable<LoggedRun>(maxBytes);
  /** @throws RunTakenError if the executor may not write to it. */
  const requireWritable = (id: string, attempt: number): LoggedRun => {
    const known = runs.find(id);
    if (known && (known.hasEnded || attempt < known.attempt)) throw new RunTakenError();
    if (known?.attempt === attempt) return known;
    const run = known ? { ...known, attempt } : openRun(attempt);
    runs.add(id, run);
    return run;
  };

  return {
    isShared: false,
    append: (id, attempt, events) =>
      new Observable<never>((out) => {
        const { log, grown } = requireWritable(id, attempt);
        for (const event of events) log.append(event);
        grown.next(log);
        out.complete();
      }),
    read: (id, from, receiver) =>
      defer(() => {
        const run = runs.find(id);
        if (!run) throw new RunNotFoundError();
        return run.grown.pipe(readLog(() => from, receiver, run.log));
      }),
    end: (id, attempt, { failure, expires = asyncScheduler.now() + maxAge, owner = '' } = {}) =>
      new Observable<never>((out) => {
        const run = requireWritable(id, attempt);
        const size = RUN_BYTES + run.log.size + sum(run.messageSizes) + run.messageSizes.length * ENTRY_BYTES;
        runs.add(id, { ...run, hasEnded: true, owner, size, expires, usedUntil: 0 });
        run.messages.complete();
        if (failure) run.grown.error(remoteRunError(failure));
        else run.grown.complete();
        out.complete();
      }),
    state: (id) =>
      defer(() => {
        const run = runs.find(id);
        return of(run && { attempt: run.attempt, hasEvents: run.log.size > 0, hasEnded: run.hasEnded });
      }),
    send: (id, message, room) =>
      defer(() => {
        const run = runs.find(id);
        if (!run || run.hasEnded) return of(false);
        const size = estimateSize(message);
        if (room) requireRoom(run, size, room);
        const position = String(run.messageSizes.push(size));
        run.messages.next({ position, message });
        return of(true);
      }),
    messages: (id, from = '0') =>
      defer(() => {
        const run = runs.find(id);
        if (!run) return throwError(() => new RunNotFoundError());
        return run.messages.pipe(filter(({ position }) => Number(position) > Number(from)));
      }),
  };
}

const openRun = (attempt: number): LoggedRun => ({
  log: new EventLog(attempt),
  grown: new Subject(),
  messages: new ReplaySubject<SentMessage>(Infinity),
  messageSizes: [],
  attempt,
  hasEnded: false,
  owner: '',
  size: 0,
  expires: Infinity,
  usedUntil: Infinity,
});

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

function requireRoom({ messageSizes }: LoggedRun, size: number, { after, count, bytes }: MessageRoom): void {
  const waiting = messageSizes.slice(Number(after));
  const isTooMuch = waiting.length > 0 && sum(waiting) + size > bytes;
  if (waiting.length >= count || isTooMuch) throw new RunFullError();
}
