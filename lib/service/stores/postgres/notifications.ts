import { Observable } from 'rxjs';

/** The statements of `postgresLog` notify this channel. */
const CHANNEL = 'rivulet';

/** A connection of its own to PostgreSQL: what `new Client(...)` of `pg` returns. */
export interface PgListener {
  connect(): PromiseLike<unknown>;
  query(text: string): PromiseLike<unknown>;
  on(event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  on(event: 'error', listener: (thrown: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  end(): PromiseLike<unknown>;
}

/** PGlite, or another database in this process with this function. */
export interface PgliteListener {
  listen(channel: string, callback: (payload: string) => void): PromiseLike<() => PromiseLike<unknown>>;
}

/**
 * The notifications of `pg`, for the option `notifications` of `postgresLog`. They need a connection of their own, and
 * no pooler that gives a connection to another client after each transaction.
 *
 * ```ts
 * const log = postgresLog(pool, { notifications: pgNotifications(() => new Client({ connectionString })) });
 * ```
 *
 * @param create Returns a client that is not connected yet. It is called at each subscription.
 * @returns Emits the ids of runs, and an empty text once it listens. It fails when the connection is lost.
 */
export const pgNotifications = (create: () => PgListener): Observable<string> =>
  new Observable((out) => {
    const client = create();
    const fail = (thrown: unknown) => out.error(thrown);
    client.on('notification', ({ payload }) => out.next(payload ?? ''));
    client.on('error', fail);
    client.on('end', () => fail(new Error('The connection that listens for notifications has ended.')));
    client
      .connect()
      .then(() => client.query(`listen ${CHANNEL}`))
      .then(() => out.next(''), fail);
    return () => void client.end().then(undefined, () => undefined); // it fails if the connection is lost already
  });

/**
 * The notifications of PGlite, for the option `notifications` of `postgresLog`.
 *
 * @param database The database.
 * @returns Emits the ids of runs, and an empty text once it listens.
 */
export const pgliteNotifications = (database: PgliteListener): Observable<string> =>
  new Observable((out) => {
    const listening = database.listen(CHANNEL, (run) => out.next(run));
    const fail = (thrown: unknown) => out.error(thrown);
    void listening.then(() => out.next(''), fail);
    return () => void listening.then((unlisten) => unlisten()).then(undefined, fail);
  });
