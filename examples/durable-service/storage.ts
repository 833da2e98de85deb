import pg from 'pg';
import { lastValueFrom } from 'rxjs';
import { migratePostgres, pgNotifications, postgresLog, postgresStore } from 'rivulet/postgres';

/** The address of the database. A front and a worker read it from their environment. */
export const databaseUrl = (): string => {
  const url = process.env['DATABASE_URL'];
  if (url) return url;
  throw new Error('DATABASE_URL is not set. Set it to the address of a PostgreSQL database, or start main.ts.');
};

/** A connection of its own, which must not go through a pooler: for `LISTEN`, and for the lock of a worker. */
export const connect = () => new pg.Client({ connectionString: databaseUrl(), keepAlive: true });

/** The store and the log that fronts and workers share. Each process uses up to `connections`, and one for `LISTEN`. */
export async function openStorage(connections: number) {
  const pool = new pg.Pool({ connectionString: databaseUrl(), max: connections, keepAlive: true });
  pool.on('error', ({ message }) => console.error(`The database has closed a connection: ${message}`));
  await lastValueFrom(migratePostgres(pool), { defaultValue: undefined });
  const log = postgresLog(pool, { notifications: pgNotifications(connect) });
  return {
    pool,
    store: postgresStore(pool),
    log,
    chats: postgresStore(pool, { kind: 'chat' }),
    close: () => pool.end(),
  };
}
