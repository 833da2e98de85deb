import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, NEVER, Observable, Subscription } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation, remoteAgent } from '../../lib/chat/index.js';
import type { Conversation } from '../../lib/chat/index.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { tool } from '../../lib/core/tool.js';
import { viewOf } from '../../lib/operators/view/view.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { AgentHandler } from '../../lib/service/service.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { shutDown } from '../support/services.js';
import { ignorePrintedErrors } from '../support/printedErrors.js';

ignorePrintedErrors();

let used = new Subscription();
afterEach(() => {
  used.unsubscribe();
  used = new Subscription();
});

const url = 'http://service.test/';
const until = (chat: Conversation, status: string) =>
  firstValueFrom(chat.view$.pipe(filter((view) => view.status === status)));
const callOf = ({ view }: Conversation) =>
  view.exchanges
    .flatMap(({ messages }) => messages.flatMap(({ parts }) => parts))
    .find(({ type }) => type === 'toolCall');

function open(fetchOf: typeof fetch, options: Parameters<typeof conversation>[1] = {}): Conversation {
  const chat = conversation(remoteAgent(url, { fetch: fetchOf, retryDelay: 1 }), options);
  used.add(chat.view$.subscribe());
  return chat;
}
const serve = (handler: AgentHandler): typeof fetch => {
  used.add(() => shutDown(handler));
  return (input, init) => handler(new Request(input, init));
};
const refusal =
  (status: number, body: string, headers: Readonly<Record<string, string>> = {}) =>
  () =>
    Promise.resolve(new Response(body, { status, headers }));

describe('the sentence of a refusal', () => {
  const json = JSON.stringify({ error: { message: 'Photos of at most 5 MB, please.', code: 'photo' } });
  it.each([
    ['of the service', 413, json, {}, 'Photos of at most 5 MB, please.', { providerCode: 'photo' }],
    ['of a balancer', 413, '<h1>no</h1>', {}, 'This is too large for the server (status 413).', {}],
    ['of an unknown status', 418, '', {}, 'The server refused the request (status 418).', {}],
    [
      'with seconds to wait',
      429,
      '',
      { 'retry-after': '3600' },
      'There are too many requests at the moment (status 429). Try again in 60 minutes.',
      { retryAfter: 3_600_000 },
    ],
    [
      'with a date',
      429,
      json,
      { 'retry-after': new Date(Date.now() + 7_200_000).toUTCString() },
      expect.stringMatching(/^Photos of at most 5 MB, please\. Try again in 1[12]\d minutes\.$/),
      { retryAfter: expect.any(Number) },
    ],
    ['of a hostile length', 400, JSON.stringify({ error: { message: 'a'.repeat(10_000) } }), {}, 'a'.repeat(500), {}],
  ])('reaches the person: %s', async (_, status, body, headers, message, fields) => {
    const chat = open(refusal(status, body, headers));
    chat.send('a');
    await until(chat, 'failed');
    expect(chat.view.exchanges[0]?.error).toMatchObject({ code: 'http', status, message, ...fields });
  });

  it.each([
    ['by status', { http_413: 'Zu groß.' }, 'Zu groß.'],
    ['by code', { http: ({ status }: JsonObject) => `Fehler ${JSON.stringify(status)}.` }, 'Fehler 413.'],
    ['of another code', { connection: 'Keine Verbindung.' }, 'This is too large for the server (status 413).'],
    [
      'that throws',
      { http: ({ params }: JsonObject) => (params as JsonObject)['max'] as string },
      'This is too large for the server (status 413).',
    ],
  ])('is translated by `messages` of conversation: %s', async (_, messages, message) => {
    const chat = open(refusal(413, ''), { messages });
    chat.send('a');
    await until(chat, 'failed');
    expect(chat.view.exchanges[0]?.error).toMatchObject({ code: 'http', message });
    expect(chat.save().exchanges[0]?.view.error?.['message']).toMatch(/This is too large/); // in another language
  });

  it('is translated for a stop that the service does not take, and for a saved value that cannot be read', async () => {
    const messages = { not_stopped: 'Nicht angehalten.', configuration: 'Nicht lesbar.' };
    const model = scriptedModel(() => new Observable<Chunk>((out) => out.next({ type: 'text', text: 'Half' })));
    const service = serve(agentHandler(createAgent({ model })));
    const chat = open((input, init) => (init?.method === 'DELETE' ? refusal(403, '')() : service(input, init)), {
      messages,
      saved: 'x',
    });
    expect(chat.view.savedError).toMatchObject({ code: 'configuration', message: 'Nicht lesbar.' });
    chat.send('a');
    await until(chat, 'streaming');
    chat.stop();
    const { exchanges } = await firstValueFrom(
      chat.view$.pipe(filter((view) => view.exchanges[0]?.notice !== undefined)),
    );
    const error = { code: 'http', status: 403 };
    expect(exchanges[0]?.notice).toMatchObject({ code: 'not_stopped', message: 'Nicht angehalten.', error });
  });
});

