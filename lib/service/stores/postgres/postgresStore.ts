import { asyncScheduler, concatMap, defer, map, of, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import { requireNumber } from '../../../core/options.js';
import type { RunRecord, RunStore, StoredRun } from '../../ports/runStore.js';
import { DEFAULT_MAX_AGE, DEFAULT_RETRY_TIME, retryConnection, rowsOf } from './client.js';
import type { PostgresClient, PostgresOptions } from './client.js';
import { removeExpired } from './removeExpired.js';

/** How many runs a page of a list has. */
const PAGE_SIZE = 100;

interface RunRow {
  readonly record: string;
  readonly version: number;
}

/**
 * Stores the runs of a service in PostgreSQL. Any number of processes may use it at the same time.
 *
 * The tables are those of `migratePostgres`. A statement is tried again while the database cannot be reached, so a run
 * survives a restart of it.
 *
 * ```ts
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL });
 * await lastValueFrom(migratePostgres(pool), { defaultValue: undefined });
 * const handler = agentHandler(agent, { store: postgresStore(pool), log: postgresLog(pool) });
 * ```
 *
 * @param client The database.
 * @param options `maxAge` (default: 30 days), `retryTime` (default: 30 s), in milliseconds.
 */
export function postgresStore(
  client: PostgresClient,
  { maxAge = DEFAULT_MAX_AGE, retryTime = DEFAULT_RETRY_TIME }: PostgresOptions = {},
): RunStore {
  requireNumber('maxAge', maxAge, 0);
  requireNumber('retryTime', retryTime, 0);
  const query = <Row>(text: string, values: unknown[]) => rowsOf<Row>(client, text, values);
  const clean = removeExpired(client, retryTime);
  const now = () => asyncScheduler.now();

  /** The statement that replaces a version of a record. It returns a row if the table had this version. */
  const write = (record: RunRecord, text: string, version: number): Observable<readonly object[]> => {
    const { id, owner, executor, expires = now() + maxAge } = record;
    const values = [id, owner, text, expires, executor?.until ?? 0, now()];
    return version === 0 ? query(INSERT, values) : query(UPDATE, [...values, version]);
  };
  const find = (id: string) => query<RunRow>(SELECT, [id, now()]).pipe(map(([row]) => row));

  return {
    get: (id) =>
      defer(() => find(id)).pipe(
        retryConnection(retryTime),
        map((row) => row && storedRun(row)),
      ),
    put: (record, version) =>
      defer(() => {
        const text = JSON.stringify(record);
        /** Whether an attempt failed, so that an earlier attempt may have written the record. */
        let isUncertain = false;
        return clean.pipe(
          concatMap(() => write(record, text, version)),
          tap({ error: () => (isUncertain = true) }),
          concatMap(({ length }) => {
            if (length > 0 || !isUncertain) return of(length > 0);
            return find(record.id).pipe(map((row) => row?.version === version + 1 && row.record === text));
          }),
          retryConnection(retryTime),
        );
      }),
    delete: (id, version) =>
      query('delete from rivulet_runs where id = $1 and version = $2 returning id', [id, version]).pipe(
        retryConnection(retryTime),
        map(({ length }) => length > 0),
      ),
    list: (owner, cursor = '0') =>
      defer(() => query<RunRow & { readonly cursor: string }>(LIST, [owner, cursor, now(), PAGE_SIZE + 1])).pipe(
        retryConnection(retryTime),
        map((rows) => {
          const page = rows.slice(0, PAGE_SIZE);
          return { runs: page.map(storedRun), next: rows.length > PAGE_SIZE ? page.at(-1)?.cursor : undefined };
        }),
      ),
  };
}

const storedRun = ({ record, version }: RunRow): StoredRun => ({ record: JSON.parse(record) as RunRecord, version });

/** A record that is executed is kept after its time. */
const SELECT = `select record, version from rivulet_runs
where id = $1 and (expires > $2 or leased_until > $2)`;

/** A record whose time is over is replaced as if it were not there. */
const INSERT = `insert into rivulet_runs as run (id, owner, version, record, expires, leased_until)
values ($1, $2, 1, $3, $4, $5)
on conflict (id) do update
  set owner = excluded.owner, version = 1, record = excluded.record, expires = excluded.expires,
    leased_until = excluded.leased_until, serial = default
  where run.expires <= $6 and run.leased_until <= $6
returning version`;

const UPDATE = `update rivulet_runs
set owner = $2, version = version + 1, record = $3, expires = $4, leased_until = $5
where id = $1 and version = $7 and (expires > $6 or leased_until > $6)
returning version`;

const LIST = `select record, version, serial::text as cursor from rivulet_runs
where owner = $1 and serial > $2 and (expires > $3 or leased_until > $3)
order by serial limit $4`;
