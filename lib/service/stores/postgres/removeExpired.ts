import { asyncScheduler, concatMap, defer, endWith, from, ignoreElements, of, type Observable } from 'rxjs';
import { retryConnection, rowsOf, type PostgresClient } from './client.js';

/** Milliseconds. */
const INTERVAL = 60_000;

/** At most 1000 rows, and none that another process removes now: no request waits long for it. */
const STATEMENTS = [
  `delete from rivulet_records where (kind, id) in (
    select kind, id from rivulet_records where expires <= $1 and leased_until <= $1 limit 1000 for update skip locked)`,
  `delete from rivulet_logs where run in (
    select run from rivulet_logs where expires <= $1 limit 1000 for update skip locked)`,
];

export function removeExpired(client: PostgresClient, retryTime: number): Observable<void> {
  let next = 0;
  return defer(() => {
    const now = asyncScheduler.now();
    if (now < next) return of(undefined);
    next = now + INTERVAL;
    return from(STATEMENTS).pipe(
      concatMap((statement) => rowsOf(client, statement, [now])),
      retryConnection(retryTime),
      ignoreElements(),
      endWith(undefined),
    );
  });
}