describe('a call that a person has decided', () => {
  const ran: unknown[] = [];
  const mail = tool({
    name: 'mail',
    description: 'Sends a mail.',
    needsApproval: true,
    execute: (args) => (ran.push(args), 'Sent.'),
  });
  const start = async () => {
    const model = scriptedModel([[toolCall('mail', { to: 'alice' }, 'c1')], 'Done.']);
    const chat = open(serve(agentHandler(createAgent({ model, tools: [mail] }))));
    chat.send('Mail Alice');
    await until(chat, 'waiting');
    return { chat, model };
  };
  afterEach(() => void ran.splice(0));

  it('is shown as denied, with the reason, also after a reload', async () => {
    const { chat, model } = await start();
    chat.decide('c1', { approve: false, reason: 'Not Alice.' });
    await until(chat, 'idle');
    const denied = { status: 'denied', code: 'denied', reason: 'Not Alice.', arguments: { to: 'alice' } };
    expect(callOf(chat)).toMatchObject(denied);
    expect(viewOf(model.requests[1]?.messages ?? []).messages[1]?.parts[0]).toMatchObject(denied);
  });

  it('is shown with the arguments that ran, and the model reads them', async () => {
    const { chat, model } = await start();
    chat.decide('c1', { approve: true, arguments: { to: 'bob' } });
    await until(chat, 'idle');
    expect(ran).toEqual([{ to: 'bob' }]);
    const done = { status: 'completed', result: 'Sent.', arguments: { to: 'bob' } };
    expect(callOf(chat)).toMatchObject(done);
    const messages = model.requests[1]?.messages ?? [];
    expect(viewOf(messages).messages[1]?.parts[0]).toMatchObject(done);
    expect(messages.at(-1)?.parts[0]).toMatchObject({ result: 'Sent.', arguments: { to: 'bob' } });
  });

  it('is shown as cancelled when the run is stopped', async () => {
    const { chat } = await start();
    chat.stop();
    await until(chat, 'stopped');
    expect(callOf(chat)).toMatchObject({ status: 'cancelled', code: 'cancelled' });
  });
});

describe('a run that the page has given up', () => {
  it('reconnect joins it, and the rest of the answer arrives', async () => {
    const model = scriptedModel(() => ['One ', { delay: 20 }, 'two ', { delay: 20 }, 'three.']);
    const service = serve(agentHandler(createAgent({ model })));
    let isOffline = false;
    const network: typeof fetch = async (input, init) => {
      if (isOffline) throw new TypeError('offline');
      const response = await service(input, init);
      const reader = response.body?.getReader();
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const read = await reader?.read();
          if (isOffline) controller.error(new TypeError('offline'));
          else if (!read || read.done) controller.close();
          else controller.enqueue(read.value);
        },
      });
      return new Response(body, { headers: response.headers });
    };
    const chat = open(network);
    chat.send('a');
    await until(chat, 'streaming');
    isOffline = true;
    await until(chat, 'failed');
    expect(chat.view.exchanges[0]).toMatchObject({ isIncomplete: true, error: { code: 'connection' } });
    isOffline = false;
    chat.reconnect();
    expect(chat.view.status).toBe('sending');
    await until(chat, 'idle');
    expect(chat.view.exchanges[0]?.messages[1]?.parts).toEqual([{ type: 'text', text: 'One two three.' }]);
    expect(chat.view.exchanges[0]).not.toHaveProperty('isIncomplete');
    expect(model.requests).toHaveLength(1);
  });

  it.each(['exhaust', 'concat', 'switch', 'merge'] as const)('a prompt after stop is kept: %s', (whenBusy) => {
    const chat = conversation(
      { stream: () => NEVER, resume: () => NEVER, join: () => NEVER, stop: () => NEVER },
      { whenBusy },
    );
    used.add(chat.view$.subscribe());
    chat.send('a');
    chat.stop();
    expect(chat.view.status).toBe('stopped');
    chat.send('b');
    expect(chat.view.exchanges.map(({ status }) => status)).toEqual(['stopped', 'sending']);
  });
});
