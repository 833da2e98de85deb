import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  catchError,
  concat,
  concatMap,
  EMPTY,
  firstValueFrom,
  forkJoin,
  ignoreElements,
  lastValueFrom,
  map,
} from 'rxjs';
import { merge, of, skip, take, tap, timer, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import type { StreamEvent } from '../../../../lib/core/event.js';
import type { ChatRecord } from '../../../../lib/service/chats/chatStore.js';
import type { RunRecord } from '../../../../lib/service/ports/runStore.js';
import {
  migratePostgres,
  pgliteNotifications,
  pgNotifications,
} from '../../../../lib/service/stores/postgres/index.js';
import { postgresLog, postgresMigrations, postgresStore } from '../../../../lib/service/stores/postgres/index.js';
import type { PostgresClient } from '../../../../lib/service/stores/postgres/index.js';
import { logContract, storeContract } from '../../../../lib/testing/index.js';
import { startPostgres } from '../../../support/postgresServer.js';
import type { PostgresServer } from '../../../support/postgresServer.js';
import { expectLostLog, expectSharedRun } from '../otherProcess.js';

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
  it.each(storeContract(() => postgresStore(pool, { kind: 'chat' })))('postgresStore of chats $title', ({ run }) =>
    run(),
  );
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

  it('writes and reads 50 runs with few statements, and wakes nobody for messages that are not there', async () => {
    const texts: string[] = [];
    const counting: PostgresClient = {
      query: (statement, values) => {
        texts.push(statement);
        return pool.query<object>(statement, values);
      },
    };
    const options = { notifications: notifications(), writeInterval: 0, pollInterval: 60_000 };
    const [writer, reader] = [postgresLog(counting, options), postgresLog(counting, options)];
    const runs = Array.from({ length: 50 }, (_, index) => `many-${index}`);
    await done(forkJoin(runs.map((run) => concat(writer.append(run, 1, []), of(undefined)))));
    const listening = runs.map((run) => writer.messages(run).subscribe());
    const reading = forkJoin(runs.map((run) => reader.read(run).pipe(toArray())));
    const received = lastValueFrom(reading);
    await firstValueFrom(timer(500)); // it listens
    texts.length = 0;
    for (const word of ['a', 'b'])
      await done(forkJoin(runs.map((run) => concat(writer.append(run, 1, [{ type: word }]), of(undefined)))));
    await firstValueFrom(timer(200));
    expect(texts.filter((text) => text.includes('rivulet_messages'))).toEqual([]);
    expect(texts.length).toBeLessThan(40);
    await done(forkJoin(runs.map((run) => concat(writer.end(run, 1), of(undefined)))));
    expect((await received).map((envelopes) => envelopes.map(({ event }) => event.type).join(''))).toEqual(
      runs.map(() => 'ab'),
    );
    for (const each of listening) each.unsubscribe();
  });

  it('keeps a run whose write fails apart from the others of its statement', async () => {
    const log = postgresLog(pool, { writeInterval: 0 });
    const runs = ['apart-0', 'apart-1', 'apart-2', 'apart-3'];
    await done(forkJoin(runs.map((run) => concat(log.append(run, 1, []), of(undefined)))));
    const write = (run: string) =>
      concat(log.append(run, run === 'apart-2' ? 2 ** 40 : 1, [{ type: 'a' }]), of('written')).pipe(
        catchError((thrown: unknown) => of((thrown as { readonly code: string }).code)),
      );
    expect(await firstValueFrom(forkJoin(runs.map(write)))).toEqual(['written', 'written', '22003', 'written']);
  });

  it('does each write once while the database is killed and started again', async () => {
    const [store, log] = [postgresStore(pool), listeningLog()];
    const run = 'restart';
    const record: RunRecord = { id: run, owner: 'ann', state: 'running', updated: 0, attempt: 1, input: [] };
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
  });

  it.each(['append', 'end'] as const)(
    'knows an %s of its own that the server still executes after its connection was lost',
    async (name) => {
      const run = `own ${name}`;
      const holder = await pool.connect();
      const executing: PromiseLike<unknown>[] = [];
      let isHeld = false;
      const lossy: PostgresClient = {
        query(statement, values) {
          const answer = pool.query<object>(statement, values);
          if (!isHeld || !statement.startsWith('with asked')) return answer;
          executing.push(answer);
          if (executing.length === 1)
            return Promise.reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
          void holder.query('commit');
          return answer;
        },
      };
      const log = postgresLog(lossy, { writeInterval: 0 });
      await done(log.append(run, 1, [{ type: 'a' }]));
      await holder.query('begin');
      await holder.query('select from rivulet_logs where run = $1 for update', [run]);
      isHeld = true;
      const written = done(name === 'append' ? log.append(run, 1, [{ type: 'b' }]) : log.end(run, 1));
      await written.finally(() => holder.release());
      expect(executing).toHaveLength(2);
      await Promise.all(executing);
      isHeld = false;
      if (name === 'append') await done(log.end(run, 1));
      const read = await firstValueFrom(listeningLog().read(run).pipe(toArray()));
      expect(read.map(({ event }) => event.type)).toEqual(name === 'append' ? ['a', 'b'] : ['a']);
    },
  );

  it('does not continue a run that was removed meanwhile', async () => {
    const log = postgresLog(pool, { writeInterval: 0 });
    await done(log.append('removed', 1, [{ type: 'a' }]));
    await pool.query("delete from rivulet_logs where run = 'removed'"); // its age was over
    await expect(done(log.append('removed', 1, [{ type: 'b' }]))).rejects.toMatchObject({ code: 'run_taken' });
    expect(await firstValueFrom(log.state('removed'))).toBeUndefined();
  });

  it('tells a reader that the database has lost events which it has read', async () => {
    const log = listeningLog();
    await done(concat(...['a', 'b', 'c'].map((type) => log.append('undone', 1, [{ type }]))));
    const reading = firstValueFrom(log.read('undone').pipe(toArray()));
    await firstValueFrom(log.read('undone').pipe(skip(2)));
    await pool.query("delete from rivulet_logs where run = 'undone'"); // a replica that was behind is the primary now
    const next = postgresLog(pool, { writeInterval: 0 });
    await Promise.all([
      expect(reading).rejects.toMatchObject({ code: 'run_not_found' }),
      done(concat(next.append('undone', 2, [{ type: 'd' }]), next.append('undone', 2, [{ type: 'e' }]))),
    ]);
  });

  it('tells a reader that its log was lost when another attempt has begun a new one', () =>
    expectLostLog(listeningLog(), () => pool.query('truncate rivulet_logs cascade')));

  it('fails at once for an error that another attempt does not mend', async () => {
    const broken = postgresStore({ query: (statement) => pool.query(statement.replace('rivulet_records', 'missing')) });
    await expect(done(broken.get('x'))).rejects.toMatchObject({ code: '42P01' });
  });

  it('removes what is too old, and nothing that is executed', async () => {
    const store = postgresStore(pool);
    const record: RunRecord = {
      id: 'old',
      owner: 'bob',
      state: 'ended',
      updated: 0,
      attempt: 1,
      input: [],
      expires: 1,
    };
    const executor = { id: 'p', until: Date.now() + 60_000 };
    await done(concat(store.put(record, 0), store.put({ ...record, id: 'held', executor }, 0)));
    expect(await firstValueFrom(store.get('old'))).toBeUndefined();
    expect(await firstValueFrom(store.get('held'))).toMatchObject({ version: 1 });
    expect(await firstValueFrom(store.put(record, 0))).toBe(true); // as if it were not there
    const chat = { id: 'old', owner: 'bob', title: 'Old', updated: 1, saved: {} };
    await done(postgresStore(pool, { kind: 'chat', maxAge: 0 }).put(chat, 0));
    expect(await firstValueFrom(postgresStore(pool, { kind: 'chat' }).get('old'))).toBeUndefined();
    await done(postgresStore(pool).put({ ...record, id: 'new', expires: undefined }, 0)); // a new process cleans
    const { rows } = await pool.query("select id from rivulet_records where owner = 'bob' order by id");
    expect(rows).toEqual([{ id: 'held' }, { id: 'new' }]);
  });
});

