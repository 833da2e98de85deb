import { describe, expect, it } from '@jest/globals';
import { concatMap, defer, filter, lastValueFrom, Observable, ReplaySubject, take, toArray } from 'rxjs';
import * as z from 'zod';
import { backgroundTool } from '../../lib/agent/backgroundTool.js';
import { createAgent } from '../../lib/agent/createAgent.js';
import { askTool } from '../../lib/index.js';
import { agUiHandler } from '../../lib/agUi.js';
import { tool, type Tool } from '../../lib/core/tool.js';
import { keepChats } from '../../lib/service/chats/keepChats.js';
import type { ChatRecord } from '../../lib/service/chats/chatStore.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { Kernel } from '../../lib/service/kernel.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import type { Service } from '../../lib/service/service.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import { uiChatHandler } from '../../lib/service/uiChat/index.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { followingId } from '../../lib/transport/randomId.js';
import { mapStore } from '../support/stores.js';

/*
 * The places where something of an owner, or of a chat, lives, and the ways to delete it. After each, nothing runs,
 * and nothing is stored, then or later.
 */

const ID = '01234567-89ab-4def-8123-456789abcdef';
const CHAT = 'c1234567-89ab-4def-8123-456789abcdef';

const ticks = async () => {
  for (let n = 0; n < 20; n++) await new Promise(setImmediate);
};

interface WorldOptions {
  /** The tool that the model calls first. */
  readonly first?: 'work' | 'order' | 'ask' | 'background';
  readonly isShared?: boolean;
}

type World = ReturnType<typeof createWorld>;

function createWorld({ first = 'work', isShared = false }: WorldOptions = {}) {
  const seen = { models: 0, began: 0, running: 0 };
  const results = new ReplaySubject<string>(1);
  const execute = () =>
    new Observable<string>((out) => {
      seen.began += 1;
      seen.running += 1;
      out.add(results.subscribe(out));
      return () => void (seen.running -= 1);
    });
  const work = tool({ name: 'work', description: 'Works.', execute });
  const tools: Record<string, Tool> = {
    work,
    order: tool({ name: 'order', description: 'Orders.', needsApproval: true, execute }),
    ask: askTool({
      ...{ name: 'ask', description: 'Asks.' },
      execute: (_, { ask }) => ask({ message: 'Why?', schema: z.object({ why: z.string() }) }).pipe(concatMap(execute)),
    }),
    background: backgroundTool(tool({ name: 'background', description: 'Works.', execute })),
  };
  const model = scriptedModel(() => {
    seen.models += 1;
    return seen.models === 1 ? [toolCall(first)] : 'Done.';
  });
  const records = mapStore();
  /** While it holds, a write is done only when it is opened. */
  const gate = { isHeld: false, opened: new ReplaySubject<void>(1), waiting: 0 };
  const store: RunStore = {
    ...records,
    put: (record, version) =>
      defer(() => {
        if (!gate.isHeld) return records.put(record, version);
        gate.waiting += 1;
        return gate.opened.pipe(
          take(1),
          concatMap(() => records.put(record, version)),
        );
      }),
  };
  const log = { ...memoryLog(), isShared };
  const chats = memoryStore<ChatRecord>();
  const createKernel = () =>
    new Kernel<string>({
      ...{ store, log, agent: createAgent({ model, tools: Object.values(tools) }), chats: keepChats(chats) },
      ...{ checkpoints: true, patience: 60_000, context: () => 'ann', owner: (user) => user, onError: () => undefined },
    });
  const kernel = createKernel();
  const handlers = (of: Kernel<string>) => {
    const service = of as unknown as Service<string>;
    return { agent: agentHandler(service), ui: uiChatHandler(service, { grace: 60_000 }), agUi: agUiHandler(service) };
  };
  const responses: Promise<string>[] = [];
  /** Sends a request. Its response is read, as a page does. */
  const send = (handler: (request: Request) => Promise<Response>, body: unknown, id = ID, method = 'POST') => {
    const headers = { 'content-type': 'application/json', 'x-run-id': id };
    const request = new Request('http://service.test', { method, headers, body: JSON.stringify(body) });
    responses.push(handler(request).then((response) => response.text()));
    return ticks();
  };
  return { seen, results, records, gate, chats, createKernel, kernel, handlers, ...handlers(kernel), send, responses };
}

