import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { filter, lastValueFrom, reduce } from 'rxjs';
import { isText } from '../../../lib/core/eventGuards.js';
import { userMessage } from '../../../lib/core/message.js';
import type { Model } from '../../../lib/core/model.js';
import { openai } from '../../../lib/providers/openai.js';
import { webSocketTransport } from '../../../lib/providers/openaiResponses/webSocketTransport.js';
import type { WebSocketLike } from '../../../lib/providers/openaiResponses/webSocketConnection.js';
import { observe } from '../../support/observe.js';

const itemOf = (who: string, text: string) => ({
  type: 'message',
  id: `item-${who}`,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});
const created = (who: string) => ({ type: 'response.created', response: { id: `r-${who}`, store: true, output: [] } });
const added = (who: string) => ({ type: 'response.output_item.added', output_index: 0, item: itemOf(who, '') });
const delta = (who: string) => ({
  type: 'response.output_text.delta',
  item_id: `item-${who}`,
  output_index: 0,
  content_index: 0,
  delta: `text of ${who}`,
});
const completed = (who: string) => ({
  type: 'response.completed',
  response: { id: `r-${who}`, status: 'completed', store: true, output: [itemOf(who, `text of ${who}`)] },
});
const failed = (who: string) => ({
  type: 'response.failed',
  response: { id: `r-${who}`, status: 'failed', error: { code: 'invalid_prompt', message: `refusal of ${who}` } },
});
const refused = (who: string) => ({ type: 'error', code: 'invalid_prompt', message: `refusal of ${who}` });
const answer = (who: string) => [created(who), added(who), delta(who), completed(who)];

type Frames = readonly object[];

/** What a server does with a request: the events that it sends, and those that come after the end of the response. */
const habits: Readonly<Record<string, (who: string) => readonly [Frames, Frames]>> = {
  answers: (who) => [answer(who), []],
  'answers twice': (who) => [answer(who), answer(who)],
  'answers, and completes again': (who) => [answer(who), [completed(who)]],
  'answers, with a late delta': (who) => [answer(who), [delta(who)]],
  'answers, with a late item': (who) => [answer(who), [added(who), delta(who)]],
  'answers, and fails later': (who) => [answer(who), [failed(who)]],
  'answers, and a response of nobody fails': (who) => [answer(who), [failed('nobody')]],
  'answers, and an item of nobody grows': (who) => [answer(who), [delta('nobody')]],
  refuses: (who) => [[refused(who)], []],
  'refuses in the middle': (who) => [[created(who), added(who), delta(who), refused(who)], []],
  'refuses, and fails later': (who) => [[created(who), refused(who)], [failed(who)]],
  'refuses first, and fails later': (who) => [[refused(who)], [failed(who)]],
  'refuses, and answers later': (who) => [[refused(who)], answer(who)],
  fails: (who) => [[created(who), failed(who)], []],
  'fails twice': (who) => [[created(who), failed(who)], [failed(who)]],
};

/** When the late events arrive: at once, before the next response, or after the next response has begun. */
const times = ['at once', 'before the next', 'within the next'] as const;

type Time = (typeof times)[number];

/** A class of sockets. Their server has a habit for each user, who is named in the prompt. */
const serverOf = (habitOf: (who: string) => string, time: Time) =>
  class implements WebSocketLike {
    onopen: unknown;
    onmessage: unknown;
    onerror: unknown;
    onclose: unknown;
    private late: Frames = [];

    constructor() {
      queueMicrotask(() => (this.onopen as () => void)());
    }

    send(data: string): void {
      const who = /I am (\w+)/.exec(data)?.[1] ?? '';
      const [now, after] = habits[habitOf(who)]?.(who) ?? [[], []];
      const before = time === 'within the next' ? now.slice(0, 1) : [];
      const frames = [...before, ...this.late, ...now.slice(before.length), ...(time === 'at once' ? after : [])];
      this.late = time === 'at once' ? [] : after;
      queueMicrotask(() => {
        for (const frame of frames) (this.onmessage as (event: object) => void)({ data: JSON.stringify(frame) });
      });
    }

    close(): void {
      this.late = [];
    }
  };

const opened: { close: () => void }[] = [];
afterEach(() => {
  for (const sockets of opened.splice(0)) sockets.close();
});

function modelOf(socket: new () => WebSocketLike, timeout = {}) {
  const sockets = webSocketTransport(socket);
  opened.push(sockets);
  return openai('m', { apiKey: 'none', retry: false, fetch: sockets.fetch, timeout });
}

const textOf = (model: Model, who: string) =>
  lastValueFrom(
    model.stream({ messages: [userMessage(`I am ${who}`)] }).pipe(
      filter(isText),
      reduce((text, chunk) => text + chunk.text, ''),
    ),
  ).catch((thrown: unknown) => `Error: ${(thrown as Error).message}`);

const orders = Object.keys(habits).flatMap((first) =>
  Object.keys(habits).flatMap((second) => times.map((time) => ({ first, second, time }))),
);

describe('webSocketTransport', () => {
  it.each(orders)(
    'webSocketTransport keeps users apart: the first one $first, the second one $second, late events $time',
    async ({ first, second, time }) => {
      const habitOf = (who: string) => ({ ann: first, bob: second })[who] ?? 'answers';
      const model = modelOf(serverOf(habitOf, time));
      for (const who of ['ann', 'bob', 'carol']) {
        const text = await textOf(model, who);
        if (habitOf(who).startsWith('answers')) expect(text).toBe(`text of ${who}`);
        else expect(text).toContain(`refusal of ${who}`);
      }
    },
  );

  it.each([0, 1])('webSocketTransport fails a request that the socket does not send: %i', async (sent) => {
    let left = sent;
    const closing = class extends serverOf(() => 'answers', 'at once') {
      override send(data: string): void {
        if (left-- === 0) throw new DOMException('The socket is closing.', 'InvalidStateError');
        super.send(data);
      }
    };
    const model = modelOf(closing);
    for (const who of ['ann', 'bob', 'carol']) {
      const text = await textOf(model, who);
      if (who === ['ann', 'bob'][sent]) expect(text).toContain('The socket is closing.');
      else expect(text).toBe(`text of ${who}`);
    }
  });

  it.each([
    [{}, 'connect', 300_000],
    [{ first: 900_000 }, 'first', 900_000],
    [{ connect: 1000 }, 'connect', 1000],
  ] as const)('webSocketTransport ends a request that is never answered: %j', (timeout, phase, limit) => {
    jest.useFakeTimers();
    const seen = observe(
      modelOf(
        serverOf(() => 'is silent', 'at once'),
        timeout,
      ).stream({ messages: [userMessage('Hi')] }),
    );
    jest.advanceTimersByTime(limit - 1);
    expect(seen.error).toBeUndefined();
    jest.advanceTimersByTime(1);
    expect(seen.error).toMatchObject({ name: 'TimeoutError', phase });
    jest.useRealTimers();
  });
});