describe('PGlite', () => {
  let database: PGlite;
  beforeAll(async () => {
    database = new PGlite();
    await done(migratePostgres(database));
  });
  afterAll(() => database.close());

  const log = () => postgresLog(database, { notifications: pgliteNotifications(database), writeInterval: 0 });
  it.each(storeContract(() => postgresStore(database)))('postgresStore $title', ({ run }) => run());
  it.each(logContract(log))('postgresLog $title', ({ run }) => run());

  const record = (id: string): RunRecord => ({ id, owner: 'ann', state: 'ended', updated: 0, attempt: 1, input: [] });
  const chat = (id: string): ChatRecord => ({ id, owner: 'ann', title: 'Chat', updated: 1, saved: {} });

  it('keeps a run and a chat apart which have one id and one owner', async () => {
    const [runs, chats] = [postgresStore(database), postgresStore(database, { kind: 'chat' })];
    const id = 'both';
    expect(await firstValueFrom(runs.put(record(id), 0))).toBe(true);
    expect(await firstValueFrom(chats.put(chat(id), 0))).toBe(true);
    expect(await firstValueFrom(chats.get(id))).toEqual({ record: chat(id), version: 1 });
    expect((await firstValueFrom(chats.list({ owner: 'ann' }))).records).toEqual([
      { id, owner: 'ann', title: 'Chat', updated: 1, version: 1 },
    ]);
    expect(await firstValueFrom(chats.delete(id, 1))).toBe(true);
    expect(await firstValueFrom(runs.get(id))).toEqual({ record: record(id), version: 1 });
  });

  const timeLimits = ['57014', '55P03', '25P03', '25P04', '57P05'];
  it.each([...timeLimits, '08006', '57P01', '53300', '25006', '40001', '40P01', 'ECONNRESET'])(
    'tries again after %s',
    async (code) => {
      const failing = (): PostgresClient => {
        let failures = 2;
        return {
          query: (text, values) =>
            failures-- > 0
              ? Promise.reject(Object.assign(new Error('A failure.'), { code }))
              : database.query<object>(text, values),
        };
      };
      expect(await firstValueFrom(postgresStore(failing()).put(record(`after ${code}`), 0))).toBe(true);
      await done(postgresLog(failing()).append(`after ${code}`, 1, []));
    },
  );

  it.each([Infinity, 1e10 / 3])('keeps records and runs for %s ms', async (maxAge) => {
    const [store, events] = [postgresStore(database, { maxAge }), postgresLog(database, { maxAge, writeInterval: 0 })];
    const id = `kept ${maxAge}`;
    const until = Date.now() + maxAge;
    expect(await firstValueFrom(store.put({ ...record(id), executor: { id: 'p', until } }, 0))).toBe(true);
    await done(concat(events.append(id, 1, [{ type: 'a' }]), events.end(id, 1, { expires: until })));
    expect(await firstValueFrom(store.get(id))).toMatchObject({ version: 1 });
    expect(await firstValueFrom(events.read(id).pipe(toArray()))).toHaveLength(1);
  });

  /** A client that loses the answer of each statement once, after or before the database has executed it. */
  const losing = (isExecuted: boolean): PostgresClient & { readonly lost: string[] } => {
    const lost: string[] = [];
    return {
      lost,
      async query(text, values) {
        const isFirst = !lost.includes(text);
        lost.push(text);
        const answer = isFirst && !isExecuted ? undefined : await database.query<object>(text, values);
        if (isFirst || !answer) throw Object.assign(new Error('Connection terminated'), { code: 'ECONNRESET' });
        return answer;
      },
    };
  };
  const store = (client: PostgresClient, id: string) => ({
    put: postgresStore(client).put({ ...record(id), attempt: 2 }, 1),
    create: postgresStore(client).put(record(`${id} new`), 0),
    delete: postgresStore(client).delete(id, 1),
    'delete of another version': postgresStore(client).delete(id, 2),
    get: postgresStore(client)
      .get(id)
      .pipe(map((each) => each?.version)),
    list: postgresStore(client)
      .list({ owner: id })
      .pipe(map(({ records }) => records.length)),
    append: postgresLog(client, { writeInterval: 0 }).append(id, 1, [{ type: 'b' }]),
    end: postgresLog(client).end(id, 1),
    state: postgresLog(client)
      .state(id)
      .pipe(map((state) => state?.hasEvents)),
  });
  const lostAnswers = {
    put: [true],
    create: [true],
    delete: [true],
    'delete of another version': [false],
    get: [1],
    list: [0],
    append: [],
    end: [],
    state: [true],
  } as const;
  const names = Object.keys(lostAnswers) as (keyof typeof lostAnswers)[];
  it.each(names.flatMap((name) => [true, false].map((isExecuted) => [name, isExecuted] as const)))(
    'answers %s as if nothing had happened when its answer was lost (executed: %s)',
    async (name, isExecuted) => {
      const id = `lost ${name} ${isExecuted}`;
      await done(concat(postgresStore(database).put(record(id), 0), log().append(id, 1, [{ type: 'a' }])));
      const client = losing(isExecuted);
      const values = await lastValueFrom((store(client, id)[name] as Observable<unknown>).pipe(toArray()));
      expect(values).toEqual(lostAnswers[name]);
      expect(client.lost.length).toBeGreaterThan(1);
      const events = name === 'append' ? ['a', 'b'] : ['a'];
      await done(
        log()
          .end(id, 2)
          .pipe(catchError(() => EMPTY)),
      );
      expect(
        await firstValueFrom(
          log()
            .read(id)
            .pipe(
              map(({ event }) => event.type),
              toArray(),
            ),
        ),
      ).toEqual(events);
      const stored = await firstValueFrom(postgresStore(database).get(id));
      expect(stored?.version).toBe(
        { put: 2, delete: undefined }[name as string] ?? (name === 'delete' ? undefined : 1),
      );
    },
  );

  it.each([
    [{ owner: 'ann' }, 'rivulet_records_owner'],
    [{ owner: 'ann', cursor: '5:x' }, 'rivulet_records_owner'],
    [{ owner: 'ann', state: 'waiting' }, 'rivulet_records_state'],
    [{ owner: 'ann', state: 'waiting', cursor: '5:x' }, 'rivulet_records_state'],
    [{ owner: null, state: 'dead' }, 'rivulet_records_state'],
  ])('lists %j by the index %s', async (query, index) => {
    const plans: string[] = [];
    const explaining: PostgresClient = {
      async query(text, values) {
        const { rows } = await database.query<Record<string, string>>(`explain ${text}`, values);
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
        return { rows: [] };
      },
    };
    await database.query('set enable_seqscan = off');
    await done(postgresStore(explaining).list(query));
    await database.query('reset enable_seqscan');
    expect(plans.join()).toContain(index);
    if (query.owner !== null) expect(plans.join()).not.toContain('Sort');
  });
});
