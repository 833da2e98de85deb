import pg from 'pg';
import { pgNotifications, postgresLog, postgresStore } from '../../../lib/service/stores/postgres/index.js';

/** The store and the log of a process. */
export function postgresPorts(url: string) {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  pool.on('error', () => undefined); // an idle connection is lost when the server is killed
  const notifications = pgNotifications(() => new pg.Client({ connectionString: url }));
  return { pool, close: () => pool.end(), store: postgresStore(pool), log: postgresLog(pool, { notifications }) };
}
