import { asyncScheduler, concat, concatMap, defer, ignoreElements, map, of, tap, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import type { JsonObject } from '../../../core/json/json.js';
import { requireNumber } from '../../../core/options.js';
import { RunFullError, RunNotFoundError, RunTakenError } from '../../runs/runErrors.js';
import type { RunLog } from '../../ports/runLog.js';
import { createRunReader, eventsOf, followTail, messageOf, requirePosition } from '../followTail.js';
import type { Tail } from '../followTail.js';
import { createWakeUps } from '../wakeUps.js';
import { DEFAULT_MAX_AGE, DEFAULT_RETRY_TIME, retryConnection, rowsOf } from './client.js';
import type { PostgresClient, PostgresOptions } from './client.js';
import { removeExpired } from './removeExpired.js';

/** Options of `postgresLog`. */
export interface PostgresLogOptions extends PostgresOptions {
  /**
   * Emits the ids of runs that have changed: `pgNotifications` or `pgliteNotifications`. Default: none, the readers of
   * other processes only poll.
   */
  readonly notifications?: Observable<string> | undefined;
  /**
   * How often a reader polls, in milliseconds. Default: 5000 with notifications, which may be lost with their
   * connection, and 250 without.
   */
  readonly pollInterval?: number | undefined;
  /**
   * The shortest time between two writes of one run, in milliseconds. The first event is written at once; the events
   * that arrive in the meantime are one write. Default: 100.
   */
  readonly writeInterval?: number | undefined;
}

/** How many rows are read at a time. */
const PAGE_SIZE = 500;

interface Written {
  readonly last_write: number;
}
interface WriteState extends Written {
  readonly attempt: number;
  readonly ended: boolean;
}
/** A row of a run, with the state of the run. A run without new rows has one without a position. */
interface TailRow {
  readonly ended: boolean;
  readonly failure: string | null;
  readonly position: number | null;
  readonly value: string | null;
}

/**
 * Keeps the events of runs in PostgreSQL, so that any process can read, join and stop a run that another one executes.
 *
 * The tables are those of `migratePostgres`. Each write is one row with the events that arrived since the one before.
 * A statement is tried again while the database cannot be reached, and no write is done twice.
 *
 * @param client The database.
 * @param options `notifications` (default: none), and in milliseconds: `pollInterval` (default: 5000, or 250 without
 * notifications), `writeInterval` (default: 100), `maxAge` (default: 30 days), `retryTime` (default: 30000).
 */
export function postgresLog(client: PostgresClient, options: PostgresLogOptions = {}): RunLog {
  const { notifications, maxAge = DEFAULT_MAX_AGE, retryTime = DEFAULT_RETRY_TIME, writeInterval = 100 } = options;
  const { pollInterval = notifications ? 5000 : 250 } = options;
  requireNumber('maxAge', maxAge, 0);
  requireNumber('retryTime', retryTime, 0);
  requireNumber('writeInterval', writeInterval, 0);
  requireNumber('pollInterval', pollInterval, 1);
  const query = <Row>(text: string, values: unknown[]) => rowsOf<Row>(client, text, values);
  const clean = removeExpired(client, retryTime);
  const wakeUps = createWakeUps(notifications, pollInterval);
  const now = () => asyncScheduler.now();
  /** The last write of each run that this process writes. */
  const lastWrites = new Map<string, { readonly attempt: number; readonly number: number }>();

  const write = (
    run: string,
    statement: Observable<readonly Written[]>,
    wasWritten: (state: WriteState) => boolean,
  ): Observable<Written> =>
    writeOnce(query(STATE, [run]), statement, wasWritten, retryTime).pipe(
      tap({ next: () => wakeUps.wake(run), error: () => lastWrites.delete(run) }),
    );
  const readTail = <T>(source: string, valuesOf: ValuesOf<T>, run: string, after: string): Observable<Tail<T>> =>
    query<TailRow>(selectTail(source), [run, after, now(), PAGE_SIZE]).pipe(
      retryConnection(retryTime),
      map((rows) => tailOf(rows, valuesOf, after)),
    );

  const append: RunLog['append'] = (run, attempt, events) =>
    defer(() => {
      const known = lastWrites.get(run);
      const last = known?.attempt === attempt ? known.number : undefined;
      // Only a write with a number can be told from one that was lost, and opening a run twice does no harm.
      if (last === undefined && events.length > 0)
        return concat(append(run, attempt, []), append(run, attempt, events));
      const count = events.length > 0 ? 1 : 0;
      const text = count === 0 ? null : JSON.stringify(events);
      const values = [run, attempt, count, text, now() + maxAge, last ?? null];
      const written = write(
        run,
        query(APPEND, values),
        (state) => state.attempt === attempt && (last === undefined || state.last_write === last + count),
      ).pipe(tap(({ last_write }) => lastWrites.set(run, { attempt, number: last_write })));
      return concat(clean, written, count === 0 ? [] : timer(writeInterval));
    }).pipe(ignoreElements());

  return {
    isShared: true,
    append,
    end: (run, attempt, { failure, expires = now() + maxAge } = {}) =>
      defer(() => {
        lastWrites.delete(run);
        const values = [run, attempt, failure ? JSON.stringify(failure) : null, expires];
        return write(run, query(END, values), (state) => state.ended && state.attempt === attempt);
      }).pipe(ignoreElements()),
    read: createRunReader((run) => followTail((after) => readTail(EVENTS, eventsOf, run, after), wakeUps.of(run))),
    state: (run) =>
      defer(() => query<WriteState>(`${STATE} and expires > $2`, [run, now()])).pipe(
        retryConnection(retryTime),
        map(([row]) => row && { attempt: row.attempt, hasEvents: row.last_write > 0, hasEnded: row.ended }),
      ),
    send: (run, message, room) =>
      defer(() => query(SEND, [run, JSON.stringify(message), room?.after ?? 0, room?.count, room?.bytes])).pipe(
        tap(({ length }) => length > 0 && wakeUps.wake(run)),
        concatMap(({ length }) => {
          if (length > 0 || !room) return of(length > 0);
          return query<WriteState>(STATE, [run]).pipe(
            map(([state]) => {
              if (state && !state.ended) throw new RunFullError();
              return false;
            }),
          );
        }),
      ),
    messages: (run, from = '0') =>
      followTail((after) => readTail(MESSAGES, messageOf, run, after), wakeUps.of(run), requirePosition(from)).pipe(
        concatMap(({ values }) => values),
      ),
  };
}

const notFound = (): never => {
  throw new RunNotFoundError();
};

/**
 * Executes a statement that writes as an attempt. After a failure, the state of the run says whether the database has
 * executed it: `wasWritten`.
 */
const writeOnce = (
  state: Observable<readonly WriteState[]>,
  statement: Observable<readonly Written[]>,
  wasWritten: (state: WriteState) => boolean,
  retryTime: number,
): Observable<Written> =>
  defer(() => {
    let isUncertain = false;
    return defer(() => (isUncertain ? state : of([]))).pipe(
      concatMap((states): Observable<readonly Written[]> => {
        const written = states.filter(wasWritten);
        return written.length > 0 ? of(written) : statement;
      }),
      tap({ error: () => (isUncertain = true) }),
      retryConnection(retryTime),
      map(([row]) => {
        if (row === undefined) throw new RunTakenError();
        return row;
      }),
    );
  });

type ValuesOf<T> = (text: string, position: string) => readonly T[];

function tailOf<T>(rows: readonly TailRow[], valuesOf: ValuesOf<T>, after: string): Tail<T> {
  const [{ ended: hasEnded, failure } = notFound()] = rows;
  return {
    position: String(rows.at(-1)?.position ?? after),
    hasMore: rows.length === PAGE_SIZE,
    hasEnded,
    values: rows.flatMap(({ position, value }) => (value === null ? [] : valuesOf(value, String(position)))),
    failure: hasEnded && failure !== null ? (JSON.parse(failure) as JsonObject) : undefined,
  };
}

const STATE = 'select attempt, last_write, ended from rivulet_logs where run = $1';

/**
 * Opens a run, or appends to it, as one statement: an older attempt, an ended run and a write that is not the next one
 * of its attempt return no row. (`$6`: the number of the write before, if this process has written it.)
 */
const APPEND = `with log as (
  insert into rivulet_logs as log (run, attempt, last_write, expires) values ($1, $2, $3, $5)
  on conflict (run) do update
    set attempt = excluded.attempt, last_write = log.last_write + excluded.last_write, expires = excluded.expires
    where not log.ended and log.attempt <= excluded.attempt
      and ($6::integer is null or (log.attempt = excluded.attempt and log.last_write = $6))
  returning last_write
), written as (
  insert into rivulet_events (run, position, events)
  select $1, last_write, $4 from log where $4::text is not null
)
select last_write, pg_notify('rivulet', $1) from log`;

const END = `insert into rivulet_logs as log (run, attempt, last_write, ended, failure, expires)
values ($1, $2, 0, true, $3, $4)
on conflict (run) do update
  set attempt = excluded.attempt, ended = true, failure = excluded.failure, expires = excluded.expires
  where not log.ended and log.attempt <= excluded.attempt
returning last_write, pg_notify('rivulet', $1)`;

/** If many messages are sent at once, their number is exact, since it is in the locked row; their bytes are not. */
const SEND = `with log as (
  update rivulet_logs set last_message = last_message + 1
  where run = $1 and not ended and ($4::integer is null or last_message - $3::integer < $4)
    and ($5::float8 is null or octet_length($2) + (
      select coalesce(sum(octet_length(message)), 0) from rivulet_messages where run = $1 and position > $3) <= $5)
  returning last_message
)
insert into rivulet_messages (run, position, message) select $1, last_message, $2 from log
returning pg_notify('rivulet', $1)`;

const EVENTS = 'select position, events as value from rivulet_events';
const MESSAGES = 'select position, message as value from rivulet_messages';

/** The rows after a position. It is one statement, so that the end is not seen before the rows. */
const selectTail = (source: string) => `select log.ended, log.failure, tail.position, tail.value
from rivulet_logs log left join lateral (
  ${source} where run = log.run and position > $2 order by position limit $4
) tail on true
where log.run = $1 and log.expires > $3
order by tail.position`;
