import { catchError, defer, from, map, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import { isRecord } from '../../../core/json/json.js';
import { requireDatabase, retryUnreachable } from '../retryUnreachable.js';

/**
 * A connection to PostgreSQL, or a pool of them. `Pool` and `Client` of `pg` and PGlite have this function; for
 * postgres.js, pass `{ query: async (text, values) => ({ rows: await sql.unsafe(text, values) }) }`.
 */
export interface PostgresClient {
  /** Runs one statement, whose parameters are `$1`, `$2` ... */
  query(text: string, values?: unknown[]): PromiseLike<{ readonly rows: readonly object[] }>;
}

/** Options of `postgresStore` and `postgresLog`. */
export interface PostgresOptions {
  /** How long a run or a chat is kept after its last change, in milliseconds. Default: 30 days. */
  readonly maxAge?: number | undefined;
  /** How long a statement is tried again while the database cannot be reached, in milliseconds. Default: 30000. */
  readonly retryTime?: number | undefined;
}

export const DEFAULT_MAX_AGE = 2_592_000_000;
export const DEFAULT_RETRY_TIME = 30_000;

export const rowsOf = <Row>(client: PostgresClient, text: string, values: unknown[]): Observable<readonly Row[]> =>
  defer(() => from(client.query(text, values))).pipe(
    requireDatabase(),
    map(({ rows }) => rows as readonly Row[]),
    catchError((thrown: unknown) => {
      throw codeOf(thrown) === UNDEFINED_TABLE ? missingTables(thrown) : thrown;
    }),
  );

const UNDEFINED_TABLE = '42P01';

const missingTables = (cause: unknown): Error =>
  Object.assign(
    new Error('A table of Rivulet is missing. Call `migratePostgres` in every process before the first request.', {
      cause,
    }),
    { code: UNDEFINED_TABLE },
  );

const codeOf = (thrown: unknown): unknown =>
  isRecord(thrown) || thrown instanceof Error ? (thrown as { code?: unknown }).code : undefined;

/** A statement that failed so may have been executed. */
export const retryConnection = <T>(retryTime: number): MonoTypeOperatorFunction<T> =>
  retryUnreachable(isUnreachable, retryTime);

/**
 * SQLSTATE classes and codes after which the same statement may succeed. 25006: a server that was the primary. 57014,
 * 55P03, 25P0[34], 57P05: a time limit of the server has passed.
 */
const transientStates = /^(08...|57P0[1235]|57014|53300|55P03|25006|25P0[34]|40001|40P01)$/;

/** An error without SQLSTATE comes from the connection. */
function isUnreachable(thrown: unknown): boolean {
  const code = codeOf(thrown);
  const isState = typeof code === 'string' && /^(?=.*\d)[\dA-Z]{5}$/.test(code); // EPIPE has no digit
  return isState ? transientStates.test(code) : !(thrown instanceof TypeError);
}
