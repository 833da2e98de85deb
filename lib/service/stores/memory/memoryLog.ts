import { asyncScheduler, defer, filter, Observable, of, ReplaySubject, throwError } from 'rxjs';
import type { Subscriber } from 'rxjs';
import type { StreamEvent } from '../../../core/event.js';
import { requireNumber } from '../../../core/options.js';
import { remoteRunError } from '../../../transport/fromServerSentEvents.js';
import { createEventLog } from '../../runs/eventLog.js';
import type { EventLog } from '../../runs/eventLog.js';
import type { Envelope } from '../../runs/lateReader.js';
import { DEFAULT_MAX_AGE, DEFAULT_MAX_BYTES } from './memoryStore.js';
import type { MemoryOptions } from './memoryStore.js';
import { RunNotFoundError, RunTakenError } from '../../runs/runErrors.js';
import type { RunEnd, RunLog, SentMessage } from '../../ports/runLog.js';
import { estimateSize } from '../../runs/estimateSize.js';

interface LoggedRun {
  readonly log: EventLog<StreamEvent>;
  readonly messages: ReplaySubject<SentMessage>;
  /** Called after each append and at the end. Each one continues to read. */
  readonly readers: Set<() => void>;
  /** The attempt whose events are the first of this log. */
  readonly firstAttempt: number;
  attempt: number;
  messageCount: number;
  messageBytes: number;
  end?: RunEnd;
  /** When the run is removed: never before its end. */
  expires: number;
}

const estimateRunSize = ({ log, messageBytes }: LoggedRun) => log.size + messageBytes;

/**
 * Creates a log in memory. Consecutive deltas are stored as one text, whatever the number of readers.
 *
 * When it is full, it removes runs that have ended, oldest first. A running one is never removed.
 *
 * @param options `maxBytes` of the runs that have ended (default: 64 MiB), `maxAge` in milliseconds (default: 24
 * hours).
 */
export function memoryLog({ maxBytes = DEFAULT_MAX_BYTES, maxAge = DEFAULT_MAX_AGE }: MemoryOptions = {}): RunLog {
  requireNumber('maxBytes', maxBytes, 0);
  requireNumber('maxAge', maxAge, 0);
  const { find, requireWritable, markEnded } = createRuns(maxBytes);

  return {
    isShared: false,
    append: (id, attempt, events) =>
      new Observable<never>((out) => {
        const run = requireWritable(id, attempt);
        for (const event of events) run.log.append(event);
        notify(run);
        out.complete();
      }),
    read: (id, from) =>
      new Observable<Envelope>((out) => {
        const run = find(id);
        if (!run) throw new RunNotFoundError();
        return readRun(run, from, out);
      }),
    end: (id, attempt, end = {}) =>
      new Observable<never>((out) => {
        const run = requireWritable(id, attempt);
        run.end = end;
        run.expires = end.expires ?? asyncScheduler.now() + maxAge;
        run.messages.complete();
        notify(run);
        markEnded(id, run);
        out.complete();
      }),
    state: (id) =>
      defer(() => {
        const run = find(id);
        if (!run) return of(undefined);
        return of({ attempt: run.attempt, hasEvents: run.log.size > 0, hasEnded: run.end !== undefined });
      }),
    send: (id, message) =>
      defer(() => {
        const run = find(id);
        if (!run || run.end) return of(false);
        run.messageBytes += estimateSize(message);
        run.messages.next({ position: String(++run.messageCount), message });
        return of(true);
      }),
    messages: (id, from = '0') =>
      defer(() => {
        const run = find(id);
        if (!run) return throwError(() => new RunNotFoundError());
        return run.messages.pipe(filter(({ position }) => Number(position) > Number(from)));
      }),
  };
}

/** The runs in memory. Those that have ended are removed when they are too old, or take too much memory. */
function createRuns(maxBytes: number) {
  const runs = new Map<string, LoggedRun>();
  /** The runs that have ended, oldest first. */
  const ended = new Set<string>();
  let endedBytes = 0;

  const remove = (id: string) => {
    const run = runs.get(id);
    if (run) endedBytes -= estimateRunSize(run);
    runs.delete(id);
    ended.delete(id);
  };
  const prune = () => {
    for (const id of ended) {
      if ((runs.get(id)?.expires ?? 0) > asyncScheduler.now() && endedBytes <= maxBytes) return;
      remove(id);
    }
  };
  const find = (id: string): LoggedRun | undefined => {
    const run = runs.get(id);
    if (run && run.expires <= asyncScheduler.now()) remove(id);
    return runs.get(id);
  };
  const open = (id: string, firstAttempt: number): LoggedRun => {
    prune();
    const run = {
      log: createEventLog<StreamEvent>(),
      messages: new ReplaySubject<SentMessage>(Infinity),
      readers: new Set<() => void>(),
      firstAttempt,
      attempt: firstAttempt,
      messageCount: 0,
      messageBytes: 0,
      expires: Infinity,
    };
    runs.set(id, run);
    return run;
  };
  /** Returns the run. It throws a RunTakenError if the executor may not write to it. */
  const requireWritable = (id: string, attempt: number): LoggedRun => {
    const run = find(id) ?? open(id, attempt);
    if (run.end || attempt < run.attempt) throw new RunTakenError();
    run.attempt = attempt;
    return run;
  };
  const markEnded = (id: string, run: LoggedRun) => {
    ended.add(id);
    endedBytes += estimateRunSize(run);
    prune();
  };
  return { find, requireWritable, markEnded };
}

function notify({ readers }: LoggedRun): void {
  for (const read of [...readers]) read();
}

/**
 * Completes the id of an event. Another process had the first attempts of a run, in a log with other positions: an id
 * of that log must not be taken for one of this log. So the ids of later attempts have a prefix: `2:12.345`.
 */
const withAttempt = (envelope: Envelope, { firstAttempt }: LoggedRun): Envelope =>
  firstAttempt === 1 ? envelope : { ...envelope, id: `${firstAttempt}:${envelope.id}` };

/** The position in this log that an id stands for. It throws a RunNotFoundError for an id of another log. */
function toPosition({ firstAttempt }: LoggedRun, id: string): string {
  const [, attempt = '1', position = ''] = /^(?:(\d+):)?(.*)$/s.exec(id) ?? [];
  if (Number(attempt) !== firstAttempt) throw new RunNotFoundError();
  return position;
}

function readRun(run: LoggedRun, from: string | undefined, out: Subscriber<Envelope>): () => void {
  const reader = run.log.reader(from === undefined ? undefined : toPosition(run, from));
  let isReading = false;
  const readRest = () => {
    if (isReading) return; // the receiver caused an event while it received one: the loop below reads it
    isReading = true;
    for (let envelope = reader.next(); envelope && !out.closed; envelope = reader.next())
      out.next(withAttempt(envelope, run));
    isReading = false;
    if (!run.end) return;
    run.readers.delete(readRest);
    if (run.end.failure) out.error(remoteRunError(run.end.failure));
    else out.complete();
  };
  run.readers.add(readRest);
  readRest();
  return () => run.readers.delete(readRest);
}
