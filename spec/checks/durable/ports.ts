import pg from 'pg';
import type { PostgresClient } from '../../../lib/service/stores/postgres/index.js';
import { pgNotifications, postgresLog, postgresStore } from '../../../lib/service/stores/postgres/index.js';

/** SQLSTATEs of a server that is full, that cancels, or that asks to repeat; and a connection that is reset. */
const codes = ['53100', '57014', '40001', 'ECONNRESET'];

/** A client whose writes fail at random. One in two of those that fail was executed. */
const faulty = (client: pg.Pool, share: number): PostgresClient => ({
  async query(text, values) {
    const isFaulty = /\b(insert|update|delete)\b/i.test(text) && Math.random() < share;
    const isLost = Math.random() < 0.5;
    const result = isFaulty && !isLost ? undefined : await client.query<object>(text, values);
    if (!isFaulty && result) return result;
    const code = codes[Math.floor(Math.random() * codes.length)];
    throw Object.assign(new Error(`a fault of this check: ${code}`), { code });
  },
});

/**
 * The store and the log of a process.
 *
 * @param faults The share of writes that fail. Default: none.
 */
export function postgresPorts(url: string, faults = 0) {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  pool.on('error', () => undefined); // an idle connection is lost when the server is killed
  const notifications = pgNotifications(() => new pg.Client({ connectionString: url }));
  const client = faults > 0 ? faulty(pool, faults) : pool;
  return { pool, close: () => pool.end(), store: postgresStore(client), log: postgresLog(client, { notifications }) };
}
