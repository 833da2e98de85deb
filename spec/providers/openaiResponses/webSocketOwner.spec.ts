import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { filter, lastValueFrom, of, reduce, toArray } from 'rxjs';
import { isText } from '../../../lib/core/eventGuards.js';
import { userMessage } from '../../../lib/core/message.js';
import type { Model } from '../../../lib/core/model.js';
import { openai } from '../../../lib/providers/openai.js';
import { webSocketTransport } from '../../../lib/providers/openaiResponses/webSocketTransport.js';
import type { WebSocketTransport } from '../../../lib/providers/openaiResponses/webSocketTransport.js';
import { scriptedModel } from '../../../lib/testing/index.js';
import { Connection, type WebSocketLike } from '../../../lib/providers/openaiResponses/webSocketConnection.js';
import { userMessageOf } from '../../../lib/providers/openaiResponses/steering.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import type { RetryOptions } from '../../../lib/protocol/retryRequest.js';
import { observe } from '../../support/observe.js';
import { inVirtualTime } from '../../support/virtualTime.js';

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

/** OpenAI numbers the events of each response. */
const numbered = (frames: Frames): Frames => frames.map((frame, at) => ({ sequence_number: at, ...frame }));

/** What a server does with a request: the events that it sends, and those that come after the end of the response. */
const habits: Record<string, (who: string) => readonly [Frames, Frames]> = {
  answers: (who) => [answer(who), []],
  'answers twice': (who) => [answer(who), answer(who)],
  'answers, and sends the same events again': (who) => [answer(who), numbered(answer(who))],
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
      const [own, late] = habits[habitOf(who)]?.(who) ?? [[], []];
      const all = numbered([...own, ...late]);
      const [now, after] = [all.slice(0, own.length), all.slice(own.length)];
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

function modelOf(socket: new () => WebSocketLike, timeout = {}, retry: false | RetryOptions = false) {
  const sockets = webSocketTransport(socket);
  opened.push(sockets);
  return openai('m', { apiKey: 'none', retry, fetch: sockets.fetch, timeout });
}

/** For a server that begins a response with the id of the one before. */
const again = { count: 1, initialDelay: 0 };

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

  /** A response that nobody has requested: as much of it comes before the request, and the rest before the answer. */
  const unrequested = [created('nobody'), added('nobody'), delta('nobody'), completed('nobody')];
  const places = ['at open', 'between two responses'] as const;
  it.each(places.flatMap((place) => [1, 2, 3, 4].map((count) => ({ place, count }))))(
    'webSocketTransport reads no response that nobody has requested: $count events of it $place',
    async ({ place, count }) => {
      const server = class extends serverOf(() => 'answers', 'at once') {
        private rest = unrequested.slice(count);
        constructor() {
          super();
          if (place === 'at open') queueMicrotask(() => this.tell(unrequested.slice(0, count)));
        }
        tell(frames: Frames): void {
          for (const frame of frames) (this.onmessage as (event: object) => void)({ data: JSON.stringify(frame) });
        }
        override send(data: string): void {
          const isFirst = data.includes('ann');
          if (isFirst && place !== 'at open')
            queueMicrotask(() => queueMicrotask(() => this.tell(unrequested.slice(0, count))));
          else {
            const again = { type: 'response.in_progress', response: { id: 'r-nobody' } };
            this.tell([again, ...this.rest.splice(0)]);
          }
          super.send(data);
        }
      };
      const model = modelOf(server);
      for (const who of ['ann', 'bob', 'carol']) expect(await textOf(model, who)).toBe(`text of ${who}`);
    },
  );

  it('webSocketTransport fails a response in which the server begins another one', async () => {
    habits['mixes'] = (who) => [answer(who).flatMap((frame, at) => [frame, unrequested[at] ?? {}]), []];
    const model = modelOf(serverOf((who) => (who === 'ann' ? 'mixes' : 'answers'), 'at once'));
    expect(await textOf(model, 'ann')).toMatch(/^Error: .*It was closed\. Whatever/);
    expect(await textOf(model, 'bob')).toBe('text of bob');
  });

  it.each(
    [200, 399, 599, 600, 1000, 65_936, 1e308, -1, '500', null].flatMap((status) => [
      { status, code: 'invalid_prompt' },
      { status, code: '__proto__' },
      { status, code: 'toString' },
    ]),
  )('webSocketTransport reports an error with any status and code: %j', async ({ status, code }) => {
    habits['errs'] = (who) => [[{ type: 'error', status, error: { code, message: `refusal of ${who}` } }], []];
    expect(await textOf(modelOf(serverOf(() => 'errs', 'at once')), 'ann')).toContain('refusal of ann');
  });

  it('webSocketTransport retries on a new connection when the server ends an old one with status 400', async () => {
    const limit = { code: 'websocket_connection_limit_reached', message: 'Create a new websocket connection.' };
    let count = 0;
    habits['limits'] = (who) => [count++ === 0 ? [{ type: 'error', status: 400, error: limit }] : answer(who), []];
    expect(
      await textOf(
        modelOf(
          serverOf(() => 'limits', 'at once'),
          {},
          again,
        ),
        'ann',
      ),
    ).toBe('text of ann');
    expect(count).toBe(2);
  });

  it.each(['999', '600', '200'])('webSocketTransport fails if the status of the handshake is %s', async (status) => {
    const refusing = class extends serverOf(() => 'answers', 'at once') {
      constructor() {
        super();
        const error = { message: `Unexpected server response: ${status}` };
        queueMicrotask(() => (this.onerror as (event: object) => void)(error));
        this.onopen = () => undefined;
      }
    };
    expect(await textOf(modelOf(refusing), 'ann')).toContain(`Unexpected server response: ${status}`);
  });

  it('webSocketTransport keeps the connection of the next response if the reader of the last one leaves', async () => {
    const sockets = webSocketTransport(serverOf(() => 'answers', 'at once'));
    opened.push(sockets);
    const request = (who: string) =>
      sockets.fetch('http://x/', { method: 'POST', body: JSON.stringify({ input: `I am ${who}`, stream: true }) });
    const first = await request('ann');
    const second = request('bob');
    await first.body?.cancel(); // its end has arrived, and was not read
    expect(await (await second).text()).toContain('text of bob');
  });
});

