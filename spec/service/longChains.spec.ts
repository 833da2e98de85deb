import { describe, expect, it } from '@jest/globals';
import { concatMap, lastValueFrom, tap } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { tool } from '../../lib/core/tool.js';
import { keepChats } from '../../lib/service/chats/keepChats.js';
import { createService } from '../../lib/service/createService.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import type { RunStore } from '../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';

/*
 * A run that was answered again and again is a chain of runs. All that walks along one, over a store that answers at
 * once, must do so without a stack that grows.
 */

const COUNT = 1000;
const CHAT = 'c1234567-89ab-4def-8123-456789abcdef';
const idOf = (index: number) => index.toString(16).padStart(32, '0');

/** The last run of the chain waits for an approval. */
async function createChain() {
  const write = tool({ name: 'write', description: 'Writes.', needsApproval: true, execute: () => 'ok' });
  const model = scriptedModel(({ messages }) => (messages.length === 1 ? [toolCall('write', {}, 'c1')] : 'Done.'));
  const base = memoryStore();
  const deleted: string[] = [];
  const store: RunStore = {
    ...base,
    delete: (id, version) => base.delete(id, version).pipe(tap((isDeleted) => isDeleted && deleted.push(id))),
  };
  const errors: unknown[] = [];
  const agent = createAgent({ model, tools: [write] });
  const service = createService({
    ...{ agent, store, chats: keepChats(memoryStore()) },
    onError: (thrown) => void errors.push(thrown),
  });
  const handler = agentHandler(service);
  const send = (method: string, query: string, headers: Record<string, string>, body?: object) =>
    handler(
      new Request(`http://x/${query}`, {
        ...{ method, headers: { 'content-type': 'application/json', ...headers } },
        ...(body ? { body: JSON.stringify(body) } : {}),
      }),
    );
  const started = await send('POST', '', { 'x-run-id': idOf(COUNT) }, { input: 'Go.' });
  await started.text();
  const last = await lastValueFrom(base.get(idOf(COUNT)));
  if (!last) throw new Error('The run is not stored.');
  await lastValueFrom(base.put({ ...last.record, resumes: idOf(COUNT - 1) }, last.version));
  for (let index = 1; index < COUNT; index++) {
    const { id: _, checkpoint: __, result: ___, ...record } = last.record;
    const before = index === 1 ? {} : { resumes: idOf(index - 1) };
    const ended = { ...record, id: idOf(index), state: 'ended', resumedBy: idOf(index + 1), ...before } as const;
    await lastValueFrom(base.put(ended, 0));
  }
  const kept = async () => (await lastValueFrom(base.list({ owner: '' }))).records.filter(({ id }) => id.length === 32);
  const find = (id: string) => lastValueFrom(base.get(id));
  return { service, send, deleted, errors, kept, find };
}

type Chain = Awaited<ReturnType<typeof createChain>>;

const deleteChat = async ({ send }: Chain, run: number) => {
  const saved = { version: 1, exchanges: [{ run: idOf(run), input: [] }] };
  await send('PUT', `?chat=${CHAT}`, {}, { version: 0, saved, runs: [] });
  const { status } = await send('DELETE', `?chat=${CHAT}`, {});
  return [status, (await send('GET', `?chat=${CHAT}`, {})).status];
};

const answer = ({ service }: Chain, run: number) => {
  const answers = { decisions: { c1: { approve: true } } };
  const answered = service.answer(idOf(run), answers, { context: undefined });
  return lastValueFrom(answered.pipe(concatMap(({ events$ }) => events$)));
};

const stop = async ({ send, find }: Chain, run: number) => {
  const { status } = await send('DELETE', '', { 'x-run-id': idOf(run) });
  return [status, (await find(idOf(COUNT)))?.record.state];
};

const join = ({ send }: Chain, run: number) => send('POST', '', { 'x-run-id': idOf(run) }, { input: 'Go.' });

const list = async ({ send }: Chain) => {
  const response = await send('GET', '?state=waiting', {});
  return (await response.json()) as object;
};

describe(`a chain of ${COUNT} runs`, () => {
  it.each<[string, number, (chain: Chain, run: number) => Promise<object>, object]>([
    ['is answered with the id of its first run', 1, answer, { result: { text: 'Done.' } }],
    ['is answered with the id of a run in its middle', 500, answer, { result: { text: 'Done.' } }],
    ['is answered with the id of its last run', COUNT, answer, { result: { text: 'Done.' } }],
    ['is stopped with the id of its first run', 1, stop, [204, 'ended']],
    ['is stopped with the id of its last run', COUNT, stop, [204, 'ended']],
    ['lets a reader join its first run', 1, join, { status: 200 }],
    ['is in the list of what waits', 1, list, { runs: [{ id: idOf(COUNT) }] }],
  ])('%s', async (_, run, work, expected) => {
    const chain = await createChain();
    expect(await work(chain, run)).toMatchObject(expected);
    expect(chain.errors).toEqual([]);
  });

  it.each([1, 500, COUNT])('is deleted with a chat that names the run %d, which goes last', async (run) => {
    const chain = await createChain();
    expect(await deleteChat(chain, run)).toEqual([204, 404]);
    expect(await chain.kept()).toEqual([]);
    expect(chain.deleted.at(-1)).toBe(idOf(run));
    expect(chain.errors).toEqual([]);
  });
});
