import { describe, expect, it, jest } from '@jest/globals';
import { concatMap, delayWhen, firstValueFrom, forkJoin, lastValueFrom, Subject, take, toArray } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { agUiHandler } from '../../lib/agUi.js';
import type { CallAnswers } from '../../lib/core/approval.js';
import { tool } from '../../lib/core/tool.js';
import { createService } from '../../lib/service/createService.js';
import type { Service } from '../../lib/service/service.js';
import { uiChatHandler } from '../../lib/service/uiChat/index.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { followingId } from '../../lib/transport/randomId.js';
import { askTool } from '../../lib/tools/askTool.js';

/** A run that waits for two questions, and for the position of the page. */
async function startWaiting() {
  const book = askTool({
    name: 'book',
    description: 'Books a table.',
    execute: (_, { ask }) =>
      forkJoin([
        ask({ key: 'a', message: 'A?', schema: z.number() }),
        ask({ key: 'b', message: 'B?', schema: z.number() }),
      ]),
  });
  const locate = tool({ name: 'locate', description: 'Locates.', result: z.object({ lat: z.number() }) });
  const calls = [toolCall('book', {}, 'c1'), toolCall('locate', {}, 'c2')];
  const model = scriptedModel(({ messages }) => (messages.length === 1 ? calls : 'Done.'));
  const service = createService({
    agent: createAgent({ model, tools: [book, locate], toolConcurrency: 2 }),
    checkpoints: true,
    context: () => undefined,
    owner: () => 'ann',
  });
  const id = crypto.randomUUID();
  const context = undefined;
  const first = await firstValueFrom(service.run(id, 'Book.', { context }));
  await lastValueFrom(first.events$);
  const last = (answers: CallAnswers) =>
    lastValueFrom(service.answer(id, answers, { context }).pipe(concatMap(({ events$ }) => events$)));
  const waiting = async () => {
    const runs = await lastValueFrom(service.runs({ owner: 'ann', state: 'waiting' }).pipe(toArray()));
    return runs.flatMap((run) => run.waiting ?? []).map((call) => call.id);
  };
  return { id, last, waiting, handler: agentHandler(service) };
}

const all = { results: { 'c1/a': 1, 'c1/b': 2, c2: { lat: 60 } } };
const done = { result: { finishReason: 'stop', text: 'Done.' } };
const answered = { status: 409, refusal: { code: 'not_waiting' } };

describe('the answers to a run with several questions', () => {
  it('may come one by one, each with the id of the first run', async () => {
    const { last, waiting } = await startWaiting();
    expect(await last({ results: { 'c1/a': 1 } })).toMatchObject({ result: { finishReason: 'waiting' } });
    expect((await waiting()).sort()).toEqual(['c1/b', 'c2']);
    await last({ results: { 'c1/b': 'two' } }); // asked again, since it does not fit the question
    expect((await waiting()).sort()).toEqual(['c1/b', 'c2']);
    await last({ results: { 'c1/b': 2 } });
    expect(await waiting()).toEqual(['c2']);
    const end = await last({ results: { c2: { lat: 60 } } });
    expect(end).toMatchObject(done);
    expect(JSON.stringify(end)).toContain('"result":[1,2]');
    await expect(last({ results: { c2: { lat: 61 } } })).rejects.toMatchObject(answered);
  });

  it('are used or refused if they come at once: none is lost', async () => {
    const { last, waiting } = await startWaiting();
    const [one, other] = await Promise.allSettled([last(all), last({ results: { 'c1/b': 3 } })]);
    expect(one).toMatchObject({ status: 'fulfilled', value: done });
    expect(other).toMatchObject({ status: 'rejected', reason: answered });
    expect(await waiting()).toEqual([]);
  });
});

describe('an answer to a question of a run that works on another answer', () => {
  it.each(
    [true, false].flatMap((checkpoints) =>
      ['the same process', 'another one', 'another one with the same log'].flatMap((where) =>
        ['at once', 'later'].map((when) => ({ checkpoints, where, when })),
      ),
    ),
  )('comes too early, not too late: $when, at $where, with checkpoints: $checkpoints', async (row) => {
    const { checkpoints, where, when } = row;
    const works = new Subject<void>();
    const book = askTool({
      name: 'book',
      description: 'Books a table.',
      execute: (_, { ask }) => ask({ message: 'A?', schema: z.number() }).pipe(delayWhen(() => works)),
    });
    const calls = [toolCall('book', {}, 'c1'), toolCall('book', {}, 'c2')];
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? calls : 'Done.'));
    const store = memoryStore();
    const log = { ...memoryLog(), isShared: true };
    const start = () =>
      createService({
        agent: createAgent({ model, tools: [book], toolConcurrency: 2 }),
        ...{ checkpoints, store, log: where === 'another one' ? undefined : log },
      });
    const service = start();
    const other = where === 'the same process' ? service : start();
    const id = crypto.randomUUID();
    const context = undefined;
    await lastValueFrom(service.run(id, 'Book.', { context }).pipe(concatMap(({ events$ }) => events$)));
    const answer = (call: string, at = service) =>
      lastValueFrom(at.answer(id, { results: { [`${call}/1`]: 1 } }, { context }));
    const first = answer('c1');
    if (when === 'later') await (await first).events$.pipe(take(1)).forEach(() => undefined);
    await expect(answer('c2', other)).rejects.toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    if (where === 'the same process') await expect(answer('c1', other)).rejects.toMatchObject(answered);
    const worked = lastValueFrom((await first).events$);
    works.next();
    expect(await worked).toMatchObject({ result: { finishReason: 'waiting' } });
    const rest = lastValueFrom((await answer('c2', other)).events$);
    works.next();
    expect(await rest).toMatchObject(done);
    service.shutdown('abandon').subscribe();
    other.shutdown('abandon').subscribe();
  });
});

