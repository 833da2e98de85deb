import { describe, expect, it } from '@jest/globals';
import { defer, tap } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { keepChats } from '../../lib/service/chats/keepChats.js';
import type { ChatRecord } from '../../lib/service/chats/chatStore.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import type { RunRecord } from '../../lib/service/ports/runStore.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { MAX_EARLIER_RUNS } from '../../lib/transport/earlierRun.js';
import { mapStore } from '../support/stores.js';

/*
 * A body has as many names as have room in it: of runs of a chat, of earlier runs, of their files. Due in each row: the
 * request reads each record once, it reads no more of them than are allowed, and others are served meanwhile.
 */
const idOf = (n: number) => `b${n.toString(16).padStart(31, '0')}`;
const many = <T>(count: number, create: (n: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, n) => create(n));

function serve() {
  const records = mapStore();
  const chats = memoryStore<ChatRecord>();
  const seen = { ids: [] as string[], turns: 0, mostInATurn: 0, inTurn: 0 };
  const note = (id: string) => {
    seen.ids.push(id);
    seen.inTurn += 1;
    seen.mostInATurn = Math.max(seen.mostInATurn, seen.inTurn);
  };
  const handler = agentHandler(createAgent({ model: scriptedModel(() => 'Hi.') }), {
    store: { ...records, get: (id) => defer(() => records.get(id)).pipe(tap({ subscribe: () => note(id) })) },
    chats: keepChats(chats),
  });
  const send = async (method: string, query: string, body?: unknown) => {
    const turn = setInterval(() => (seen.inTurn = 0), 0);
    const response = await handler(
      new Request(`http://service.test/api/chat${query}`, {
        ...{ method, headers: { 'content-type': 'application/json', 'x-run-id': crypto.randomUUID() } },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    clearInterval(turn);
    return { status: response.status, text: await response.text() };
  };
  return { records, seen, send };
}

const fileOf = (run: string, index = 0) => ({
  ...{ type: 'file', mediaType: 'image/png' },
  url: `http://service.test/api/chat?file=${run}.${index}`,
});
const promptOf = (parts: readonly unknown[]) => ({ input: [{ role: 'user', parts }] });

describe('a chat that names many runs', () => {
  it('is deleted with each of them, which is deleted once, while others are served', async () => {
    const { send, seen, records } = serve();
    const query = `?chat=${crypto.randomUUID()}`;
    const exchanges = many(3000, (n) => ({ run: idOf(n), stopping: idOf(n), lost: { run: idOf(n + 1) } }));
    expect((await send('PUT', query, { version: 0, saved: { exchanges } })).status).toBe(200);
    const last = { ...{ id: idOf(3000), owner: '', state: 'ended' as const, updated: 1, attempt: 1 }, input: [] };
    records.records.set(last.id, { record: last, version: 1 });
    expect((await send('DELETE', query)).status).toBe(204);
    expect(records.records.size).toBe(0);
    // A deletion reads the record of a run twice.
    expect(seen.ids).toHaveLength(2 * 3001);
    expect(seen.mostInATurn).toBeLessThan(1000);
  });
});

describe('a prompt that names many files', () => {
  it.each<[string, (run: string) => readonly unknown[], number, number]>([
    ['of as many runs as are allowed', () => many(2000, (n) => fileOf(idOf(n))), 404, 2000],
    ['of more runs', () => many(2001, (n) => fileOf(idOf(n))), 413, 0],
    ['of one run, each once', (run) => many(30, (n) => fileOf(run, n)), 200, 1],
    ['of one run, one of them twice', (run) => [fileOf(run, 1), fileOf(run, 1)], 400, 1],
    [
      'of one run, one of them twice in other words',
      (run) => [fileOf(run, 1), { ...fileOf(run), url: `/?file=${run}.01` }],
      400,
      1,
    ],
  ])('%s is answered', async (_, parts, status, reads) => {
    const { send, seen, records } = serve();
    const run = idOf(7);
    const looks = { count: 0 };
    const record: RunRecord = {
      ...{ id: run, owner: '', state: 'ended', updated: 1, attempt: 1 },
      get input() {
        looks.count += 1;
        return [
          {
            role: 'user' as const,
            parts: many(30, () => ({ type: 'file' as const, mediaType: 'image/png', data: 'AA==' })),
          },
        ];
      },
    };
    if (reads === 1) records.records.set(run, { record, version: 1 });
    expect((await send('POST', '', promptOf(parts(run)))).status).toBe(status);
    expect(new Set(seen.ids).size).toBeLessThanOrEqual(reads + 1); // and that of the new run
    if (reads === 1) expect(looks.count).toBeLessThan(5); // its size, its files: not for each of them
  });

  it('beside a long history is refused', async () => {
    const { send, seen } = serve();
    const history = many(MAX_EARLIER_RUNS, (n) => ({ id: idOf(n), input: [] }));
    const { input } = promptOf(many(1001, (n) => fileOf(idOf(n + MAX_EARLIER_RUNS))));
    const { status, text } = await send('POST', '', { input, history });
    expect([status, text]).toEqual([413, expect.stringContaining('at most 2000')]);
    expect(seen.ids).toHaveLength(1); // that of the new run
  });
});
