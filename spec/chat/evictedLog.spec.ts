import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { concat, EMPTY, ignoreElements, of, Subject, Subscription, take, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation, remoteAgent } from '../../lib/chat/index.js';
import type { Conversation } from '../../lib/chat/index.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/index.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { payTool } from '../support/toolCalls.js';

let used = new Subscription();
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
});
afterEach(() => {
  used.unsubscribe();
  used = new Subscription();
  jest.useRealTimers();
});

/** Lets promises and streams do their turns. */
async function turns() {
  for (let count = 0; count < 20; count += 1) {
    await jest.advanceTimersByTimeAsync(1);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: {} },
  execute: () => 'seen',
});

const text = (value: string): Chunk => ({ type: 'text', text: value });

/** What the run does after its connection is lost. */
const ends: Readonly<Record<string, () => Observable<Chunk>>> = {
  'an answer': () => of<Chunk[]>(text(' and the rest.'), { type: 'finish', reason: 'stop' }),
  'a call that waits': () => scriptedModel([[toolCall('pay', {}, 'call')]]).stream({ messages: [] }),
  'an error': () => throwError(() => new Error('The model is gone.')),
};

/** A page in the middle of a run, whose connection is lost while it is offline; then the run ends. */
async function loseRun(end: string, hasTool: boolean) {
  const finished = new Subject<void>();
  const slow = () => concat(of(text('Half')), finished.pipe(take(1), ignoreElements()), ends[end]?.() ?? EMPTY);
  const model = scriptedModel(({ messages }) =>
    hasTool && messages.length === 1 ? [text('First. '), toolCall('look', {}, 'first')] : slow(),
  );
  const agent = createAgent({ model, tools: [payTool(), look] });
  const handler = agentHandler(agent, { log: memoryLog({ maxBytes: 0 }), onError: () => undefined });
  const cut = new Subject<void>();
  let isOnline = true;
  /** Whether a request continues after an event. */
  const continues: boolean[] = [];
  const send: typeof fetch = async (input, init) => {
    if (!isOnline) throw new TypeError('offline');
    const request = new Request(input, init);
    continues.push(request.headers.has('last-event-id'));
    return breakable(await handler(request), cut);
  };
  const chat = conversation(remoteAgent('http://service.test/', { fetch: send, retryDelay: 0, retries: 50 }));
  used.add(chat.view$.subscribe());
  chat.send('Hi');
  await turns();
  const shown = partsOf(chat);
  isOnline = false;
  cut.next();
  finished.next();
  await turns();
  // Another run pushes the one that has ended out of the log.
  await (await handler(post({ input: 'Another' }))).body?.cancel();
  isOnline = true;
  await turns();
  return { chat, shown, continues };
}

const post = (body: object) =>
  new Request('http://service.test/', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-run-id': crypto.randomUUID() },
    body: JSON.stringify(body),
  });

/** A response whose connection may break. */
function breakable(response: Response, cut: Observable<void>): Response {
  const reader = response.body?.getReader();
  if (!reader) return response;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => used.add(cut.pipe(take(1)).subscribe(() => controller.error(new TypeError('cut')))),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
}

const partsOf = (chat: Conversation) =>
  chat.view.exchanges[0]?.messages
    .slice(1)
    .flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : part.type)));

describe('a page whose run has left the log of the service', () => {
  it.each([
    ['an answer', false, 'idle', ['Half and the rest.']],
    ['an answer', true, 'idle', ['First. ', 'toolCall', 'Half and the rest.']],
    ['a call that waits', false, 'waiting', ['Half', 'toolCall']],
    ['a call that waits', true, 'waiting', ['First. ', 'toolCall', 'Half', 'toolCall']],
    ['an error', false, 'failed', ['Half']],
    ['an error', true, 'failed', ['First. ', 'toolCall', 'Half']],
  ])('gets the end of the run, with all of its text: %s, a tool before it: %s', async (end, hasTool, status, parts) => {
    const { chat, shown, continues } = await loseRun(end, hasTool);
    expect(shown?.at(-1)).toBe('Half');
    expect([chat.view.status, partsOf(chat)]).toEqual([status, parts]);
    expect(chat.view.exchanges[0]?.error?.['code']).toBe(status === 'failed' ? 'internal' : undefined);
    expect(continues).toEqual([false, true, false]); // the service does not know the event: the page reads all of it
  });
});
