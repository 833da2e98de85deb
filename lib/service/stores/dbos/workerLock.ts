import { concat, concatMap, defer, EMPTY, exhaustMap, first, from, ignoreElements, interval, map } from 'rxjs';
import { merge, Observable, repeat } from 'rxjs';
import type { PostgresClient } from '../postgres/client.js';
import { requireDatabase } from '../retryUnreachable.js';

/** A connection of its own to PostgreSQL: what `new Client(...)` of `pg` returns. */
export interface LockClient extends PostgresClient {
  connect(): PromiseLike<unknown>;
  on(event: 'error', listener: (thrown: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  end(): PromiseLike<unknown>;
}

export interface WorkerLock {
  /** Does nothing while another worker does this work. */
  ifFree<T>(worker: string, work: () => Observable<T>): Observable<T>;
  /** Waits for work of the same name of other workers. */
  inTurn<T>(name: string, work: Observable<T>): Observable<T>;
}

const CLASS = 724519;

/** Milliseconds. After a failover, the connection may stay open, while the new server knows of no lock. */
const SILENCE = 30_000;

export const holdWorkerLock = <T>(
  connect: () => LockClient,
  id: string,
  work: (lock: WorkerLock) => Observable<T>,
): Observable<T> =>
  new Observable((out) => {
    const client = connect();
    const fail = (thrown: unknown) => out.error(thrown);
    client.on('error', fail);
    client.on('end', () => fail(new Error('The connection that holds the lock of the worker has ended.')));
    const query = (text: string, worker: string) =>
      defer(() => from(client.query(`select ${text}($1, hashtext($2)) as done`, [CLASS, worker]))).pipe(
        requireDatabase(SILENCE),
        map(({ rows }) => (rows[0] as { readonly done: boolean } | undefined)?.done === true),
      );
    const lock: WorkerLock = {
      // It asks again: a statement that waits for a lock would block `create index concurrently` of DBOS.
      inTurn: (name, task) =>
        query('pg_try_advisory_lock', name).pipe(
          repeat({ delay: 200 }),
          first((isFree) => isFree),
          concatMap(() => concat(task, query('pg_advisory_unlock', name).pipe(ignoreElements()))),
        ),
      ifFree: (worker, task) =>
        query('pg_try_advisory_lock', worker).pipe(
          concatMap((isFree) =>
            isFree ? concat(task(), query('pg_advisory_unlock', worker).pipe(ignoreElements())) : [],
          ),
        ),
    };
    out.add(
      defer(() => from(client.connect()))
        .pipe(
          concatMap(() => query('pg_try_advisory_lock', id)),
          concatMap(() => merge(work(lock), interval(SILENCE).pipe(exhaustMap(() => lock.ifFree(id, () => EMPTY))))),
        )
        .subscribe(out),
    );
    return () => void client.end().then(undefined, () => undefined); // it fails if the connection is lost already
  });