/** A connection whose response is steered and has ended, and its socket. */
async function steered(sendElsewhere = () => Promise.reject(new Error('elsewhere'))) {
  const close = jest.fn();
  const sent: JsonObject[] = [];
  const socket: WebSocketLike = {
    send: (data) => sent.push(JSON.parse(data) as JsonObject),
    ...{ close, onopen: undefined, onmessage: undefined, onerror: undefined, onclose: undefined },
  };
  const connection = new Connection(socket, {
    key: '',
    idle: 60_000,
    maxEventLength: 1_000_000,
    onClose: () => undefined,
    sendElsewhere,
    onRepeatedId: jest.fn(),
  });
  opened.push(connection);
  const tell = (...frames: Frames) => {
    for (const frame of frames) (socket.onmessage as (event: object) => void)({ data: JSON.stringify(frame) });
  };
  const response = connection.request({ input: [] }, undefined);
  (socket.onopen as () => void)();
  await Promise.resolve();
  tell(created('ann'), added('ann'));
  await response;
  const content = [{ type: 'input_text', text: 'And?' }];
  const input = [userMessageOf(content)];
  connection.steer('r-ann', content);
  const end = { type: 'response.incomplete', response: { id: 'r-ann', status: 'incomplete' } };
  tell({ type: 'response.steer.accepted', steer: { id: 's' } }, end);
  return { connection, tell, close, sent, input };
}

