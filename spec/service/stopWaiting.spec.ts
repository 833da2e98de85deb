import { afterEach, describe, expect, it } from '@jest/globals';
import { firstValueFrom, filter, map, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { tool } from '../../lib/core/tool.js';
import type { Tool } from '../../lib/core/tool.js';
import { createService } from '../../lib/service/createService.js';
import type { ServiceOptions } from '../../lib/service/serviceOptions.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import { followingId } from '../../lib/transport/randomId.js';
import { shutDown } from '../support/services.js';
import { mapStore } from '../support/stores.js';

const open: object[] = [];
afterEach(() => open.splice(0).forEach(shutDown));

const asks = askTool({
  name: 'act',
  description: 'Asks.',
  execute: (_, { ask }) =>
    ask({ message: 'Sure?', schema: { type: 'string' } as const }).pipe(map((answer) => JSON.stringify(answer))),
});
const calls = () =>
  scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : [toolCall('act', { prompt: 'Go.' }, 'c1')]));
const inner = createAgent({ model: calls(), tools: [asks] });

type LimitOptions = ServiceOptions<string>['limits'];

/** What a run waits for. */
const tools: Readonly<Record<string, Tool>> = {
  'an approval': tool({ name: 'act', description: 'Acts.', needsApproval: true, execute: () => 'acted' }),
  'a question': asks,
  'a result of the page': tool({ name: 'act', description: 'Acts.' }),
  'a question of a sub-agent': agentTool(inner, { name: 'act', description: 'Delegates.' }),
};

/** A process of a service whose agent calls a tool. */
function startProcess(act: Tool, store: ReturnType<typeof mapStore>, patience?: number, limits: LimitOptions = {}) {
  const agent = createAgent({ model: calls(), tools: [act] });
  const context = (request: Request) => request.headers.get('x-user') ?? 'ann';
  const owner = (user: string) => user;
  const service = createService<string>({ agent, store, checkpoints: true, patience, limits, context, owner });
  open.push(service);
  const handler = agentHandler(service);
  const ask = (method: string, id: string, body?: object, user = 'ann') =>
    handler(
      new Request('http://service.test', {
        method,
        headers: { 'x-run-id': id, 'x-user': user },
        ...(body ? { body: JSON.stringify(body) } : {}),
      }),
    );
  const waiting = () => firstValueFrom(service.runs({ owner: 'ann', state: 'waiting' }).pipe(toArray()));
  return { ask, handler, waiting };
}

/** The record that continues all others. */
const lastRecord = ({ records }: ReturnType<typeof mapStore>) =>
  [...records.values()].map(({ record }) => record).find(({ resumedBy }) => resumedBy === undefined);
const settled = async (store: ReturnType<typeof mapStore>) => {
  while (lastRecord(store)?.state !== 'ended') await new Promise((resolve) => setImmediate(resolve));
  return lastRecord(store)?.result;
};

describe('a stop of a run that waits', () => {
  it.each(Object.keys(tools))('for %s ends it, so that nothing waits, and its call is cancelled', async (what) => {
    const store = mapStore();
    const { ask, waiting } = startProcess(tools[what] ?? asks, store);
    const id = crypto.randomUUID();
    await (await ask('POST', id, { input: 'Go.' })).text();
    expect(await waiting()).toHaveLength(1);
    expect((await ask('DELETE', id, undefined, 'bob')).status).toBe(404);
    expect(await waiting()).toHaveLength(1);
    expect((await ask('DELETE', id)).status).toBe(204);
    const result = await settled(store);
    expect(result?.finishReason).toBe('stopped');
    const [outcome] = result?.messages.at(-1)?.parts ?? [];
    expect(outcome).toMatchObject({ type: 'toolResult', id: 'c1' });
    expect(outcome).toHaveProperty('code', what.startsWith('a question') ? 'cancelled' : 'not_executed'); // begun or not
    expect(await waiting()).toEqual([]);
    expect((await ask('DELETE', id)).status).toBeLessThan(500); // a second stop changes nothing
    expect(await settled(store)).toEqual(result);
    const late = await ask('POST', crypto.randomUUID(), { resume: id, results: { c1: 'late' } });
    expect(await late.text()).toContain('not_waiting');
  });

  it.each<readonly [string, LimitOptions, number]>([
    ['prompts per minute', { maxPromptsPerMinute: 1 }, 429],
    ['bytes', { maxOwnerBytes: 1 }, 413],
  ])('is not refused, as a resume without an answer is, if its owner has no %s left', async (_, limits, refused) => {
    const store = mapStore();
    const id = crypto.randomUUID();
    const before = startProcess(asks, store, undefined, limits?.maxOwnerBytes === undefined ? limits : {});
    await (await before.ask('POST', id, { input: 'Go.' })).text();
    const { ask } = startProcess(asks, store, undefined, limits);
    expect((await ask('POST', crypto.randomUUID(), { resume: id })).status).toBe(refused);
    expect((await ask('DELETE', id)).status).toBe(204);
    expect(store.records.get(followingId(id))?.record.result?.finishReason).toBe('stopped'); // it is confirmed when it is written
  });

  it('in memory, and whose process has ended, ends it in another process', async () => {
    const store = mapStore();
    const before = startProcess(asks, store, 60_000);
    const id = crypto.randomUUID();
    const reader = (await before.ask('POST', id, { input: 'Go.' })).body?.getReader();
    while (lastRecord(store)?.state !== 'waiting') await reader?.read();
    for (const [key, { record, version }] of store.records)
      store.records.set(key, { version: version + 1, record: { ...record, executor: undefined } });
    const { ask, waiting } = startProcess(asks, store, 60_000);
    expect(await waiting()).toHaveLength(1);
    expect((await ask('DELETE', id)).status).toBe(204);
    expect((await settled(store))?.finishReason).toBe('stopped');
    expect(await waiting()).toEqual([]);
  });

  it('in a page reaches the service, and another device shows it', async () => {
    const store = mapStore();
    const { handler, waiting } = startProcess(asks, store);
    const visit = (saved?: string) => {
      const agent = remoteAgent('http://service.test/', { fetch: (url, init) => handler(new Request(url, init)) });
      const chat = conversation(agent, saved === undefined ? {} : { saved });
      const view = chat.view$.subscribe();
      const until = (status: string) => firstValueFrom(chat.view$.pipe(filter((now) => now.status === status)));
      return { chat, view, until };
    };
    const page = visit();
    page.chat.send('Go.');
    await page.until('waiting');
    const copy = JSON.stringify(page.chat.save());
    page.chat.stop();
    await page.until('stopped');
    await settled(store);
    expect(await waiting()).toEqual([]);
    const device = visit(copy);
    await device.until('stopped');
    expect(device.chat.view.waiting).toEqual([]);
    for (const { view } of [page, device]) view.unsubscribe();
  });
});
