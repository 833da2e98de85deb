import { asyncScheduler, defer, map, tap, type Observable } from 'rxjs';
import { requireNumber, requireNumbers } from '../../../core/options.js';
import { RunFullError, RunNotFoundError, RunTakenError } from '../../runs/runErrors.js';
import type { LogState, RunLog } from '../../ports/runLog.js';
import { randomId } from '../../../transport/randomId.js';
import { createReaders, type Tail } from '../followTail.js';
import { MAX_WRITE_INTERVAL, numberWrites } from '../numberedWrites.js';
import { storedTime } from '../storedTime.js';
import { createWakeUps } from '../wakeUps.js';
import { evaluate, retryConnection, type RedisClient } from './client.js';
import { APPEND, END, FULL, READ, SEND, STATE } from './scripts.js';

/** Options of `redisLog`. */
export interface RedisLogOptions {
  /**
   * Emits the ids of runs that have changed: `redisNotifications`. Default: none, the readers of other processes only
   * poll.
   */
  readonly notifications?: Observable<string> | undefined;
  /**
   * How often a reader polls, in milliseconds. Default: 5000 with notifications, which may be lost with their
   * connection, and 250 without.
   */
  readonly pollInterval?: number | undefined;
  /**
   * The shortest time between two writes of one run, in milliseconds. The first event is written at once; the events
   * that arrive in the meantime are one write. Default: 100. At most 5000.
   */
  readonly writeInterval?: number | undefined;
  /** How long a run is kept after its last write, in milliseconds. Default: 24 hours. */
  readonly maxAge?: number | undefined;
  /** How long a command is tried again while Redis cannot be reached, in milliseconds. Default: 30000. */
  readonly retryTime?: number | undefined;
  /** The first part of the names of all keys. Default: `rivulet`. */
  readonly prefix?: string | undefined;
}

/** How many entries are read at a time. */
const PAGE_SIZE = 500;

/** The default of `maxAge`: 24 hours. Redis keeps everything in memory. */
const DEFAULT_MAX_AGE = 86_400_000;

/** An entry of a stream: its id, for example `7-0`, and its only field. */
type Entry = readonly [id: string, field: readonly [name: string, value: string]];

/** What `READ` returns; `ended` is 1 or 0, `failure` is JSON or empty. */
type Reply = readonly [firstAttempt: number, ended: number, failure: string, entries: readonly Entry[]];

/**
 * Keeps the events of runs in Redis Streams, so that any process can read, join and stop a run that another one
 * executes.
 *
 * The records stay in a `RecordStore`, for example `postgresStore`: this log takes the many small writes from
 * PostgreSQL. Each write is one entry with the events that arrived since the one before. A command is tried again while
 * Redis cannot be reached, and no write is done twice. What Redis has acknowledged survives its crash only with
 * `appendonly yes` and `appendfsync always`.
 *
 * @param client The connection.
 * @param options `notifications` (default: none), `prefix` (default: `rivulet`), and in milliseconds: `pollInterval`
 * (default: 5000, or 250 without notifications), `writeInterval` (default: 100), `maxAge` (default: 24 hours),
 * `retryTime` (default: 30000).
 */
export function redisLog(client: RedisClient, options: RedisLogOptions = {}): RunLog {
  const {
    notifications,
    maxAge = DEFAULT_MAX_AGE,
    retryTime = 30_000,
    writeInterval = 100,
    prefix = 'rivulet',
  } = options;
  const { pollInterval = notifications ? 5000 : 250 } = options;
  requireNumbers({ maxAge, pollInterval }, 1);
  requireNumber('retryTime', retryTime, 0);
  requireNumber('writeInterval', writeInterval, 0, MAX_WRITE_INTERVAL);
  const wakeUps = createWakeUps(notifications, pollInterval);

  /** Executes a script. The keys of a run are on one node of a cluster: Redis hashes what the braces contain. */
  const ask = (text: string, run: string, values: readonly (string | number)[]): Observable<unknown> => {
    const keys = ['state', 'events', 'messages'].map((name) => `${prefix}:{${run}}:${name}`);
    return evaluate(client, text, keys, values).pipe(retryConnection(retryTime));
  };
  /** Emits the number of the write. */
  const write = (run: string, text: string, values: readonly (string | number)[]): Observable<number> =>
    ask(text, run, [run, ...values]).pipe(
      map((number) => {
        if (number === null) throw new RunTakenError();
        return Number(number);
      }),
      tap(() => wakeUps.wake(run)),
    );
  const writes = numberWrites(
    (run, attempt, events, last) => {
      const text = events.length === 0 ? '' : JSON.stringify(events);
      return write(run, APPEND, [attempt, last ?? '', text, storedTime(maxAge)]);
    },
    (run, attempt, { failure, expires } = {}) => {
      const text = failure ? JSON.stringify(failure) : '';
      const age = expires === undefined ? maxAge : expires - asyncScheduler.now();
      return write(run, END, [attempt, text, storedTime(age)]);
    },
    writeInterval,
  );

  return {
    isShared: true,
    ...writes,
    ...createReaders((stream, run, after) => ask(READ, run, [stream, after, PAGE_SIZE]).pipe(map(tailOf)), wakeUps),
    state: (run) => ask(STATE, run, []).pipe(map(stateOf)),
    send: (run, message, { after, count, bytes } = { after: '0', count: 0, bytes: 0 }) =>
      defer(() =>
        ask(SEND, run, [run, randomId(), JSON.stringify(message), storedTime(maxAge), after, count, bytes]),
      ).pipe(
        map((position) => {
          if (position === FULL) throw new RunFullError();
          return position !== null;
        }),
        tap((isSent) => isSent && wakeUps.wake(run)),
      ),
  };
}

function stateOf(reply: unknown): LogState | undefined {
  if (reply === null) return undefined;
  const [attempt, written, ended] = reply as readonly [number, number, number];
  return { attempt, hasEvents: written > 0, hasEnded: ended === 1 };
}

function tailOf(reply: unknown): Tail {
  if (reply === null) throw new RunNotFoundError();
  const [firstAttempt, ended, failure, entries] = reply as Reply;
  return {
    firstAttempt,
    values: entries.map(([id, [, text]]) => ({ position: id.replace('-0', ''), text })),
    hasMore: entries.length === PAGE_SIZE,
    hasEnded: ended === 1,
    failure,
  };
}