const prompt = { input: 'My secret' };
const uiBody = {
  ...{ id: 'chat', trigger: 'submit-message' },
  messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'My secret' }] }],
};
const agUiBody = {
  ...{ threadId: 't', runId: 'r', state: {}, tools: [], context: [], forwardedProps: {} },
  messages: [{ id: 'm', role: 'user', content: 'My secret' }],
};

const waitingCall = ({ records }: World, id = ID) => {
  const { checkpoint, result } = records.records.get(id)?.record ?? {};
  return (result?.waiting ?? checkpoint?.open?.waiting ?? [])[0]?.id ?? '';
};
const approve = (world: World) => ({ decisions: { [waitingCall(world)]: { approve: true } } });

interface Place extends WorldOptions {
  readonly name: string;
  readonly reach: (world: World) => Promise<void>;
  /** Whether a tool runs then. */
  readonly runs: boolean;
}

/** Places of a run with an id that its page knows. */
const runs: readonly Place[] = [
  { name: 'a run that executes a tool', runs: true, reach: ({ send, agent }) => send(agent, prompt) },
  {
    ...{ name: 'a run that executes a tool, with a shared log', isShared: true, runs: true },
    reach: ({ send, agent }) => send(agent, prompt),
  },
  {
    ...{ name: 'a tool in the background', first: 'background', runs: true },
    reach: ({ send, agent }) => send(agent, prompt),
  },
  { name: 'a run that waits in memory', first: 'ask', runs: false, reach: ({ send, agent }) => send(agent, prompt) },
  {
    name: 'a run that waits in the store',
    first: 'order',
    runs: false,
    reach: ({ send, agent }) => send(agent, prompt),
  },
  {
    ...{ name: 'a run that was answered, and continues as another', first: 'order', runs: true },
    reach: async (world) => {
      await world.send(world.agent, prompt);
      await world.send(world.agent, { resume: ID, ...approve(world) }, followingId(ID));
    },
  },
  {
    ...{ name: 'a run that was answered in memory', first: 'ask', runs: true },
    reach: async (world) => {
      await world.send(world.agent, prompt);
      await world.send(world.agent, { results: { [waitingCall(world)]: { why: 'So.' } } }, ID, 'PATCH');
    },
  },
  {
    ...{ name: 'a run whose record is being written', runs: false },
    reach: async ({ send, agent, gate }) => {
      gate.isHeld = true;
      await send(agent, prompt);
      expect(gate.waiting).toBe(1);
    },
  },
  {
    ...{ name: 'a run that waits for earlier work with its id', runs: false },
    reach: async ({ send, agent, gate }) => {
      gate.isHeld = true;
      await send(agent, prompt);
      await send(agent, prompt);
      expect(gate.waiting).toBe(1);
    },
  },
];

const protocols: readonly Place[] = [
  { name: 'a run of useChat', runs: true, reach: ({ send, ui }) => send(ui, uiBody) },
  { name: 'a run of AG-UI', runs: true, reach: ({ send, agUi }) => send(agUi, agUiBody) },
  { name: 'a run of useChat that waits', first: 'order', runs: false, reach: ({ send, ui }) => send(ui, uiBody) },
  { name: 'a run of AG-UI that waits', first: 'order', runs: false, reach: ({ send, agUi }) => send(agUi, agUiBody) },
  {
    ...{ name: 'a run of AG-UI whose checkpoint is being written', first: 'order', runs: false },
    reach: async ({ send, agUi, gate }) => {
      gate.isHeld = true;
      await send(agUi, agUiBody);
      expect(gate.waiting).toBe(1);
    },
  },
  {
    ...{ name: 'a run of useChat whose record is being written', runs: false },
    reach: async ({ send, ui, gate }) => {
      gate.isHeld = true;
      await send(ui, uiBody);
      expect(gate.waiting).toBe(1);
    },
  },
];

