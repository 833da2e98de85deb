import { describe, expect, it, jest } from '@jest/globals';
import { concat, EMPTY, firstValueFrom, of, Subject, tap, throwError } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { uiChatHandler } from '../../../lib/service/uiChat/index.js';
import type { UiMessage, UiMessageChunk } from '../../../lib/service/uiChat/index.js';
import type { AgentHandler } from '../../../lib/service/service.js';
import type { Chunk } from '../../../lib/core/chunk.js';
import { repairHistory } from '../../../lib/core/history.js';
import { modelMessage } from '../../../lib/core/message.js';
import { tool } from '../../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import type { OptionsOf } from '../../../lib/index.js';
import type { HandledAgent } from '../../../lib/service/handledAgent.js';
import type { RunStore } from '../../../lib/service/ports/runStore.js';
import { lateStore, mapStore } from '../../support/stores.js';
import { readUiMessage } from './readUiMessage.js';
import type { ReadMessage } from './readUiMessage.js';

const json = { 'content-type': 'application/json' };
const api = 'http://localhost/api/chat';
const user = (text: string): UiMessage => ({ id: text, role: 'user', parts: [{ type: 'text', text } as never] });

const post = (handler: AgentHandler, messages: readonly unknown[], id = 'chat'): Promise<Response> =>
  handler(
    new Request(api, {
      method: 'POST',
      body: JSON.stringify({ id, messages, trigger: 'submit-message' }),
      headers: json,
    }),
  );
const join = (handler: AgentHandler, id = 'chat') => handler(new Request(`${api}/${encodeURIComponent(id)}/stream`));
const remove = (handler: AgentHandler, id = 'chat') =>
  handler(new Request(`${api}/${id}/stream`, { method: 'DELETE' }));

/** The chunks of a response. */
async function chunksOf(response: Response): Promise<readonly UiMessageChunk[]> {
  const lines = (await response.text()).split('\n\n').filter((line) => line.startsWith('data: '));
  expect(lines.pop()).toBe('data: [DONE]');
  return lines.map((line) => JSON.parse(line.slice(6)) as UiMessageChunk);
}

/** The message of a response. */
const read = async (response: Response | Promise<Response>, before?: UiMessage): Promise<ReadMessage> =>
  readUiMessage(await chunksOf(await response), before);

const textOf = ({ parts }: UiMessage) => parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('');

const locate = tool({ name: 'locate', description: 'Locates.', result: z.object({ city: z.string() }) });
const execute = jest.fn(() => 'paid');
const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute });
const tools = [locate, pay];

/** A model that calls two tools, and then answers. */
const waitingModel = () =>
  scriptedModel([
    [{ type: 'thinking', text: 'Hm.' }, 'One moment.', toolCall('locate', {}, 'c1'), toolCall('pay', {}, 'c2')],
    'Done.',
    'You are welcome.',
  ]);

/** A message whose calls were answered in the browser. */
const answered = (message: UiMessage, answers: Readonly<Record<string, object>>): UiMessage => ({
  ...message,
  parts: message.parts.map((part) =>
    'toolCallId' in part ? { ...part, ...answers[part.toolCallId as string] } : part,
  ),
});
const granted = { c1: { state: 'output-available', output: { city: 'Oslo' } }, c2: approved(true) };
function approved(value: boolean) {
  return { state: 'approval-responded', approval: { id: 'c2', approved: value } };
}

/** A handler whose run writes `Hel`, and then waits. Its `stopped` says whether the request was aborted. */
function endless(options: OptionsOf<typeof uiChatHandler> = {}) {
  const seen = { aborted: 0 };
  const left = new Subject<void>();
  const aborted = firstValueFrom(left, { defaultValue: undefined });
  const rest = new Subject<Chunk>();
  const first = concat(of<Chunk>({ type: 'text', text: 'Hel' }), rest).pipe(
    tap({
      unsubscribe: () => {
        seen.aborted += 1;
        left.next();
      },
    }),
  );
  const model = scriptedModel([first, 'Again.']);
  const end = () => {
    rest.next({ type: 'text', text: 'lo' });
    rest.next({ type: 'finish', reason: 'stop' });
    rest.complete();
  };
  return { handler: uiChatHandler(createAgent({ model }), options), model, seen, aborted, end };
}

