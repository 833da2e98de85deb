import { asyncScheduler, concatMap, defer, map, of, tap, type Observable } from 'rxjs';
import { requireNumbers } from '../../../core/options.js';
import type { ChatRecord } from '../../chats/chatStore.js';
import { PAGE_SIZE, pageOf, placeOf } from '../recordPage.js';
import { storedTime } from '../storedTime.js';
import type { ListedRecord, RecordQuery, RecordStore, StorableRecord } from '../../ports/recordStore.js';
import type { RunRecord } from '../../ports/runStore.js';
import { DEFAULT_MAX_AGE, DEFAULT_RETRY_TIME, retryConnection, rowsOf } from './client.js';
import type { PostgresClient, PostgresOptions } from './client.js';
import { removeExpired } from './removeExpired.js';

interface RecordRow {
  readonly record: string;
  readonly version: number;
}

interface ListRow {
  readonly id: string;
  readonly owner: string;
  readonly state: string | null;
  readonly title: string | null;
  readonly updated: number;
  readonly version: number;
}

/**
 * Stores the runs or the chats of a service in PostgreSQL. Any number of processes may use it at the same time.
 *
 * The tables are those of `migratePostgres`. A statement is tried again while the database cannot be reached, so a run
 * survives a restart of it.
 *
 * ```ts
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL });
 * await lastValueFrom(migratePostgres(pool), { defaultValue: undefined });
 * const handler = agentHandler(agent, {
 *   store: postgresStore(pool),
 *   log: postgresLog(pool),
 *   chats: keepChats(postgresStore(pool, { kind: 'chat' })),
 * });
 * ```
 *
 * A chat should be kept as long as its runs: give both stores the same `maxAge`.
 *
 * @param client The database.
 * @param options `kind` (default: `run`); `maxAge` (default: 30 days), `retryTime` (default: 30 s), in milliseconds.
 */
export function postgresStore<K extends 'run' | 'chat' = 'run'>(
  client: PostgresClient,
  options: PostgresOptions & {
    /** What it stores: the runs of a service, or the chats for `keepChats` of `rivulet/chats`. Default: `run`. */
    readonly kind?: K | undefined;
  } = {},
): RecordStore<KindRecord<K>> {
  const { kind = 'run', maxAge = DEFAULT_MAX_AGE, retryTime = DEFAULT_RETRY_TIME } = options;
  requireNumbers({ maxAge, retryTime }, 0);
  const query = <Row>(text: string, values: unknown[]) => rowsOf<Row>(client, text, values);
  const clean = removeExpired(client, retryTime);
  const now = () => asyncScheduler.now();

  const write = (record: StorableRecord, text: string, version: number): Observable<readonly object[]> => {
    const { id, owner, state = null, title = null, updated, expires = now() + maxAge, executor } = record;
    const times = [updated, expires, executor?.until ?? 0].map(storedTime);
    const values = [kind, id, now(), owner, state, title, ...times, text];
    return version === 0 ? query(INSERT, values) : query(UPDATE, [...values, version]);
  };
  const find = (id: string) => query<RecordRow>(SELECT, [kind, id, now()]).pipe(map(([row]) => row));

  return {
    get: (id) =>
      defer(() => find(id)).pipe(
        retryConnection(retryTime),
        map((row) => row && { record: JSON.parse(row.record) as KindRecord<K>, version: row.version }),
      ),
    put: (record, version) =>
      defer(() => {
        const text = JSON.stringify(record);
        /** An attempt that failed may have written the record. */
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
      query(DELETE, [kind, id, version]).pipe(
        concatMap(({ length }) => (length > 0 ? of(true) : find(id).pipe(map((row) => row === undefined)))),
        retryConnection(retryTime),
      ),
    list: (search) =>
      defer(() => {
        const [text, values] = listStatement(kind, now(), search); // not retried: a forged cursor fails at once
        return query<ListRow>(text, values).pipe(
          retryConnection(retryTime),
          map((rows) => pageOf(rows.map((row) => listedRecord<KindRecord<K>>(row)))),
        );
      }),
  };
}

type KindRecord<K> = K extends 'chat' ? ChatRecord : RunRecord;

const listedRecord = <R extends StorableRecord>({ state, title, ...row }: ListRow) =>
  ({ ...row, state: state ?? undefined, title: title ?? undefined }) as ListedRecord<R>;

/** A record that is executed is kept after its time. */
const SELECT = `select record, version from rivulet_records
where kind = $1 and id = $2 and (expires > $3 or leased_until > $3)`;

/** A record whose time is over is replaced as if it were not there. */
const INSERT = `insert into rivulet_records as old
  (kind, id, owner, state, title, updated, expires, leased_until, record, version)
values ($1, $2, $4, $5, $6, $7, $8, $9, $10, 1)
on conflict (kind, id) do update
  set owner = excluded.owner, state = excluded.state, title = excluded.title, updated = excluded.updated,
    expires = excluded.expires, leased_until = excluded.leased_until, record = excluded.record, version = 1
  where old.expires <= $3 and old.leased_until <= $3
returning version`;

const UPDATE = `update rivulet_records
set owner = $4, state = $5, title = $6, updated = $7, expires = $8, leased_until = $9, record = $10,
  version = version + 1
where kind = $1 and id = $2 and version = $11 and (expires > $3 or leased_until > $3)
returning version`;

const DELETE = 'delete from rivulet_records where kind = $1 and id = $2 and version = $3 returning version';

/** Only conditions that the query has, so that an index fits the statement. */
function listStatement(kind: string, now: number, { owner, state, cursor }: RecordQuery): [string, unknown[]] {
  const after = cursor === undefined ? undefined : placeOf(cursor);
  const values: unknown[] = [kind, now, PAGE_SIZE + 1];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const conditions = [
    'kind = $1',
    ...(owner === null ? [] : [`owner = ${bind(owner)}`]),
    ...(state === undefined ? [] : [`state = ${bind(state)}`]),
    ...(after ? [`(updated, id) < (${bind(after.updated)}, ${bind(after.id)})`] : []),
    '(expires > $2 or leased_until > $2)',
  ];
  const text = `select id, owner, state, title, updated::float8 as updated, version from rivulet_records
where ${conditions.join(' and ')} order by rivulet_records.updated desc, id desc limit $3`;
  return [text, values];
}
