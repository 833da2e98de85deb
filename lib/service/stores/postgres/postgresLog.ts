import { asyncScheduler, concatMap, defer, map, of, tap, type Observable } from 'rxjs';
import { requireNumber, requireNumbers } from '../../../core/options.js';
import { RunFullError, RunNotFoundError, RunTakenError } from '../../runs/runErrors.js';
import type { RunLog } from '../../ports/runLog.js';
import { createBatches } from '../batches.js';
import { createReaders, type Tail } from '../followTail.js';
import { MAX_WRITE_INTERVAL, numberWrites } from '../numberedWrites.js';
import { storedTime } from '../storedTime.js';
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
   * that arrive in the meantime are one write. Default: 100. At most 5000.
   */
  readonly writeInterval?: number | undefined;
}

/** The shortest time between two writes of a process, in milliseconds. It has 50 transactions a second, not 1000. */
const PAUSE = 20;

/** How many rows of a run are read at a time. */
const PAGE_SIZE = 100;

/** Runs a statement. */
type Query = <Row>(text: string, values: unknown[]) => Observable<readonly Row[]>;

/** A write to a run. */
interface Write {
  readonly run: string;
  readonly attempt: number;
  /** The number of a write with events; 0: it has none. */
  readonly number: number;
  readonly events: string | null;
  readonly ended: boolean;
  readonly failure: string | null;
  readonly expires: number;
}
interface Written {
  readonly run: string;
  readonly last_write: number;
}
interface WriteState extends Omit<Written, 'run'> {
  readonly attempt: number;
  readonly ended: boolean;
}
interface Read {
  readonly run: string;
  readonly after: string;
}
/** A row of a run, with the state of the run. A run without new rows has one without a position. */
interface TailRow {
  readonly place: number;
  readonly first_attempt: number;
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
  requireNumbers({ maxAge, retryTime }, 0);
  requireNumber('writeInterval', writeInterval, 0, MAX_WRITE_INTERVAL);
  requireNumber('pollInterval', pollInterval, 1);
  const query: Query = (text, values) => rowsOf(client, text, values);
  const clean = removeExpired(client, retryTime);
  const wakeUps = createWakeUps(notifications, pollInterval);
  const now = () => asyncScheduler.now();
  // Not a time of its own for each write: an update that changes no index is cheaper.
  const expiry = () => Math.ceil((now() + maxAge) / grain) * grain;
  const grain = Math.max(1, Math.floor(storedTime(maxAge) / 100));

  const batchOfWrites = createWrites(query, Math.min(PAUSE, writeInterval), retryTime);
  /** Writes as an attempt. Emits the number of the last write. */
  const write = (item: Write): Observable<number> =>
    clean.pipe(
      concatMap(() => batchOfWrites(item)),
      map((number) => {
        if (number === undefined) throw new RunTakenError();
        return number;
      }),
      tap(() => wakeUps.wake(item.ended ? item.run : ` ${item.run}`)),
    );
  const writes = numberWrites(
    (run, attempt, events, last = 0) =>
      write({
        ...{ run, attempt, ended: false, failure: null, expires: storedTime(expiry()) },
        ...(events.length === 0 ? { number: 0, events: null } : { number: last + 1, events: JSON.stringify(events) }),
      }),
    (run, attempt, { failure, expires = expiry() } = {}) => {
      const text = failure ? JSON.stringify(failure) : null;
      return write({ run, attempt, number: 0, events: null, ended: true, failure: text, expires: storedTime(expires) });
    },
    writeInterval,
  );
  const reads = { events: createReads(query, EVENTS, retryTime), messages: createReads(query, MESSAGES, retryTime) };

  return {
    isShared: true,
    ...writes,
    ...createReaders((stream, run, after) => reads[stream]({ run, after }).pipe(map(tailOf)), wakeUps),
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
  };
}

/** Writes to runs, many at once. Emits the number of the last write, or undefined if another attempt has the run. */
function createWrites(query: Query, pause: number, retryTime: number) {
  const writeAll = (writes: readonly Write[]) =>
    query<Written>(WRITE, [JSON.stringify(writes)]).pipe(
      map((rows) => {
        const written = new Map(rows.map((row) => [row.run, row.last_write]));
        return writes.map(({ run }) => written.get(run));
      }),
    );
  /**
   * After a failure, the database may have executed the statement, or may still execute it: then it refuses this one,
   * which waits for the row, and the state of the run says who has written.
   */
  const writeSafely = (write: Write) =>
    writeAll([write]).pipe(
      concatMap(([number]) => (number === undefined ? findWritten(write) : of(number))),
      retryConnection(retryTime),
    );
  const findWritten = (write: Write) =>
    query<WriteState>(STATE, [write.run]).pipe(
      map(([state]) => (state && isWritten(write, state) ? state.last_write : undefined)),
    );
  return createBatches(writeAll, writeSafely, { keyOf: ({ run }) => run, pause });
}

