import { concatMap, from, ignoreElements, type Observable } from 'rxjs';
import type { PostgresClient } from './client.js';

/** One version of the tables. */
export interface PostgresMigration {
  /** From 1. The table `rivulet_schema` has the versions that were applied. */
  readonly version: number;
  /** One statement, which changes nothing if the version was applied before. Several processes may run it at once. */
  readonly sql: string;
}

/** Processes may start at once: the number of the lock is that of this library. */
const migration = (version: number, statements: string): PostgresMigration => ({
  version,
  sql: `do $migration$
begin
  perform pg_advisory_xact_lock(7245190842);
  create table if not exists rivulet_schema (version integer primary key);
  if exists (select from rivulet_schema where version = ${version}) then
    return;
  end if;

${statements}

  insert into rivulet_schema values (${version});
end
$migration$`,
});

/**
 * The versions of the tables of `postgresStore` and `postgresLog`, oldest first: apply them with
 * `migratePostgres`, or with a tool of your own.
 *
 * Times are milliseconds since 1970. Records and events are JSON as text, since `jsonb` rejects the character U+0000.
 */
export const postgresMigrations: readonly PostgresMigration[] = [
  /* @__PURE__ */ migration(
    1,
    `  create table rivulet_records (
    kind text not null,
    id text collate "C" not null,
    owner text not null,
    state text,
    title text,
    updated bigint not null,
    expires bigint not null,
    leased_until bigint not null,
    version integer not null,
    record text not null,
    primary key (kind, id)
  );
  create index rivulet_records_owner on rivulet_records (kind, owner, updated, id);
  create index rivulet_records_state on rivulet_records (kind, state, owner, updated, id);
  create index rivulet_records_expires on rivulet_records (expires);

  create table rivulet_logs (
    run text primary key,
    attempt integer not null,
    last_write integer not null,
    last_message integer not null default 0,
    ended boolean not null default false,
    failure text,
    expires bigint not null
  );
  create index rivulet_logs_expires on rivulet_logs (expires);
  create table rivulet_events (
    run text not null references rivulet_logs on delete cascade,
    position integer not null,
    events text not null,
    primary key (run, position)
  );
  create table rivulet_messages (
    run text not null references rivulet_logs on delete cascade,
    position integer not null,
    message text not null,
    primary key (run, position)
  );`,
  ),
  /* @__PURE__ */ migration(2, '  alter table rivulet_logs add column first_attempt integer not null default 1;'),
];

/**
 * Creates the tables of `postgresStore` and `postgresLog`, or brings them to the newest version. Call
 * it before the first request, in every process.
 *
 * @param client The database.
 * @returns Completes when the tables are there.
 */
export const migratePostgres = (client: PostgresClient): Observable<never> =>
  from(postgresMigrations).pipe(
    concatMap(({ sql }) => client.query(sql)),
    ignoreElements(),
  );
