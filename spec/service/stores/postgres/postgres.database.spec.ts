import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { concat, concatMap, firstValueFrom, forkJoin, ignoreElements, lastValueFrom, map } from 'rxjs';
import { merge, of, take, tap, timer, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import type { StreamEvent } from '../../../../lib/core/event.js';
import type { RunRecord } from '../../../../lib/service/ports/runStore.js';
import {
  migratePostgres,
  pgliteNotifications,
  pgNotifications,
} from '../../../../lib/service/stores/postgres/index.js';
import {
  postgresChats,
  postgresLog,
  postgresMigrations,
  postgresStore,
} from '../../../../lib/service/stores/postgres/index.js';
import { chatStoreContract, logContract, storeContract } from '../../../../lib/testing/index.js';
import { startPostgres } from '../../../support/postgresServer.js';
import type { PostgresServer } from '../../../support/postgresServer.js';
import { expectSharedRun } from '../otherProcess.js';

const text = (value: string) => ({ type: 'text', text: value }) as StreamEvent;
const done = (work: Observable<unknown>) => lastValueFrom(work, { defaultValue: undefined });

describe('PostgreSQL', () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  const notifications = () => pgNotifications(() => new pg.Client({ connectionString: server.url }));
  const listeningLog = () => postgresLog(pool, { notifications: notifications() });

  beforeAll(async () => {
    server = await startPostgres();
    pool = new pg.Pool({ connectionString: server.url });
    pool.on('error', () => undefined); // an idle connection is lost when the server is killed
  });
  afterAll(async () => {
    await pool.end();
    server.remove();
  });

  it('creates the tables once, whatever the number of processes that start at the same time', async () => {
    await done(forkJoin([1, 2, 3, 4].map(() => concat(migratePostgres(pool), of(undefined)))));
    await done(migratePostgres(pool));
    const { rows } = await pool.query('select version from rivulet_schema order by version');
    expect(rows).toEqual(postgresMigrations.map(({ version }) => ({ version })));
  });

  it.each(storeContract(() => postgresStore(pool)))('postgresStore $title', ({ run }) => run());
  it.each(chatStoreContract(() => postgresChats(pool)))('postgresChats $title', ({ run }) => run());
  it.each(logContract(() => postgresLog(pool, { writeInterval: 0 })))('postgresLog, polling $title', ({ run }) =>
    run(),
  );
  it.each(logContract(listeningLog))('postgresLog, with notifications $title', ({ run }) => run());

  it('gives a reader of another process each event, and its executor the messages from there', () =>
    expectSharedRun(listeningLog(), listeningLog()));

  it('continues at a position which another process has read, and which this one does not know yet', async () => {
    const [writer, late] = [listeningLog(), postgresLog(pool, { pollInterval: 60_000 })];
    const run = 'newer-position';
    await done(writer.append(run, 1, [{ type: 'a' }]));
    const first = late.read(run).subscribe(); // this process polls once a minute
    await firstValueFrom(late.read(run).pipe(take(1)));
    await done(writer.append(run, 1, [{ type: 'b' }, { type: 'c' }]));
    const envelopes = await firstValueFrom(writer.read(run).pipe(take(2), toArray()));
    const next = await firstValueFrom(late.read(run, envelopes[1]?.id));
    expect(next.event.type).toBe('c');
    first.unsubscribe();
  });

  it('gives as few writes as the interval allows, and all events', async () => {
    const log = postgresLog(pool, { writeInterval: 200 });
    const run = 'interval';
    const words = Array.from({ length: 50 }, (_, index) => `${index} `);
    // What logRun does: the next write has what arrived during the one before.
    await done(log.append(run, 1, [text('first ')]));
    await done(log.append(run, 1, words.map(text)));
    await done(log.end(run, 1));
    const { rows } = await pool.query('select position from rivulet_events where run = $1', [run]);
    expect(rows).toHaveLength(2);
    const read = await firstValueFrom(log.read(run).pipe(toArray()));
    expect(read.map(({ event }) => ('text' in event ? event.text : '')).join('')).toBe(`first ${words.join('')}`);
  });

  it('does each write once while the database is killed and started again', async () => {
    const [store, log] = [postgresStore(pool), listeningLog()];
    const run = 'restart';
    const record: RunRecord = { id: run, owner: 'ann', state: 'running', attempt: 1, input: [] };
    await done(concat(store.put(record, 0), log.append(run, 1, [])));
    const reading = firstValueFrom(log.read(run).pipe(toArray()));
    const events = Array.from({ length: 40 }, (_, index) => ({ type: `e${index}` }));
    const writing = concat(...events.map((event) => log.append(run, 1, [event])), log.end(run, 1)).pipe(
      ignoreElements(),
    );
    const storing = concat(
      ...Array.from({ length: 40 }, (_, index) =>
        timer(50).pipe(concatMap(() => store.put({ ...record, attempt: index + 1 }, index + 1))),
      ),
    );
    const restart = timer(500).pipe(
      tap(() => server.kill()),
      concatMap(() => timer(2000)),
      tap(() => server.start()),
      ignoreElements(),
    );
    const stored = await firstValueFrom(merge(writing, storing, restart).pipe(toArray()));
    expect(stored).toEqual(Array.from({ length: 40 }, () => true));
    expect((await reading).map(({ event }) => event.type)).toEqual(events.map(({ type }) => type));
    expect(await firstValueFrom(store.get(run).pipe(map((each) => each?.version)))).toBe(41);
  }, 60_000);

  it('fails at once for an error that another attempt does not mend', async () => {
    const broken = postgresStore({ query: (statement) => pool.query(statement.replace('rivulet_runs', 'missing')) });
    await expect(done(broken.get('x'))).rejects.toMatchObject({ code: '42P01' });
  });

  it('removes what is too old, and nothing that is executed', async () => {
    const store = postgresStore(pool);
    const record: RunRecord = { id: 'old', owner: 'bob', state: 'ended', attempt: 1, input: [], expires: 1 };
    const executor = { id: 'p', until: Date.now() + 60_000 };
    await done(concat(store.put(record, 0), store.put({ ...record, id: 'held', executor }, 0)));
    expect(await firstValueFrom(store.get('old'))).toBeUndefined();
    expect(await firstValueFrom(store.get('held'))).toMatchObject({ version: 1 });
    expect(await firstValueFrom(store.put(record, 0))).toBe(true); // as if it were not there
    const chat = { id: 'old', owner: 'bob', title: 'Old', updated: 1, saved: {} };
    await done(postgresChats(pool, { maxAge: 0 }).put(chat, 0));
    expect(await firstValueFrom(postgresChats(pool).get('old'))).toBeUndefined();
    await done(postgresStore(pool).put({ ...record, id: 'new', expires: undefined }, 0)); // a new process cleans
    const { rows } = await pool.query("select id from rivulet_runs where owner = 'bob' order by id");
    expect(rows).toEqual([{ id: 'held' }, { id: 'new' }]);
  });
});

describe('PGlite', () => {
  let database: PGlite;
  beforeAll(async () => {
    database = new PGlite();
    await done(migratePostgres(database));
  }, 60_000);
  afterAll(() => database.close());

  const log = () => postgresLog(database, { notifications: pgliteNotifications(database), writeInterval: 0 });
  it.each(storeContract(() => postgresStore(database)))('postgresStore $title', ({ run }) => run());
  it.each(chatStoreContract(() => postgresChats(database)))('postgresChats $title', ({ run }) => run());
  it.each(logContract(log))('postgresLog $title', ({ run }) => run());
});
