import { afterEach, describe, expect, it } from '@jest/globals';
import { firstValueFrom, NEVER, Subject, take } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { tool } from '../../lib/core/tool.js';
import { keepChats } from '../../lib/service/chats/keepChats.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { protocolNames, protocols, shutDown } from '../support/services.js';
import type { Handler, SharedOptions } from '../support/services.js';
import { mapStore } from '../support/stores.js';

/**
 * Every limit at the door x every protocol x where the run is. Due in each row: a request that fits is answered; one
 * that does not is refused with its status and a sentence; another owner is served; and there is room again when a run
 * has ended.
 */
const started: Handler[] = [];
const responses: Response[] = [];
afterEach(async () => {
  for (const { body } of responses.splice(0)) if (body?.locked === false) await body.cancel();
  started.splice(0).forEach(shutDown);
});
/** Sends a request, whose response is left at the end of the test. */
const request = async (handler: Handler, init: RequestInit): Promise<Response> => {
  const response = await handler(new Request('http://service.test/api/chat', init));
  responses.push(response);
  return response;
};
const opened = <H extends Handler>(handler: H): H => {
  started.push(handler);
  return handler;
};
const byUser = {
  context: (request: Request) => request.headers.get('x-user') ?? 'ann',
  owner: (user: unknown) => String(user),
};
const text = (length: number) => 'x'.repeat(length);

/** A request that starts a run, with a text of a length. */
type Ask = (length: number, user?: string) => Promise<Response>;

function serve(name: (typeof protocolNames)[number], options: SharedOptions) {
  const { handler: create, body, headers } = protocols[name];
  const model = scriptedModel(() => NEVER, { keep: 0 });
  const agent = createAgent({ model });
  const handler = opened(create(agent, { ...byUser, grace: 60_000, ...options }));
  let count = 0;
  const ask: Ask = (length, user = 'ann') => {
    count += 1;
    const sent = JSON.stringify(body(text(length)))
      .replace('"chat"', `"chat${count}"`)
      .replace('"t"', `"t${count}"`);
    return request(handler, { method: 'POST', body: sent, headers: { ...headers(), 'x-user': user } });
  };
  return { ask };
}

interface Row {
  readonly options: SharedOptions;
  /** The lengths of the texts of Ann's requests, and the status of each. */
  readonly lengths: readonly number[];
  readonly statuses: readonly number[];
  readonly sentence: RegExp;
}
const rows: Readonly<Record<string, Row>> = {
  maxBodyBytes: {
    options: { limits: { maxBodyBytes: 1000 } },
    lengths: [10, 2000],
    statuses: [200, 413],
    sentence: /at most 1000/,
  },
  maxRunsPerOwner: {
    options: { limits: { maxRunsPerOwner: 2 } },
    lengths: [10, 10, 10],
    statuses: [200, 200, 429],
    sentence: /At most 2 runs/,
  },
  'maxOwnerBytes, one request': {
    options: { limits: { maxOwnerBytes: 5000 } },
    lengths: [10, 6000],
    statuses: [200, 413],
    sentence: /at most 5000 bytes/,
  },
  'maxOwnerBytes, several requests': {
    options: { limits: { maxOwnerBytes: 5000 } },
    lengths: [2000, 2000, 2000, 10],
    statuses: [200, 200, 429, 200],
    sentence: /at most 5000 bytes/,
  },
};

describe.each(protocolNames)('every limit of %s', (name) => {
  it.each(Object.entries(rows))('%s', async (_, { options, lengths, statuses, sentence }) => {
    const { ask } = serve(name, options);
    const answers: Response[] = [];
    for (const length of lengths) answers.push(await ask(length));
    expect(answers.map(({ status }) => status)).toEqual(statuses);
    const refused = answers.find(({ status }) => status !== 200);
    expect(await refused?.text()).toMatch(sentence);
    if (refused?.status === 429) expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await ask(10, 'bob')).status).toBe(200);
  });
});

/** Processes that share a store and a log, whose runs have a tool that ends when told. */
function openProcesses(options: SharedOptions) {
  const store = mapStore();
  const log = { ...memoryLog(), isShared: true };
  const open = () => {
    const tooling = new Subject<string>();
    const work = tool({ name: 'work', description: 'Works.', execute: () => tooling.pipe(take(1)) });
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? [toolCall('work', {}, 'c1')] : NEVER));
    const agent = createAgent({ model, tools: [work] });
    return { handler: opened(agentHandler(agent, { store, log, checkpoints: true, ...options })), tooling };
  };
  /** The process that executes the run has died. */
  const die = (run: string) => {
    const stored = store.records.get(run);
    if (stored) store.records.set(run, { ...stored, record: { ...stored.record, executor: undefined } });
  };
  return { open, die, store };
}
const send = (handler: Handler, method: string, run: string, body: unknown) =>
  request(handler, {
    method,
    headers: { 'content-type': 'application/json', 'x-run-id': run },
    body: JSON.stringify(body),
  });

