import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createClient } from 'redis';
import { concat, concatMap, firstValueFrom, ignoreElements, lastValueFrom, merge, skip, timer, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { redisLog, redisNotifications } from '../../../../lib/service/stores/redis/index.js';
import { logContract } from '../../../../lib/testing/index.js';
import { startRedis } from '../../../support/redisServer.js';
import type { RedisServer } from '../../../support/redisServer.js';
import { expectLostLog, expectSharedRun } from '../otherProcess.js';

const done = (work: Observable<unknown>) => lastValueFrom(work, { defaultValue: undefined });

describe('Redis', () => {
  let server: RedisServer;
  let client: ReturnType<typeof connection>;
  const connection = () => createClient({ url: server.url });
  const listeningLog = () => redisLog(client, { notifications: redisNotifications(connection) });

  beforeAll(async () => {
    server = await startRedis();
    client = connection();
    client.on('error', () => undefined); // the connection is lost when the server is killed
    await client.connect();
  });
  afterAll(async () => {
    client.destroy();
    await server.remove();
  });

  it.each(logContract(() => redisLog(client, { writeInterval: 0 })))('redisLog, polling $title', ({ run }) => run());
  it.each(logContract(listeningLog))('redisLog, with notifications $title', ({ run }) => run());

  it('gives a reader of another process each event, and its executor the messages from there', () =>
    expectSharedRun(listeningLog(), listeningLog()));

  it('reads more entries than one page has', async () => {
    const log = redisLog(client, { writeInterval: 0 });
    const types = Array.from({ length: 700 }, (_, index) => `e${index}`);
    await done(concat(...types.map((type) => log.append('long', 1, [{ type }])), log.end('long', 1)));
    const read = await firstValueFrom(log.read('long').pipe(toArray()));
    expect(read.map(({ event }) => event.type)).toEqual(types);
  });

  it('does each write once while the server is killed and started again', async () => {
    const log = listeningLog();
    const run = 'restart';
    await done(log.append(run, 1, []));
    const reading = firstValueFrom(log.read(run).pipe(toArray()));
    const events = Array.from({ length: 40 }, (_, index) => ({ type: `e${index}` }));
    const writing = concat(...events.map((event) => log.append(run, 1, [event])), log.end(run, 1));
    const restart = timer(500).pipe(
      concatMap(() => server.kill()),
      concatMap(() => timer(1000)),
      concatMap(() => server.start()),
      ignoreElements(),
    );
    await done(merge(writing, restart));
    expect((await reading).map(({ event }) => event.type)).toEqual(events.map(({ type }) => type));
  });

  it.each([true, false])('does each write once when its reply was lost (executed: %s)', async (isExecuted) => {
    const lossy = { losses: 0 };
    const log = redisLog({
      sendCommand: async (command: string[]) => {
        const isLost = command[1]?.includes('xadd') && lossy.losses++ % 2 === 0;
        const reply = isLost && !isExecuted ? undefined : await client.sendCommand(command);
        if (isLost) throw new Error('The socket was closed.');
        return reply;
      },
    });
    const run = `lost-replies-${isExecuted}`;
    await done(concat(...['a', 'b', 'c'].map((type) => log.append(run, 1, [{ type }])), log.end(run, 1)));
    const read = await firstValueFrom(log.read(run).pipe(toArray()));
    expect(read.map(({ event }) => event.type)).toEqual(['a', 'b', 'c']);
    expect(lossy.losses).toBeGreaterThan(3);
  });

  it('does each write once when its client sends it again by itself, as ioredis does', async () => {
    const twice = {
      sendCommand: async (command: string[]) => {
        await client.sendCommand(command);
        return client.sendCommand(command);
      },
    };
    const log = redisLog(twice, { writeInterval: 0 });
    const cancels = ['x', 'y', 'y'].map((id) => log.send('twice', { type: 'cancel', id }));
    await done(concat(...['a', 'b', 'b'].map((type) => log.append('twice', 1, [{ type }])), ...cancels));
    await done(log.end('twice', 1));
    const sent = await firstValueFrom(log.messages('twice').pipe(toArray()));
    expect(sent.map(({ message }) => 'id' in message && message.id)).toEqual(['x', 'y', 'y']);
    const read = await firstValueFrom(log.read('twice').pipe(toArray()));
    expect(read.map(({ event }) => event.type)).toEqual(['a', 'b', 'b']);
  });

  it('sends a message once when its reply was lost, and another process has sent to the run meanwhile', async () => {
    const other = redisLog(client);
    const run = 'meanwhile';
    let losses = 0;
    const log = redisLog({
      sendCommand: async (command: string[]) => {
        const reply = await client.sendCommand(command);
        if (!command[1]?.includes('hincrby') || losses++ > 0) return reply;
        await done(other.send(run, { type: 'cancel', id: 'other' }));
        throw new Error('The socket was closed.');
      },
    });
    await done(log.append(run, 1, []));
    await done(log.send(run, { type: 'cancel', id: 'own' }));
    await done(log.end(run, 1));
    const sent = await firstValueFrom(log.messages(run).pipe(toArray()));
    expect(sent.map(({ message }) => 'id' in message && message.id)).toEqual(['own', 'other']);
    expect(losses).toBe(2);
  });

  it.each([Infinity, 1e10 / 3])('keeps a run for %s ms', async (maxAge) => {
    const log = redisLog(client, { maxAge, writeInterval: 0 });
    const run = `kept-${maxAge}`;
    await done(concat(log.append(run, 1, [{ type: 'a' }]), log.end(run, 1, { expires: Date.now() + maxAge })));
    expect(await client.pTTL(`rivulet:{${run}}:events`)).toBeGreaterThan(3e9);
  });

  it('keeps an ended run for its time if the clock of the process is an hour late', async () => {
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
    const log = redisLog(client, { writeInterval: 0 });
    await done(concat(log.append('late', 1, [{ type: 'a' }]), log.end('late', 1, { expires: Date.now() + 60_000 })));
    clock.mockRestore();
    expect(await client.pTTL('rivulet:{late}:events')).toBeGreaterThan(50_000);
  });

  it('tells a reader that Redis has lost events which it has read', async () => {
    const log = redisLog(client, { writeInterval: 0, pollInterval: 50 });
    await done(concat(...['a', 'b', 'c'].map((type) => log.append('undone', 1, [{ type }]))));
    const reading = firstValueFrom(log.read('undone').pipe(toArray()));
    await firstValueFrom(log.read('undone').pipe(skip(2)));
    await client.del(['rivulet:{undone}:state', 'rivulet:{undone}:events']); // as a crash, or a replica that was behind
    const next = redisLog(client, { writeInterval: 0 });
    await Promise.all([
      expect(reading).rejects.toMatchObject({ code: 'run_not_found' }),
      done(concat(next.append('undone', 2, [{ type: 'd' }]), next.append('undone', 2, [{ type: 'e' }]))),
    ]);
  });

  it('tells a reader that its log was lost when another attempt has begun a new one', () =>
    expectLostLog(listeningLog(), () => client.flushAll()));

  it.each([
    'LOADING Redis is loading the dataset in memory',
    "READONLY You can't write against a read only replica.",
    "ERR Error running script (call to f_1): @user_script:9: -READONLY You can't write against a read only replica.",
    'NOREPLICAS Not enough good replicas to write.',
    'CLUSTERDOWN The cluster is down',
    'The database has not answered for 8 s.',
  ])('tries again after: %s', async (message) => {
    let failures = 1;
    const failing = {
      sendCommand: (command: string[]) =>
        failures-- > 0 ? Promise.reject(new Error(message)) : client.sendCommand(command),
    };
    await done(redisLog(failing).append('again', 1, []));
    expect(failures).toBe(-1);
  });

  it('fails at once for an error that another attempt does not mend', async () => {
    await client.set('rivulet:{wrong}:state', 'a text');
    await expect(done(redisLog(client).append('wrong', 1, []))).rejects.toThrow('WRONGTYPE');
  });

  it('keeps a run for its age, and an ended one until its end says', async () => {
    const log = redisLog(client, { maxAge: 60_000, prefix: 'mine' });
    await done(log.append('aged', 1, [{ type: 'a' }]));
    for (const name of ['state', 'events']) {
      const left = await client.pTTL(`mine:{aged}:${name}`);
      expect(left).toBeGreaterThan(50_000);
      expect(left).toBeLessThanOrEqual(60_000);
    }
    await done(log.end('aged', 1, { expires: Date.now() - 1 }));
    expect(await client.exists(['mine:{aged}:state', 'mine:{aged}:events'])).toBe(0);
    await expect(done(log.read('aged'))).rejects.toMatchObject({ code: 'run_not_found' });
  });
});
