import { asyncScheduler, concatMap, defer, map, of, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import { requireNumber } from '../../../core/options.js';
import type { JsonObject } from '../../../core/json/json.js';
import type { ChatRecord, ChatStore } from '../../chats/chatStore.js';
import { DEFAULT_MAX_AGE, DEFAULT_RETRY_TIME, retryConnection, rowsOf } from './client.js';
import type { PostgresClient, PostgresOptions } from './client.js';
import { removeExpired } from './removeExpired.js';

/** How many chats a page of a list has. */
const PAGE_SIZE = 100;

/** A row of the list. Times are texts, since `bigint` has more digits than a number. */
interface SummaryRow {
  readonly id: string;
  readonly title: string;
  readonly updated: string;
  readonly version: number;
}

interface ChatRow extends SummaryRow {
  readonly owner: string;
  readonly saved: string;
}

/**
 * Stores the chats of a service in PostgreSQL, for `keepChats` of `rivulet/service`. Any number of processes may use it
 * at the same time.
 *
 * The table is one of `migratePostgres`. A chat should be kept as long as its runs: give `postgresStore` the same
 * `maxAge`.
 *
 * ```ts
 * const handler = agentHandler(agent, {
 *   store: postgresStore(pool),
 *   log: postgresLog(pool),
 *   chats: keepChats(postgresChats(pool)),
 * });
 * ```
 *
 * @param client The database.
 * @param options `maxAge` (default: 30 days), `retryTime` (default: 30 s), in milliseconds.
 */
export function postgresChats(
  client: PostgresClient,
  { maxAge = DEFAULT_MAX_AGE, retryTime = DEFAULT_RETRY_TIME }: PostgresOptions = {},
): ChatStore {
  requireNumber('maxAge', maxAge, 0);
  requireNumber('retryTime', retryTime, 0);
  const query = <Row>(text: string, values: unknown[]) => rowsOf<Row>(client, text, values);
  const clean = removeExpired(client, retryTime);
  const now = () => asyncScheduler.now();
  const find = (id: string) => query<ChatRow>(SELECT, [id, now()]).pipe(map(([row]) => row && storedChat(row)));

  /** Writes a version of a record. It emits a row if the table had the version before. */
  const write = (record: ChatRecord, saved: string, version: number): Observable<readonly object[]> => {
    const { id, owner, title, updated } = record;
    const values = [id, owner, title, updated, saved, now() + maxAge, now()];
    return version === 0 ? query(INSERT, values) : query(UPDATE, [...values, version]);
  };

  return {
    get: (id) => defer(() => find(id)).pipe(retryConnection(retryTime)),
    put: (record, version) =>
      defer(() => {
        const saved = JSON.stringify(record.saved);
        /** Whether an attempt failed, so that an earlier attempt may have written the record. */
        let isUncertain = false;
        return clean.pipe(
          concatMap(() => write(record, saved, version)),
          tap({ error: () => (isUncertain = true) }),
          concatMap(({ length }) => {
            if (length > 0 || !isUncertain) return of(length > 0);
            return find(record.id).pipe(map((stored) => isWritten(stored, record, saved, version + 1)));
          }),
          retryConnection(retryTime),
        );
      }),
    delete: (id, version) =>
      query('delete from rivulet_chats where id = $1 and version = $2 returning id', [id, version]).pipe(
        retryConnection(retryTime),
        map(({ length }) => length > 0),
      ),
    list: (owner, cursor = '') =>
      defer(() => {
        const [, updated = null, id = null] = /^(\d+):(.+)$/s.exec(cursor) ?? [];
        return query<SummaryRow>(LIST, [owner, now(), updated, id, PAGE_SIZE + 1]);
      }).pipe(
        retryConnection(retryTime),
        map((rows) => {
          const chats = rows.slice(0, PAGE_SIZE).map((row) => ({ ...row, updated: Number(row.updated) }));
          const last = chats.at(-1);
          return { chats, ...(last && rows.length > PAGE_SIZE ? { next: `${last.updated}:${last.id}` } : {}) };
        }),
      ),
  };
}

const storedChat = ({ id, owner, title, updated, saved, version }: ChatRow) => ({
  record: { id, owner, title, updated: Number(updated), saved: JSON.parse(saved) as JsonObject },
  version,
});

const isWritten = (
  stored: ReturnType<typeof storedChat> | undefined,
  { title, updated }: ChatRecord,
  saved: string,
  version: number,
): boolean =>
  stored?.version === version &&
  stored.record.title === title &&
  stored.record.updated === updated &&
  JSON.stringify(stored.record.saved) === saved;

const SELECT = `select id, owner, title, updated::text as updated, saved, version from rivulet_chats
where id = $1 and expires > $2`;

/** A chat whose time is over is replaced as if it were not there. */
const INSERT = `insert into rivulet_chats as chat (id, owner, version, title, updated, saved, expires)
values ($1, $2, 1, $3, $4, $5, $6)
on conflict (id) do update
  set owner = excluded.owner, version = 1, title = excluded.title, updated = excluded.updated,
    saved = excluded.saved, expires = excluded.expires
  where chat.expires <= $7
returning version`;

const UPDATE = `update rivulet_chats
set owner = $2, version = version + 1, title = $3, updated = $4, saved = $5, expires = $6
where id = $1 and version = $8 and expires > $7
returning version`;

const LIST = `select id, title, updated::text as updated, version from rivulet_chats
where owner = $1 and expires > $2
  and ($3::bigint is null or updated < $3::bigint or (updated = $3::bigint and id > $4::text))
order by updated desc, id limit $5`;