describe('the prompts that wait for a run of agentHandler', () => {
  const limits: Readonly<Record<string, { options: SharedOptions; length: number; room: number; sentence: RegExp }>> = {
    maxWaitingPrompts: {
      options: { limits: { maxWaitingPrompts: 3 } },
      length: 5,
      room: 3,
      sentence: /At most 3 prompts/,
    },
    maxWaitingBytes: {
      options: { limits: { maxWaitingBytes: 1000 } },
      length: 300,
      room: 2,
      sentence: /and 1000 bytes, wait/,
    },
    'maxWaitingBytes, a large one': {
      options: { limits: { maxWaitingBytes: 10 } },
      length: 300,
      room: 1,
      sentence: /and 10 bytes, wait/,
    },
    maxOwnerBytes: {
      options: { limits: { maxOwnerBytes: 1500 } },
      length: 500,
      room: 2,
      sentence: /at most 1500 bytes/,
    },
  };
  const cases = Object.keys(limits).flatMap((limit) =>
    ['this process', 'another process', 'taken over']
      .filter((place) => limit !== 'maxOwnerBytes' || place !== 'another process') // it counts where the run is
      .map((place) => [limit, place] as const),
  );
  it.each(cases)('%s, %s', async (limit, place) => {
    const { options = {}, length = 0, room = 0, sentence = /./ } = limits[limit] ?? {};
    const { open, die, store } = openProcesses(options);
    const [first, second] = [open(), open()];
    const run = crypto.randomUUID();
    await send(first.handler, 'POST', run, { input: 'Hi' });
    const prompt = (handler: Handler) => send(handler, 'PATCH', run, { input: text(length) });
    const door = place === 'this process' ? first : second;
    const before = place === 'taken over' ? first : door;
    for (let n = 0; n < room; n += 1) expect((await prompt(before.handler)).status).toBe(204);
    if (place === 'taken over') {
      die(run);
      await send(second.handler, 'POST', run, {});
    }
    const refused = await prompt(door.handler);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
    expect(await refused.text()).toMatch(sentence);
    if (limit === 'maxOwnerBytes') return; // what has joined is still held
    // The prompts join at the end of the turn, and its checkpoint says so.
    (place === 'taken over' ? second : first).tooling.next('worked');
    expect(store.records.get(run)?.record.checkpoint?.emitted.messages).toHaveLength(2 + room);
    expect((await prompt(door.handler)).status).toBe(204);
  });

  it('is refused alone if it has more bytes than a request may have', async () => {
    const { open } = openProcesses({ limits: { maxBodyBytes: 1000 } });
    const { handler } = open();
    const run = crypto.randomUUID();
    await send(handler, 'POST', run, { input: 'Hi' });
    expect((await send(handler, 'PATCH', run, { input: text(2000) })).status).toBe(413);
  });
});

describe('the limits of agentHandler, by default', () => {
  it('have room for a prompt of 20 MiB, and for photos that are sent during the run', async () => {
    const { handler } = openProcesses({}).open();
    const run = crypto.randomUUID();
    const largest = text(20_971_000);
    expect((await send(handler, 'POST', run, { input: largest })).status).toBe(200);
    expect((await send(handler, 'PATCH', run, { input: text(4_000_000) })).status).toBe(204);
    expect((await send(handler, 'PATCH', run, { input: largest })).status).toBe(429);
  });
});