/** Reads a body until it contains a text. */
async function readUntil(response: Response, text: string) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let all = '';
  while (!all.includes(text)) {
    const { value } = await reader.read();
    all += new TextDecoder().decode(value);
  }
  return { reader, text: all };
}

describe('uiChatHandler', () => {
  it('uiChatHandler answers a POST of useChat with a message', async () => {
    const handler = uiChatHandler(createAgent({ model: scriptedModel(['Hello.']) }));
    const response = await post(handler, [user('Hi')]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'x-vercel-ai-ui-message-stream': 'v1',
    });
    const message = await read(response);
    expect(textOf(message)).toBe('Hello.');
    expect(message.id).toMatch(/^[0-9a-f]{32}$/);
  });

  it('uiChatHandler sends the model what it wrote, with its provider data, whatever the browser sends', async () => {
    const model = scriptedModel([['Hello.', { type: 'provider', provider: 'p', data: { signature: 's' } }], 'Yes.']);
    const handler = uiChatHandler(createAgent({ model }));
    const { id } = await read(post(handler, [user('Hi')]));
    await read(post(handler, [user('Hi'), { id, role: 'assistant', parts: [] }, user('Sure?')]));
    expect(model.requests[1]?.messages[1]).toEqual({
      role: 'model',
      parts: [
        { type: 'text', text: 'Hello.' },
        { type: 'provider', provider: 'p', data: { signature: 's' } },
      ],
    });
  });

  it('uiChatHandler follows the messages of the browser: an answer that was removed is not sent', async () => {
    const model = scriptedModel(['One.', 'Two.']);
    const handler = uiChatHandler(createAgent({ model }));
    const first = await read(post(handler, [user('Hi')]));
    const second = await read(post(handler, [user('Hi')])); // regenerate
    expect(second.id).not.toBe(first.id);
    expect(model.requests[1]?.messages).toHaveLength(1);
  });

  it('uiChatHandler passes the context of the request to the tools', async () => {
    const seen: unknown[] = [];
    const who = tool({ name: 'who', description: 'Who.', execute: (_, { context }) => seen.push(context) });
    const agent = createAgent({ model: scriptedModel([[toolCall('who')], 'You.']), tools: [who] });
    const context = ({ headers }: Request, _: unknown, chatId: string) =>
      Promise.resolve(`${headers.get('x-user')} in ${chatId}`);
    const handler = uiChatHandler(agent as HandledAgent<string>, { context, owner: String });
    const body = JSON.stringify({ id: 'chat', messages: [user('Who?')] });
    await read(handler(new Request(api, { method: 'POST', body, headers: { ...json, 'x-user': 'ann' } })));
    expect(seen).toEqual(['ann in chat']);
  });
});