describe('webSocketTransport', () => {
  it.each([Infinity, 2 ** 31])('webSocketTransport keeps an idle connection for %d ms', async (idle) => {
    let count = 0;
    const counted = class extends serverOf(() => 'answers', 'at once') {
      constructor() {
        super();
        count++;
      }
    };
    const sockets = webSocketTransport(counted, { idle });
    opened.push(sockets);
    const model = openai('m', { apiKey: 'none', fetch: sockets.fetch });
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] });
    for (const who of ['ann', 'bob']) {
      expect(await textOf(model, who)).toBe(`text of ${who}`);
      jest.advanceTimersByTime(1000);
    }
    jest.useRealTimers();
    expect(count).toBe(1);
  });

  it.each([
    [10, 0],
    [2000, 1],
  ])('webSocketTransport keeps at most 1 MB of a response before its request: %i KB', async (size, closed) => {
    const { connection, tell, close, input } = await steered();
    const long = { ...delta('bob'), delta: 'x'.repeat(1000) };
    tell(created('bob'), added('bob'), ...Array.from({ length: size }, () => long), completed('bob'));
    expect(close).toHaveBeenCalledTimes(closed);
    expect(connection.isFreeFor('r-ann')).toBe(closed === 0);
    if (closed > 0) return;
    const response = await connection.request({ input }, undefined);
    expect(await response.text()).toContain('response.completed');
  });

  it('webSocketTransport forgets what came before a request that is sent after all', async () => {
    const { connection, tell, sent, input } = await steered();
    tell(created('bob'), delta('bob'));
    const call = { type: 'function_call_output', call_id: 'c', output: '1' };
    const response = connection.request({ input: [...input, call] }, undefined);
    await new Promise(setImmediate);
    expect(sent.at(-1)).toMatchObject({ type: 'response.create', input: [call] });
    tell({ type: 'response.in_progress', response: { id: 'r-bob' } }, ...answer('carol'));
    expect(await (await response).text()).not.toContain('bob');
  });

  const post = (input: string, more = {}) => ({
    method: 'POST',
    body: JSON.stringify({ stream: true, input, ...more }),
  });
  /** A model whose response is `r-ann`, steered with a prompt. */
  const steer = ({ steer: steerModel }: WebSocketTransport) => {
    const model = scriptedModel([[{ type: 'metadata', metadata: { responseId: 'r-ann' } }, { delay: 1000 }]]);
    return steerModel(model, of([userMessage('And?')]))
      .stream({ messages: [] })
      .subscribe();
  };

  it('webSocketTransport fails the next request if its class throws when a steered connection breaks', async () => {
    const sockets: WebSocketLike[] = [];
    habits['waits'] = (who) => [[created(who)], []];
    const once = class extends serverOf(() => 'waits', 'at once') {
      constructor() {
        if (sockets.length > 0) throw new Error('No more sockets.');
        super();
        sockets.push(this);
      }
    };
    const transport = webSocketTransport(once);
    await transport.fetch('http://x/', post('I am ann'));
    const steering = steer(transport);
    const tell = sockets[0]?.onmessage as (event: object) => void;
    tell({ data: JSON.stringify(completed('ann')) });
    const next = transport.fetch('http://x/', post('And?', { previous_response_id: 'r-ann' }));
    expect(() => (sockets[0]?.onclose as (event: object) => void)({ code: 1006 })).not.toThrow();
    await expect(next).rejects.toThrow('No more sockets.');
    steering.unsubscribe();
  });

  it.each([
    [['http://x/'], 1],
    [['http://x/', 'http://y/'], 0],
  ])('webSocketTransport steers no response whose id is not unique: %j', async (urls, count) => {
    const sent: string[] = [];
    habits['waits'] = (who) => [[created(who)], []];
    const noting = class extends serverOf(() => 'waits', 'at once') {
      override send(data: string): void {
        sent.push(data);
        super.send(data);
      }
    };
    const transport = webSocketTransport(noting);
    opened.push(transport);
    for (const url of urls) await transport.fetch(url, post('I am ann'));
    steer(transport).unsubscribe();
    expect(sent.filter((data) => data.includes('response.steer'))).toHaveLength(count);
  });
});