describe('requests whose bodies still arrive', () => {
  interface Way {
    readonly create: typeof protocols.agentHandler.handler;
    readonly init: () => RequestInit;
    /** The body names the user: until it has arrived, the requests of all users count together. */
    readonly isShared?: boolean;
  }
  /** Each way into a service that reads a body. */
  const ways: Readonly<Record<string, Way>> = {
    agentHandler: {
      create: protocols.agentHandler.handler,
      init: () => ({ method: 'POST', headers: protocols.agentHandler.headers() }),
    },
    'a prompt that joins': {
      create: protocols.agentHandler.handler,
      init: () => ({ method: 'PATCH', headers: protocols.agentHandler.headers() }),
    },
    'a chat': {
      create: (agent, options) =>
        protocols.agentHandler.handler(agent, { ...options, chats: keepChats(memoryStore()) }),
      init: () => ({ method: 'PUT' }),
    },
    'the title of a chat': {
      create: (agent, options) =>
        protocols.agentHandler.handler(agent, { ...options, chats: keepChats(memoryStore()) }),
      init: () => ({ method: 'PATCH' }),
    },
    agUiHandler: {
      create: protocols.agUiHandler.handler,
      init: () => ({ method: 'POST', headers: protocols.agUiHandler.headers() }),
    },
    uiChatHandler: {
      create: protocols.uiChatHandler.handler,
      init: () => ({ method: 'POST', headers: protocols.uiChatHandler.headers() }),
      isShared: true,
    },
  };

  it.each(Object.entries(ways))('%s: they count for their owner, until they have arrived', async (_, way) => {
    const agent = createAgent({ model: scriptedModel(() => NEVER, { keep: 0 }) });
    const handler = opened(way.create(agent, { ...byUser, limits: { maxOwnerBytes: 5000 } }));
    /** Sends a body that does not end, and the number of its bytes that arrive. */
    const open = (user: string, length: number) => {
      let bytes: ReadableStreamDefaultController<Uint8Array> | undefined;
      const body = new ReadableStream<Uint8Array>({ start: (controller) => void (bytes = controller) });
      bytes?.enqueue(new TextEncoder().encode(text(length)));
      const { headers, ...init } = way.init();
      const url = `http://service.test/api/chat${headers ? '' : `?chat=${crypto.randomUUID()}`}`;
      const all = { ...(headers as Record<string, string> | undefined), 'x-user': user };
      const sent = handler(new Request(url, { ...init, headers: all, body, duplex: 'half' } as RequestInit));
      return { answer: sent, end: () => bytes?.close() };
    };
    const [first, second] = [open('ann', 2000), open('ann', 2000)];
    const third = open('ann', 2000);
    const refused = await (way.isShared ? first : third).answer;
    const retryAfter = refused.headers.get('retry-after');
    expect([refused.status, retryAfter]).toEqual(way.isShared ? [408, null] : [429, '5']);
    expect(await refused.text()).toMatch(way.isShared ? /did not arrive in time/ : /at most 5000 bytes/);
    const small = open('eve', 30);
    const other = open('bob', 2000);
    if (way.isShared) expect((await second.answer).status).toBe(408);
    const more = open('eve', 2500); // in the room of the third one: the small one stays
    if (way.isShared) expect((await third.answer).status).toBe(408);
    const all = [...(way.isShared ? [] : [first, second]), small, other, more];
    for (const { end } of all) end();
    // What has arrived is not JSON.
    for (const { answer } of all) expect((await answer).status).toBe(400);
    const again = open('ann', 4000);
    again.end();
    expect((await again.answer).status).toBe(400);
    expect((await open('ann', 6000).answer).status).toBe(413);
  });
});

describe('a memory that is full', () => {
  const small = { maxBytes: 20_000 };
  const answering = (log = memoryLog(small)) => {
    const agent = createAgent({ model: scriptedModel(() => text(5000), { keep: 0 }) });
    return opened(protocols.agentHandler.handler(agent, { ...byUser, store: memoryStore({ maxBytes: 1e6 }), log }));
  };
  const ask = (handler: Handler, user: string, run: string = crypto.randomUUID(), body: unknown = { input: 'Hi' }) =>
    request(handler, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-run-id': run, 'x-user': user },
      body: JSON.stringify(body),
    });

  it('removes the log of the owner that uses most of it', async () => {
    const log = memoryLog(small);
    const handler = answering(log);
    const [ann, bob] = [crypto.randomUUID(), crypto.randomUUID()];
    await (await ask(handler, 'ann', ann)).text();
    await (await ask(handler, 'bob', bob)).text();
    for (let n = 0; n < 10; n += 1) await (await ask(handler, 'bob')).text();
    expect(await firstValueFrom(log.state(ann))).toMatchObject({ hasEnded: true });
    expect(await firstValueFrom(log.state(bob))).toBeUndefined();
  });

  it('lets a run whose log was removed be answered from its record', async () => {
    const handler = answering();
    const run = crypto.randomUUID();
    await (await ask(handler, 'ann', run)).text();
    for (let n = 0; n < 10; n += 1) await (await ask(handler, 'ann')).text();
    const again = await (await ask(handler, 'ann', run, {})).text();
    expect(again).toContain(text(5000));
    expect(again).toMatch(/^event: end$/m);
  });

  it('lets a slow reader read a run to its end that is removed meanwhile, or is larger than the memory', async () => {
    const big = tool({ name: 'big', description: 'B.', execute: () => text(100_000) });
    const model = scriptedModel((request) => (request.messages.length > 1 ? 'Done.' : [toolCall('big')]), { keep: 0 });
    const handler = opened(agentHandler(createAgent({ model, tools: [big] }), { log: memoryLog(small) }));
    const slow = await ask(handler, 'ann');
    for (let n = 0; n < 3; n += 1) await (await ask(handler, 'ann')).text();
    const read = await slow.text();
    expect(read.length).toBeGreaterThan(100_000);
    expect(read).toMatch(/^event: end$/m);
  });
});