describe('uiChatHandler and a run that waits', () => {
  const begin = async (options: OptionsOf<typeof uiChatHandler> = {}) => {
    execute.mockClear();
    const model = waitingModel();
    const handler = uiChatHandler(createAgent({ model, tools }), { tools, ...options });
    return { handler, model, message: await read(post(handler, [user('Pay.')])) };
  };

  it('uiChatHandler resumes a run with the answers of the browser, in the same message', async () => {
    const { handler, model, message } = await begin();
    expect(message.parts.slice(-2)).toMatchObject([{ state: 'input-available' }, { state: 'approval-requested' }]);
    const going = answered(message, granted);
    const whole = await read(post(handler, [user('Pay.'), going]), going);
    expect(whole.id).toBe(message.id);
    expect(whole.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'reasoning' },
      { text: 'One moment.' },
      { type: 'tool-locate', state: 'output-available', output: { city: 'Oslo' } },
      { type: 'tool-pay', state: 'output-available', output: 'paid' },
      { type: 'step-start' },
      { text: 'Done.' },
    ]);
    await read(post(handler, [user('Pay.'), whole, user('Thanks.')]));
    expect(model.requests[2]?.messages.map(({ role, parts }) => `${role} ${parts.length}`)).toEqual([
      'user 1',
      'model 3',
      'user 2',
      'model 1',
      'user 1',
    ]);
  });

  it('uiChatHandler denies, and reports an error of the browser to the model', async () => {
    const { handler, model, message } = await begin();
    const answers = { c1: { state: 'output-error', errorText: 'No position.' }, c2: approved(false) };
    const going = answered(message, answers);
    const { parts } = await read(post(handler, [user('Pay.'), going]), going);
    expect(parts.filter(({ type }) => type.startsWith('tool'))).toMatchObject([
      { state: 'output-error', errorText: 'No position.' },
      { state: 'output-denied' },
    ]);
    expect(execute).not.toHaveBeenCalled();
    expect(model.requests[1]?.messages.at(-1)?.parts).toMatchObject([{ error: 'No position.' }, { code: 'denied' }]);
  });

  it('uiChatHandler executes an approved call once, however often the approval is sent', async () => {
    const { handler, message } = await begin();
    const messages = [user('Pay.'), answered(message, granted)] as const;
    await read(post(handler, messages), messages[1]);
    const second = await post(handler, messages);
    expect(second.status).toBe(400);
    expect(await second.text()).toMatch(/not kept any more/);
    expect(execute).toHaveBeenCalledTimes(1);
  });

  it('uiChatHandler refuses an approval that is sent twice at the same time, with a slow store', async () => {
    const { handler, message } = await begin({ store: lateStore() });
    const messages = [user('Pay.'), answered(message, granted)] as const;
    const [first, second] = await Promise.all([post(handler, messages), post(handler, messages)]);
    expect(first.status).toBe(200);
    expect([400, 409]).toContain(second.status); // as the run has ended or not
    await read(first, messages[1]);
    expect(execute).toHaveBeenCalledTimes(1);
  });

  it('uiChatHandler lets the browser correct an answer that does not fit', async () => {
    const { handler, message } = await begin();
    const wrong = answered(message, { ...granted, c1: { state: 'output-available', output: { town: 'Oslo' } } });
    const refused = await post(handler, [user('Pay.'), wrong]);
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('The answers do not fit')]);
    const right = answered(message, granted);
    expect(textOf(await read(post(handler, [user('Pay.'), right]), right))).toContain('Done.');
    expect(execute).toHaveBeenCalledTimes(1);
  });

  it('uiChatHandler answers the open calls of a run as cancelled if the user writes something else', async () => {
    const { handler, model, message } = await begin();
    await read(post(handler, [user('Pay.'), message, user('Never mind.')]));
    const results = repairHistory(model.requests[1]?.messages ?? []).at(-1);
    expect(results?.parts).toMatchObject([{ code: 'cancelled' }, { code: 'cancelled' }, { text: 'Never mind.' }]);
  });

  it("uiChatHandler continues with a client tool of a run that is not stored, from the browser's messages", async () => {
    const model = scriptedModel(['Oslo.']);
    const handler = uiChatHandler(createAgent({ model, tools: [locate] }), { tools });
    const call = {
      type: 'tool-locate',
      toolCallId: 'c1',
      state: 'output-available',
      input: {},
      output: { city: 'Oslo' },
    };
    const message = { id: 'lost', role: 'assistant', parts: [{ type: 'step-start' }, call] } as const;
    const going = await read(post(handler, [user('Where?'), message]), message);
    expect(going).toMatchObject({ id: 'lost', parts: [{}, { state: 'output-available' }, {}, { text: 'Oslo.' }] });
    expect(model.requests[0]?.messages.at(-1)?.parts).toMatchObject([{ result: { city: 'Oslo' } }]);
  });

  it('uiChatHandler keeps responses as plain JSON, in a store that may be asynchronous', async () => {
    const records = mapStore();
    const { handler, message } = await begin({ store: lateStore(records) });
    expect(JSON.stringify([...records.records])).toContain('"state":"waiting"'); // before the browser learns that the run waits
    const going = answered(message, granted);
    expect(textOf(await read(post(handler, [user('Pay.'), going]), going))).toContain('Done.');
  });

  it('uiChatHandler sends the complete message to a page that joins a resumed run', async () => {
    const paid = new Subject<string>();
    const slow = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => paid });
    const agent = createAgent({ model: waitingModel(), tools: [locate, slow] });
    const handler = uiChatHandler(agent, { tools, grace: 1000 });
    const message = await read(post(handler, [user('Pay.')]));
    const first = await post(handler, [user('Pay.'), answered(message, granted)]);
    const joined = await join(handler);
    paid.next('paid');
    paid.complete();
    const withoutApproval = ({ parts }: ReadMessage) => parts.map(({ approval: _, ...part }) => part);
    const whole = withoutApproval(await read(first, answered(message, granted)));
    expect(withoutApproval(await read(joined))).toEqual(whole);
    expect(whole.slice(-3)).toMatchObject([{ output: 'paid' }, { type: 'step-start' }, { text: 'Done.' }]);
    expect((await join(handler)).status).toBe(204);
  });
});