/** What a server sends for a response with one kind of output, besides its begin and end. */
const kinds: Record<string, (who: string) => Frames> = {
  text: (who) => [added(who), delta(who), { ...delta(who), delta: ' and more' }],
  refusal: (who) => [added(who), { ...delta(who), type: 'response.refusal.delta' }],
  call: (who) => [
    ...[added(who)].map((frame) => ({ ...frame, item: callOf(who) })),
    { ...delta(who), type: 'response.function_call_arguments.delta', delta: `{"who":"${who}"}` },
    { type: 'response.output_item.done', output_index: 0, item: { ...callOf(who), arguments: `{"who":"${who}"}` } },
  ],
  reasoning: (who) => [
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { type: 'reasoning', id: `item-${who}`, summary: [] },
    },
    { ...delta(who), type: 'response.reasoning_summary_text.delta', summary_index: 0 },
  ],
  'two texts at once': (who) => [
    ...[added(who), { ...added(`${who}2`), output_index: 1 }],
    ...[delta(who), { ...delta(`${who}2`), output_index: 1 }, delta(who), { ...delta(`${who}2`), output_index: 1 }],
  ],
};
const callOf = (who: string) => ({ type: 'function_call', id: `item-${who}`, call_id: `c-${who}`, name: 'f' });
const endOf = (who: string, output: Frames) => ({
  type: 'response.completed',
  response: { id: `r-${who}`, status: 'completed', store: true, output, usage: { input_tokens: 3, output_tokens: 3 } },
});

/** The ids of a server: the JSON of a frame, of a response of which it is the frame with this index. */
const ids: Record<string, (json: string, at: number) => string> = {
  unique: (json) => json,
  'the same for the items of each response': (json) => json.replace(/item-[a-z]+/g, 'msg_'),
  'different in each frame of an item': (json, at) => json.replace(/"item-([a-z0-9]+)"/g, `"$1-${at}"`),
  'late for responses': (json, at) => (at === 0 ? json.replace(/"id":"r-[a-z]+",/, '') : json),
  'none for responses': (json) => json.replace(/"id":"r-[a-z]+",/, '').replace(/item-[a-z]+/g, 'msg_'),
  'the same for all responses': (json) => json.replace(/"r-[a-z]+"/, '"r"').replace(/item-[a-z]+/g, 'msg_'),
  'the same for the first and the third response': (json) => json.replace(/"r-(ann|carol)"/, '"r"'),
};
/** The requests on each connection, if a response has the id of an earlier one. */
const repeatedIds: Record<string, string[][]> = {
  'the same for all responses': [['ann', 'bob'], ['bob'], ['carol']],
  'the same for the first and the third response': [['ann', 'bob', 'carol'], ['carol']],
};
const numbers: Record<string, (frame: object, at: number) => object> = {
  'one by one': (frame, at) => ({ sequence_number: at, ...frame }),
  'always 0': (frame) => ({ sequence_number: 0, ...frame }),
  none: (frame) => frame,
};
/** Late frames of the response before, within the next one: after the frame with this index. */
const lateFrames: Record<string, (who: string) => readonly [number, Frames]> = {
  none: () => [0, []],
  'a delta before the item': (who) => [0, [delta(who)]],
  'all of it before the item': (who) => [0, answer(who)],
  'the end after the item': (who) => [1, [completed(who)]],
};

const cells = Object.keys(kinds).flatMap((kind) =>
  Object.keys(ids).flatMap((id) =>
    Object.keys(numbers).flatMap((number) =>
      ['empty', 'full', 'unannounced'].map((output) => ({ kind, id, number, output })),
    ),
  ),
);

