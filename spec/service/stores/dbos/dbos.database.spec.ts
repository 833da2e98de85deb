import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import pg from 'pg';
import { concatMap, firstValueFrom, of, Subject, toArray } from 'rxjs';
import { holdWorkerLock } from '../../../../lib/service/stores/dbos/workerLock.js';
import type { WorkerLock } from '../../../../lib/service/stores/dbos/workerLock.js';
import { startPostgres } from '../../../support/postgresServer.js';
import type { PostgresServer } from '../../../support/postgresServer.js';

const runProgram = promisify(execFile);

describe('durableWorker', () => {
  let server: PostgresServer;
  const connect = () => new pg.Client({ connectionString: server.url });
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.remove());

  /** Holds the lock of a worker until `end` is called. */
  const hold = async (id: string) => {
    const locks = new Subject<WorkerLock>();
    const lost = new Subject<unknown>();
    const first = firstValueFrom(locks);
    const holding = holdWorkerLock(connect, id, (lock) => of(lock)).subscribe({
      next: (lock) => locks.next(lock),
      error: (thrown: unknown) => lost.next(thrown),
    });
    return { lock: await first, end: () => holding.unsubscribe(), lost };
  };
  const isFree = async (lock: WorkerLock, id: string) =>
    (await firstValueFrom(lock.ifFree(id, () => of(true)).pipe(toArray()))).length > 0;

  it('holds a lock that is free only after the connection of the worker has ended', async () => {
    const [a, b] = [await hold('a'), await hold('b')];
    expect(await isFree(b.lock, 'a')).toBe(false);
    expect(await isFree(b.lock, 'unknown')).toBe(true);
    expect(await isFree(b.lock, 'unknown')).toBe(true); // it was given back
    const client = connect();
    await client.connect();
    const lost = firstValueFrom(a.lost);
    // The server tells the client before it gives the locks back: the second argument waits until that process has ended.
    await client.query(
      "select pg_terminate_backend(pid, 60000) from pg_locks where locktype = 'advisory' and objid = hashtext('a')::oid",
    );
    expect(await lost).toBeInstanceOf(Error);
    expect(await firstValueFrom(of(0).pipe(concatMap(() => isFree(b.lock, 'a'))))).toBe(true);
    await client.end();
    b.end();
  });

  it('loses and repeats nothing when a worker is killed at sampled events of a run', async () => {
    const { stdout } = await runProgram(process.execPath, [
      '--import',
      'tsx',
      'spec/checks/durable/main.ts',
      '--every',
      '11',
    ]);
    expect(stdout).toMatch(/\d+ kills, \d+ with an unknown outcome, 0 problems/);
  }, 120_000);
});