describe('uiChatHandler and a connection that ends', () => {
  it('uiChatHandler stops a run when its reader leaves, and keeps what it has written', async () => {
    const { handler, model, aborted } = endless();
    const response = await post(handler, [user('Hi')]);
    const { reader, text } = await readUntil(response, 'Hel');
    const [, id = ''] = /"messageId":"(\w+)"/.exec(text) ?? [];
    await reader.cancel();
    await aborted;
    await read(post(handler, [user('Hi'), { id, role: 'assistant', parts: [] }, user('Go on.')]));
    expect(model.requests[1]?.messages[1]).toEqual(modelMessage('Hel'));
  });

  it('uiChatHandler lets a page join a run within its grace time', async () => {
    const { handler, seen, end } = endless({ grace: 60_000 });
    const { reader } = await readUntil(await post(handler, [user('Hi')]), 'Hel');
    await reader.cancel();
    const joined = await join(handler);
    end();
    expect(textOf(await read(joined))).toBe('Hello');
    expect(seen.aborted).toBe(0);
    expect((await join(handler)).status).toBe(204);
  });

  it('uiChatHandler stops a run on DELETE, with its result', async () => {
    const { handler, model, seen } = endless({ grace: 60_000 });
    const response = await post(handler, [user('Hi')]);
    expect((await remove(handler)).status).toBe(204);
    const message = await read(response);
    expect(message).toMatchObject({ finishReason: 'other', parts: [{}, { text: 'Hel', state: 'done' }] });
    expect(seen.aborted).toBe(1);
    await read(post(handler, [user('Hi'), message, user('Again?')]));
    expect(model.requests[1]?.messages[1]?.parts).toEqual([{ type: 'text', text: 'Hel' }]);
    expect((await remove(handler)).status).toBe(204);
  });

  it('uiChatHandler stops the run of a chat that sends another message', async () => {
    const { handler, seen } = endless({ grace: 60_000 });
    const first = await post(handler, [user('Hi')]);
    expect(textOf(await read(post(handler, [user('Hi again')])))).toBe('Again.');
    expect(textOf(await read(first))).toBe('Hel');
    expect(seen.aborted).toBe(1);
  });

  it('uiChatHandler stops a run that nobody has read for its grace time', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const { handler, seen } = endless({ grace: 60_000, heartbeat: false });
    const { reader } = await readUntil(await post(handler, [user('Hi')]), 'Hel');
    await reader.cancel();
    jest.advanceTimersByTime(59_999);
    expect(seen.aborted).toBe(0);
    jest.advanceTimersByTime(1);
    expect(seen.aborted).toBe(1);
    expect((await join(handler)).status).toBe(204);
    jest.useRealTimers();
  });

  it('uiChatHandler lets a page join a run that has ended, for the time of keep', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const { handler, end } = endless({ keep: 1000, heartbeat: false });
    const response = await post(handler, [user('Hi')]);
    end();
    const message = await read(response);
    jest.advanceTimersByTime(999);
    expect(await read(join(handler))).toEqual(message);
    jest.advanceTimersByTime(1);
    expect((await join(handler)).status).toBe(204);
    jest.useRealTimers();
  });

  it('uiChatHandler ends its runs when the service ends', async () => {
    const { handler } = endless({ grace: 60_000 });
    const response = await post(handler, [user('Hi')]);
    await new Promise<void>((resolve) => handler.shutdown().subscribe({ complete: resolve }));
    expect(textOf(await read(response))).toBe('Hel');
  });
});