describe('an answer that is not valid', () => {
  it.each<[string, object, string]>([
    ['an unknown id', { results: { 'c1/typo': 1 } }, 'c1/typo'],
    ['a result that does not fit the schema of the tool', { results: { c2: { lat: 'north' } } }, 'lat'],
    ['no decision', { decisions: { c2: 'yes' } }, 'not a decision'],
    ['an error without a text', { errors: { c2: { a: 1 } } }, 'not a text'],
    ['a decision about a question that is none', { decisions: { 'c1/a': true } }, 'not a decision'],
    ['a reason that is not a text', { decisions: { 'c1/a': { approve: false, reason: 5 } } }, 'not a decision'],
    ['an approval of a question', { decisions: { 'c1/a': { approve: true, arguments: {} } } }, 'no answer'],
    ['a question with an error without a text', { errors: { 'c1/a': { toString: null } } }, 'not a text'],
    [
      'a question that is answered and declined',
      { results: { 'c1/a': 1 }, decisions: { 'c1/a': { approve: false } } },
      'denied',
    ],
    ['an approval of a tool of the page', { decisions: { c2: { approve: true } } }, 'execute'],
  ])('is refused, and the run waits on: %s', async (_, answers, cause) => {
    const { id, last, waiting, handler } = await startWaiting();
    const refused = { status: 400, cause: { code: 'configuration', message: expect.stringContaining(cause) } };
    await expect(last(answers)).rejects.toMatchObject(refused);
    expect((await waiting()).sort()).toEqual(['c1/a', 'c1/b', 'c2']);
    const post = async (body: object) => {
      const headers = { 'x-run-id': followingId(id), 'content-type': 'application/json' };
      const request = { method: 'POST', headers, body: JSON.stringify({ resume: id, ...body }) };
      const response = await handler(new Request('http://service.test', request));
      return [response.status, await response.text()] as const;
    };
    const [status, text] = await post(answers);
    expect([status, text]).toEqual([400, expect.stringContaining('The answers do not fit the calls that wait')]);
    expect(await post(all)).toEqual([200, expect.stringContaining('"text":"Done."')]);
  });
});

/** The questions are for the client: it continues from its own history, and would not have what came meanwhile. */
const clients = {
  'AG-UI'(service: Service<undefined>) {
    const handler = agUiHandler(service);
    const thread = { threadId: 't', messages: [{ id: 'm', role: 'user', content: 'Order.' }] };
    const resume = [{ interruptId: 'c1/1', status: 'resolved', payload: { count: 3 } }];
    return { handler, body: { ...thread, runId: 'r1' }, answer: () => ({ ...thread, runId: 'r2', resume }) };
  },
  useChat(service: Service<undefined>) {
    const handler = uiChatHandler(service);
    const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Order.' }] };
    const output = { count: 3 };
    const parts = [
      { type: 'tool-order', toolCallId: 'c1', state: 'input-available', input: {} },
      { type: 'tool-ask', toolCallId: 'c1/1', state: 'output-available', input: { message: 'How many?' }, output },
    ];
    const answer = (shown: string) => {
      const id = /"messageId":"(.*?)"/.exec(shown)?.[1];
      return { id: 't', messages: [message, { id, role: 'assistant', parts }] };
    };
    const chat = { id: 't', messages: [message] };
    return { handler, body: chat, answer };
  },
};

describe.each(Object.entries(clients))('a run of %s whose question is over', (_, create) => {
  it('is listed, and only its client continues it', async () => {
    const order = askTool({
      name: 'order',
      description: 'Orders.',
      execute: (_args, { ask }) =>
        ask({ message: 'How many?', schema: z.object({ count: z.number() }), within: 60_000, otherwise: { count: 1 } }),
    });
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? [toolCall('order', {}, 'c1')] : 'Done.'));
    const errors: unknown[] = [];
    const agent = createAgent({ model, tools: [order] });
    const service = createService({ agent: () => agent, onError: (thrown) => errors.push(thrown) });
    const { handler, body, answer } = create(service);
    const post = async (content: object) => {
      const headers = { 'content-type': 'application/json' };
      const request = new Request('http://service.test/', { method: 'POST', body: JSON.stringify(content), headers });
      return (await handler(request)).text();
    };
    const shown = await post(body);
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 120_000);
    const listed = await lastValueFrom(service.runs({ owner: '', state: 'waiting' }).pipe(toArray()));
    expect(listed).toMatchObject([{ waiting: [{ id: 'c1/1' }] }]);
    const id = listed[0]?.id ?? '';
    const continued = service.continueExpired({ everyOwner: true }, () => undefined);
    expect(await lastValueFrom(continued.pipe(toArray()))).toEqual([]);
    const refused = { ...answered, message: expect.stringContaining('Only the client of this run') as unknown };
    await expect(
      lastValueFrom(service.answer(id, { results: { 'c1/1': { count: 2 } } }, { context: undefined })),
    ).rejects.toMatchObject(refused);
    clock.mockRestore();
    expect(await post(answer(shown))).toContain('Done.');
    expect(errors).toEqual([]);
  });
});