/** Reads the rows of runs, many at once. */
function createReads(query: Query, source: string, retryTime: number) {
  const readAll = (reads: readonly Read[]) =>
    query<TailRow>(selectTails(source), [JSON.stringify(reads), asyncScheduler.now()]).pipe(
      map((rows) => reads.map((_, place) => rows.filter((row) => row.place === place))),
    );
  return createBatches(readAll, (read) =>
    readAll([read]).pipe(
      map(([rows = []]) => rows),
      retryConnection(retryTime),
    ),
  );
}

const notFound = (): never => {
  throw new RunNotFoundError();
};

/** Whether a write whose answer was lost was executed. */
const isWritten = ({ attempt, number, ended }: Write, state: WriteState): boolean =>
  state.attempt === attempt && state.ended === ended && (number === 0 || state.last_write === number);

function tailOf(rows: readonly TailRow[]): Tail {
  const [{ first_attempt: firstAttempt, ended: hasEnded, failure } = notFound()] = rows;
  return {
    firstAttempt,
    values: rows.flatMap(({ position, value }) => (value === null ? [] : { position: String(position), text: value })),
    hasMore: rows.length === PAGE_SIZE,
    hasEnded,
    failure: failure ?? '',
  };
}

const STATE = 'select attempt, last_write, ended from rivulet_logs where run = $1';

/**
 * Writes to runs as one statement, which tells the readers of all of them with one notification. An older attempt, an
 * ended run and a write that is not the next one of its attempt have no row in the answer, nor has a later write to a
 * run that was removed. Runs are locked in one order, so that two processes do not wait for each other.
 */
const WRITE = `with asked as (
  select * from json_to_recordset($1::text::json) as write(
    run text, attempt integer, number integer, events text, ended boolean, failure text, expires bigint)
), log as (
  insert into rivulet_logs as log (run, first_attempt, attempt, last_write, ended, failure, expires)
  select run, attempt, attempt, number, ended, failure, expires from asked
  where number < 2 or exists (select from rivulet_logs where run = asked.run) order by run
  on conflict (run) do update
    set attempt = excluded.attempt, last_write = greatest(log.last_write, excluded.last_write), ended = excluded.ended,
      failure = excluded.failure, expires = excluded.expires
    where not log.ended and log.attempt <= excluded.attempt and (
      excluded.last_write = 0 or (log.attempt = excluded.attempt and log.last_write = excluded.last_write - 1))
  returning run, last_write, ended
), written as (
  insert into rivulet_events (run, position, events)
  select run, number, events from log join asked using (run) where events is not null
)
select run, last_write, case when ended then pg_notify('rivulet', run) end, (
  select pg_notify('rivulet', string_agg(' ' || run, '')) from log where not ended having count(*) > 0
) from log`;

/** If many messages are sent at once, their number is exact, since it is in the locked row; their bytes are not. */
const SEND = `with log as (
  update rivulet_logs set last_message = last_message + 1
  where run = $1 and not ended and ($4::integer is null or last_message - $3::integer < $4)
    and coalesce(octet_length($2) + (
      select sum(octet_length(message)) from rivulet_messages where run = $1 and position > $3) <= $5::float8, true)
  returning last_message
)
insert into rivulet_messages (run, position, message) select $1, last_message, $2 from log
returning pg_notify('rivulet', $1)`;

const EVENTS = 'select position, events as value from rivulet_events';
const MESSAGES = 'select position, message as value from rivulet_messages';

/**
 * The rows after a position of each run; nothing if events that were read are lost. It is one statement, so that the
 * end is not seen before the rows.
 */
const selectTails = (
  source: string,
) => `select asked.place::integer - 1 as place, log.first_attempt, log.ended, log.failure, tail.position, tail.value
from rows from (json_to_recordset($1::text::json) as (run text, after integer))
  with ordinality as asked(run, after, place)
join rivulet_logs log on log.run = asked.run and log.expires > $2
  ${source === EVENTS ? 'and last_write >= after' : ''}
left join lateral (
  ${source} where run = log.run and position > asked.after order by position limit ${PAGE_SIZE}
) tail on true
order by 1, tail.position`;