/** Does a deletion; what is held is released meanwhile. */
async function deleteBy(world: World, deletion: (world: World) => Promise<unknown>) {
  const deleting = deletion(world);
  await ticks();
  world.gate.isHeld = false;
  world.gate.opened.next();
  await deleting;
}

async function expectNothingLeft(world: World) {
  const { seen, results, records, kernel, responses } = world;
  expect(seen.running).toBe(0);
  const before = { ...seen };
  const check = async () => {
    expect([...records.records.keys()]).toEqual([]);
    expect(await lastValueFrom(kernel.exportData('ann').pipe(toArray()))).toEqual([]);
  };
  await check();
  results.next('late');
  results.complete();
  await Promise.all(responses);
  await ticks();
  expect(seen).toEqual(before);
  await check();
}

const never = { defaultValue: undefined };
const deleteData = ({ kernel }: World) => lastValueFrom(kernel.deleteData('ann'), never);
const deleteRun = ({ kernel }: World) => lastValueFrom(kernel.deleteRun(ID, 'ann'), never);
/** A chat whose page has saved its run in a field of the exchange. */
const deleteChat =
  (exchange: object) =>
  async ({ chats, agent, kernel }: World) => {
    const record = { id: CHAT, owner: 'ann', title: 'A chat', updated: 1, saved: { exchanges: [{ ...exchange }] } };
    await lastValueFrom(chats.put(record, 0));
    const request = new Request(`http://service.test?chat=${CHAT}`, { method: 'DELETE' });
    expect((await agent(request)).status).toBe(204);
    expect(
      await lastValueFrom(
        kernel.exportData('ann').pipe(
          filter(({ type }) => type === 'chat'),
          toArray(),
        ),
      ),
    ).toEqual([]);
  };

const deletions: readonly (readonly [string, (world: World) => Promise<unknown>])[] = [
  ['deleteData', deleteData],
  ['deleteRun', deleteRun],
  ['the deletion of its chat', deleteChat({ run: ID })],
  ['the deletion of a chat that has lost it', deleteChat({ run: followingId(CHAT), lost: { run: ID, base: {} } })],
  ['the deletion of a chat that could not stop it', deleteChat({ run: followingId(CHAT), stopping: ID })],
];

describe.each(deletions)('%s', (_, deletion) => {
  it.each(runs)('ends and deletes $name', async ({ reach, runs: isRunning, ...options }) => {
    const world = createWorld(options);
    await reach(world);
    expect(world.seen.running).toBe(isRunning ? 1 : 0);
    await deleteBy(world, deletion);
    await expectNothingLeft(world);
  });
});

describe('deleteData', () => {
  it.each(protocols)('ends and deletes $name', async ({ reach, runs: isRunning, ...options }) => {
    const world = createWorld(options);
    await reach(world);
    expect(world.seen.running).toBe(isRunning ? 1 : 0);
    await deleteBy(world, deleteData);
    await expectNothingLeft(world);
  });
});

describe.each(deletions)('%s in another process', (_, deletion) => {
  it.each(runs.filter(({ name }) => !/being written|earlier work/.test(name)))(
    'ends and deletes $name',
    async ({ reach, runs: isRunning, ...options }) => {
      const world = createWorld({ ...options, isShared: true });
      await reach(world);
      expect(world.seen.running).toBe(isRunning ? 1 : 0);
      const kernel = world.createKernel();
      await deleteBy({ ...world, kernel, ...world.handlers(kernel) }, deletion);
      await ticks();
      await expectNothingLeft(world);
    },
  );
});