describe('uiChatHandler and requests that it refuses', () => {
  const handlerOf = (options: OptionsOf<typeof uiChatHandler> = {}) =>
    uiChatHandler(createAgent({ model: scriptedModel(['Hi.']) }), options);
  const body = JSON.stringify({ id: 'chat', messages: [user('Hi')] });
  const forbidden = () => {
    throw new Error('secret');
  };
  const failing: RunStore = { ...mapStore(), get: () => throwError(() => new Error('secret')) };
  const answer = { id: 'a', role: 'assistant', parts: [] };
  const known = JSON.stringify({ id: 'chat', messages: [answer, user('Hi')] });
  const twice = JSON.stringify({ id: 'chat', messages: [answer, user('Hi'), answer, user('Hi')] });

  it.each<[string, string, RequestInit, OptionsOf<typeof uiChatHandler>, number, RegExp]>([
    ['a body that is not JSON', '', { method: 'POST', body: 'x' }, {}, 400, /not a request of useChat/],
    ['no body', '', { method: 'POST' }, {}, 400, /not a request of useChat/],
    ['no messages', '', { method: 'POST', body: '{"id":"c"}' }, {}, 400, /not a request of useChat/],
    ['nothing to say', '', { method: 'POST', body: '{"id":"c","messages":[]}' }, {}, 400, /nothing to answer/],
    ['a message of another form', '', { method: 'POST', body: '{"id":"c","messages":[null]}' }, {}, 400, /Message 0/],
    ['a response that is repeated', '', { method: 'POST', body: twice }, {}, 400, /Message 2 has the id of an earlier/],
    ['a large body', '', { method: 'POST', body }, { limits: { maxBodyBytes: 20 } }, 413, /at most 20 bytes/],
    [
      'a user who may not',
      '',
      { method: 'POST', body },
      { context: forbidden, owner: String },
      403,
      /^You may not use this agent\.$/,
    ],
    [
      'a user about whom nothing is said',
      '',
      { method: 'POST', body },
      { context: () => EMPTY, owner: String },
      403,
      /may not/,
    ],
    ['a join of a user who may not', '/chat/stream', {}, { context: forbidden, owner: String }, 403, /may not/],
    ['a URL without a chat', '', {}, {}, 404, /<id of the chat>/],
    ['another method', '', { method: 'PUT', body }, {}, 405, /POST, GET or DELETE/],
    ['the name of a property as a method', '/chat/stream', { method: 'constructor' }, {}, 405, /POST, GET or DELETE/],
    ['a store that fails', '', { method: 'POST', body: known }, { store: failing }, 503, /^The store .* Ask again\.$/],
  ])('uiChatHandler refuses %s', async (_, path, init, options, status, text) => {
    const onError = jest.fn();
    const headers = { 'access-control-allow-origin': '*' };
    const response = await handlerOf({ ...options, onError, headers })(
      new Request(`${api}${path}`, { headers: json, ...init }),
    );
    expect(response.status).toBe(status);
    expect(await response.text()).toMatch(text);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(onError).toHaveBeenCalledTimes([403, 503].includes(status) ? 1 : 0); // what the browser must not learn
  });

  it('uiChatHandler decodes the id of a chat', async () => {
    const seen: string[] = [];
    const context = (_request: Request, _incoming: unknown, id: string) => void seen.push(id);
    await join(handlerOf({ context, owner: String }), 'a/b c');
    expect(seen).toEqual(['a/b c']);
  });
});