describe('webSocketTransport', () => {
  const users = ['ann', 'bob', 'carol'];
  const framesOf = ({ kind, id, number, output }: (typeof cells)[number], who: string, from = 0) => {
    const events = kinds[kind]?.(who) ?? [];
    const announced = events.filter((frame) => output !== 'unannounced' || !('item' in frame));
    const full = kind === 'text' ? [itemOf(who, `text of ${who} and more`)] : [];
    return [created(who), ...announced, endOf(who, output === 'full' ? full : [])]
      .slice(from)
      .map((frame, at) => JSON.stringify(numbers[number]?.(frame, at)))
      .map((json, at) => ids[id]?.(json, at) ?? json);
  };
  const read = (model: Model, who: string) =>
    lastValueFrom(model.stream({ messages: [userMessage(`I am ${who}`)] }).pipe(toArray()));
  /** A class of sockets. Its server sends late frames of a response within the next one of the same connection. */
  const socketOf = (cell: (typeof cells)[number], late: string, sent: string[][], from = 0) =>
    class extends serverOf(() => 'answers', 'at once') {
      private readonly received: string[] = [];
      constructor() {
        super();
        sent.push(this.received);
      }
      override send(data: string): void {
        const who = users.find((name) => data.includes(name)) ?? '';
        const before = this.received.at(-1);
        this.received.push(who);
        const [at, frames] = before === undefined ? [0, []] : (lateFrames[late]?.(before) ?? [0, []]);
        const texts = framesOf(cell, who, from);
        const others = frames.map((frame, index) => ids[cell.id]?.(JSON.stringify(frame), index) ?? '');
        queueMicrotask(() => {
          for (const text of [...texts.slice(0, at + 1), ...others, ...texts.slice(at + 1)])
            (this.onmessage as (event: object) => void)({ data: text });
        });
      }
    };
  const overHttp = (cell: (typeof cells)[number], who: string, from = 0) => {
    const body = framesOf(cell, who, from).map((text) => `data: ${text}\n\n`);
    const fetch = () =>
      Promise.resolve(new Response(body.join(''), { headers: { 'content-type': 'text/event-stream' } }));
    return read(openai('m', { apiKey: 'none', fetch }), who);
  };

  it.each(cells)(
    'webSocketTransport reads what HTTP reads: $kind, ids $id, numbers $number, output $output',
    async (cell) => {
      const sent: string[][] = [];
      const model = modelOf(socketOf(cell, 'none', sent), {}, again);
      for (const who of users) {
        const chunks = await inVirtualTime(() => read(model, who));
        expect(chunks.filter(({ type }) => type !== 'retry')).toEqual(await overHttp(cell, who));
        if (cell.output !== 'unannounced')
          expect(JSON.stringify(chunks.filter(({ type }) => type !== 'metadata'))).toContain(who);
      }
      expect(sent).toEqual(repeatedIds[cell.id] ?? [users]);
    },
  );

  it.each(cells)(
    'webSocketTransport reads what HTTP reads without a first event: $kind, ids $id, numbers $number, output $output',
    async (cell) => {
      const sent: string[][] = [];
      const model = modelOf(socketOf(cell, 'none', sent, 1));
      for (const who of users) expect(await read(model, who)).toEqual(await overHttp(cell, who, 1));
      expect(sent).toEqual(users.map((who) => [who]));
    },
  );

  it.each([[added('nobody')], [delta('nobody')], [completed('nobody')]])(
    'webSocketTransport needs a first event if the server sent another event before the request: %j',
    async (frame) => {
      let isFirst = true;
      const server = class extends serverOf(() => 'answers', 'at once') {
        constructor() {
          super();
          if (isFirst)
            queueMicrotask(() => (this.onmessage as (event: object) => void)({ data: JSON.stringify(frame) }));
          isFirst = false;
        }
        override send(data: string): void {
          (this.onmessage as (event: object) => void)({ data: JSON.stringify(completed('nobody')) });
          super.send(data);
        }
      };
      const model = modelOf(server);
      for (const who of users) expect(await textOf(model, who)).toBe(`text of ${who}`);
    },
  );

  it.each(
    cells
      .filter(({ id, output }) => output !== 'unannounced' && /unique|the items of each/.test(id))
      .flatMap((cell) => Object.keys(lateFrames).map((late) => ({ ...cell, late }))),
  )(
    'webSocketTransport drops late frames: $late; $kind, ids $id, numbers $number, output $output',
    async ({ late, ...cell }) => {
      const model = modelOf(socketOf(cell, late, []));
      for (const who of users) expect(await read(model, who)).toEqual(await overHttp(cell, who));
    },
  );

  it.each([
    ['<html>Sign in</html>', ': "Sign in"'],
    ['null', ': "null"'],
    ['42', ': "42"'],
    ['[]', ''],
    ['{"type":', ''],
  ])('webSocketTransport fails at once for a first frame that is not a JSON object: %s', async (first, quoted) => {
    const close = jest.fn();
    const server = class extends serverOf(() => 'answers', 'at once') {
      override send(data: string): void {
        queueMicrotask(() => (this.onmessage as (event: object) => void)({ data: first }));
        super.send(data);
      }
      override close = close;
    };
    const error: unknown = await read(modelOf(server), 'ann').catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(`ProtocolError: openai sent an event that is not a JSON object${quoted}.`);
    expect(close).toHaveBeenCalledTimes(1);
  });

  it.each(['', 'ping', ': keep-alive', '[DONE]', '{"type":"keepalive"}', '{}'])(
    'webSocketTransport ignores a first frame that says nothing: %j',
    async (first) => {
      const server = class extends serverOf(() => 'answers', 'at once') {
        override send(data: string): void {
          queueMicrotask(() => (this.onmessage as (event: object) => void)({ data: first }));
          super.send(data);
        }
      };
      const model = modelOf(server);
      for (const who of users) expect(await textOf(model, who)).toBe(`text of ${who}`);
    },
  );

  it.each([{ error: { message: 'Refused.' } }, { error: 'Refused.' }, { type: 'response.error', message: 'Refused.' }])(
    'webSocketTransport fails at once for an error without the type of one: %j',
    async (frame) => {
      habits['errs'] = () => [[frame], []];
      expect(await textOf(modelOf(serverOf(() => 'errs', 'at once')), 'ann')).toMatch(/^Error: .*Refused\./);
    },
  );

  it('webSocketTransport fails after a second if a response has the id of the one before', async () => {
    habits['repeats'] = () => [answer('ann'), []];
    const model = modelOf(serverOf(() => 'repeats', 'at once'));
    const texts: string[] = [];
    for (const who of ['ann', 'bob', 'carol']) texts.push(await inVirtualTime(() => textOf(model, who)));
    expect(texts).toEqual([
      'text of ann',
      expect.stringContaining('two responses with the id "r-ann". Check'),
      'text of ann',
    ]);
  });
});

/** A class of sockets whose server answers with these frames, the requests on each connection, and what it threw. */
function scripted(framesOf: (who: string) => Frames) {
  const sent: string[][] = [];
  const thrown: unknown[] = [];
  const server = class extends serverOf(() => 'answers', 'at once') {
    private readonly received: string[] = [];
    constructor() {
      super();
      sent.push(this.received);
    }
    override send(data: string): void {
      const who = /I am (\w+)/.exec(data)?.[1] ?? '';
      this.received.push(who);
      queueMicrotask(() => {
        try {
          for (const frame of framesOf(who))
            (this.onmessage as (event: object) => void)({ data: JSON.stringify(frame) });
        } catch (error) {
          thrown.push(error);
        }
      });
    }
  };
  return { server, sent, thrown };
}

const unnamed = (type = 'response.created') => ({ type, response: { output: [] } });
const end = (who: string) => endOf(who, []);
const bare = (type: string, fields: object) => ({ type: `response.${type}`, ...fields });
const reasoning = { type: 'reasoning', id: 'item-first', summary: [] };

describe('webSocketTransport', () => {
  const chunksOf = (model: Model, who: string) =>
    lastValueFrom(model.stream({ messages: [userMessage(`I am ${who}`)] }).pipe(toArray()));
  const overHttp = (frames: Frames, options = {}) => {
    const body = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('');
    const fetch = () => Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
    return chunksOf(openai('m', { apiKey: 'none', ...options, fetch }), 'ann');
  };
  const interruption = 'code: stream_interrupted';
  const outcome = (chunks: Promise<unknown>) =>
    chunks.catch((error: unknown) => `code: ${String((error as { code?: unknown }).code)}`);

  const rest = [added('ann'), delta('ann'), end('ann')];
  it.each<[string, Frames, 'read' | 'interrupted']>([
    ['an item before the beginning', [added('ann'), created('ann'), delta('ann'), end('ann')], 'read'],
    [
      'a bare delta before the beginning',
      [bare('output_text.delta', { delta: 'a' }), created('ann'), end('ann')],
      'read',
    ],
    ['an id that comes late', [unnamed(), { ...created('ann'), type: 'response.in_progress' }, ...rest], 'read'],
    ['an id that comes with the end', [unnamed(), unnamed('response.in_progress'), ...rest], 'read'],
    ['two beginnings, the second one with an id', [unnamed(), created('ann'), ...rest], 'interrupted'],
    ['two beginnings with ids', [created('ann'), created('bob'), ...rest], 'interrupted'],
    ['two beginnings within the items', [created('ann'), added('ann'), created('bob'), ...rest], 'interrupted'],
    ['an item, then two beginnings', [added('ann'), created('ann'), created('bob'), ...rest], 'interrupted'],
    ['two ends', [created('ann'), ...rest, end('ann')], 'read'],
  ])('webSocketTransport reads a response or ends as an interruption: %s', async (_name, frames, due) => {
    const { server, thrown } = scripted(() => frames);
    const got = await outcome(chunksOf(modelOf(server), 'ann'));
    expect(got).toEqual(due === 'read' ? await overHttp(frames) : interruption);
    expect(thrown).toEqual([]);
  });

  it('webSocketTransport reads no end of an earlier response in one that has no id yet', async () => {
    const frames = (who: string) =>
      who === 'bob' ? [unnamed(), added('bob'), completed('ann'), delta('bob'), end('bob')] : answer(who);
    const { server } = scripted(frames);
    const model = modelOf(server);
    for (const who of ['ann', 'bob']) expect(await textOf(model, who)).toBe(`text of ${who}`);
  });

  const clock = {
    type: 'function_call',
    id: 'item-call',
    call_id: 'c',
    name: 'clock',
    arguments: '{}',
    status: 'completed',
  };
  const lossy: Record<string, (who: string) => Frames> = {
    'bare deltas': (who) => [bare('output_text.delta', { delta: 'Hel' }), bare('output_text.delta', { delta: who })],
    'a bare refusal': (who) => [bare('refusal.delta', { delta: who })],
    'a bare text at its end': (who) => [bare('output_text.done', { text: who })],
    'a bare item': (who) => [bare('output_item.done', { item: { ...itemOf(who, who), id: undefined } })],
    'an item without its announcement': (who) => [
      bare('output_item.added', { output_index: 0, item: reasoning }),
      bare('output_item.done', { output_index: 0, item: reasoning }),
      { ...delta(who), output_index: 1 },
    ],
    'a call without its announcement': (who) => [
      ...[added(who), delta(who)],
      bare('output_item.done', { output_index: 1, item: { ...clock, id: `item-call-${who}` } }),
    ],
  };
  const long = { ...delta('ann'), delta: 'x'.repeat(2000) };
  it.each<[string, Frames]>([
    ['first', [long, ...answer('ann')]],
    ['within', [created('ann'), added('ann'), long, end('ann')]],
    ['at the end', [created('ann'), ...rest.slice(0, 2), { ...end('ann'), more: long }]],
    ['of nobody', [created('ann'), { ...long, response_id: 'r-nobody' }, ...rest]],
  ])(
    'webSocketTransport refuses an event that is too long as HTTP does, without parsing it: %s',
    async (_name, frames) => {
      const { server, sent } = scripted((who) => (who === 'ann' ? frames : answer(who)));
      const options = { apiKey: 'none', retry: false, maxEventLength: 1000 } as const;
      const sockets = webSocketTransport(server, { maxEventLength: 1000 });
      opened.push(sockets);
      const parse = jest.spyOn(JSON, 'parse');
      const model = openai('m', { ...options, fetch: sockets.fetch });
      const error: unknown = await chunksOf(model, 'ann').catch((thrown: unknown) => thrown);
      expect(parse.mock.calls.filter(([text]) => text.length > 1000)).toEqual([]);
      parse.mockRestore();
      const overLimit = await overHttp(frames, options).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name: 'ProtocolError', reason: 'event_too_large' });
      expect(String(error)).toBe(String(overLimit));
      expect(await textOf(model, 'bob')).toBe('text of bob');
      expect(sent).toEqual([['ann'], ['bob']]);
    },
  );

  it('webSocketTransport closes an idle connection that gets an event that is too long', async () => {
    const { server, sent } = scripted((who) => [...answer(who), long]);
    const sockets = webSocketTransport(server, { maxEventLength: 1000 });
    opened.push(sockets);
    const model = openai('m', { apiKey: 'none', fetch: sockets.fetch });
    for (const who of ['ann', 'bob']) expect(await textOf(model, who)).toBe(`text of ${who}`);
    expect(sent).toEqual([['ann'], ['bob']]);
  });

  const inFirst = Object.keys(lossy).flatMap((kind) => [0, 1].map((from) => ({ kind, from })));
  it.each(inFirst)(
    'webSocketTransport reads all of the first response of a connection: $kind, from event $from on',
    async ({ kind, from }) => {
      const framesOf = (who: string) => [created(who), ...(lossy[kind]?.(who) ?? []), end(who)].slice(from);
      const { server, sent } = scripted(framesOf);
      const model = modelOf(server);
      for (const who of ['ann', 'bob', 'carol']) {
        const chunks = await chunksOf(model, who);
        expect(chunks).toEqual(await overHttp(framesOf(who)));
        expect(JSON.stringify(chunks.filter(({ type }) => type !== 'metadata'))).toMatch(/ann|bob|carol|clock/);
      }
      expect(sent).toEqual([['ann'], ['bob'], ['carol']]);
    },
  );

  const inSecond = Object.keys(lossy).flatMap((kind) => ['empty', 'full'].map((output) => ({ kind, output })));
  it.each(inSecond)(
    'webSocketTransport loses nothing of a later response without an error: $kind, output $output',
    async ({ kind, output }) => {
      const outputOf = (who: string) => [kind.includes('call') ? clock : itemOf(who, 'the text')];
      const framesOf = (who: string) =>
        who === 'bob'
          ? [created(who), ...(lossy[kind]?.(who) ?? []), endOf(who, output === 'full' ? outputOf(who) : [])]
          : answer(who);
      const { server, sent } = scripted(framesOf);
      const model = modelOf(server);
      expect(await textOf(model, 'ann')).toBe('text of ann');
      const got = await outcome(chunksOf(model, 'bob'));
      const isUnannounced = kind.includes('without');
      if (isUnannounced && output === 'empty') expect(got).toBe(interruption);
      else if (isUnannounced) expect(JSON.stringify(got)).toMatch(/the text|clock/);
      else expect(got).toEqual(await overHttp(framesOf('bob')));
      expect(await textOf(model, 'carol')).toBe('text of carol');
      expect(sent).toEqual(
        isUnannounced && output === 'full' ? [['ann', 'bob', 'carol']] : [['ann', 'bob'], ['carol']],
      );
    },
  );
});
