import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, lastValueFrom, map, Subject, take, toArray } from 'rxjs';
import type { Chunk } from '../../../lib/core/chunk.js';
import { userMessage } from '../../../lib/core/message.js';
import { toolCall } from '../../../lib/testing/index.js';
import { serveFrames, serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer, ServedTurn } from '../../../lib/testing/server/index.js';
import type { ServerEvent } from '../../../lib/testing/server/serveModel.js';
import { freePort } from '../../support/freePort.js';

let server: LoopbackServer;
afterEach(() => server.close());

const question = { model: 'gpt-5', stream: true, messages: [{ role: 'user', content: 'Hello' }] };

function ask(body: unknown = question, init: RequestInit = {}): Promise<Response> {
  return fetch(`${server.url}/chat/completions`, { method: 'POST', body: JSON.stringify(body), ...init });
}

/** Everything that comes of a body, piece by piece, and the error that breaks it. */
async function pieces(response: Response): Promise<{ got: Uint8Array[]; error?: unknown }> {
  const got: Uint8Array[] = [];
  try {
    for await (const piece of response.body ?? []) got.push(piece);
    return { got };
  } catch (error) {
    return { got, error };
  }
}

/** How undici says that a body broke off (its `TypeError` is of another realm than jest's). */
const broken = { name: 'TypeError', message: 'terminated' };

const text = (got: readonly Uint8Array[]) => new TextDecoder().decode(Buffer.concat(got));
const until = (type: ServerEvent['type'], request = 0) =>
  firstValueFrom(server.events.pipe(filter((event) => event.type === type && event.request === request)));
const kinds = (request = 0) =>
  server.events.pipe(
    filter((event) => event.request === request),
    map(({ type }) => type),
  );

const chunk = (choice: string, turn = 1) =>
  `{"id":"chatcmpl-${turn}","object":"chat.completion.chunk","created":1700000000,"model":"gpt-5","choices":[{"index":0,${choice}}]}`;
/** The frames of `Hi.`, as OpenAI sends them. */
const hi = [
  chunk('"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null'),
  chunk('"delta":{"content":"Hi."},"logprobs":null,"finish_reason":null'),
  chunk('"delta":{},"logprobs":null,"finish_reason":"stop"'),
  '[DONE]',
].map((data) => `data: ${data}\n\n`);

describe('serveModel', () => {
  it('serveModel streams a scripted response in the format of Chat Completions', async () => {
    server = await serveModel(['Hi.']);
    const response = await ask();
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(response.headers.get('x-request-id')).toBe('req_1');
    expect(await response.text()).toBe(hi.join(''));
    await until('finished');
  });

  it('serveModel listens on the port that is passed, and rejects one that is taken', async () => {
    const port = await freePort();
    const first = await serveModel(['one'], { port });
    expect(first.port).toBe(port);
    await expect(serveModel(['two'], { port })).rejects.toThrow('EADDRINUSE');
    await first.close();
    const second = await serveModel(['two'], { port });
    expect(second.url).toBe(`http://127.0.0.1:${port}/v1`);
    await second.close();
  });

  it('serveModel plays a script turn by turn and reports when it has ended', async () => {
    server = await serveModel([[toolCall('add', { a: 1 })], 'Done.']);
    expect(await (await ask()).text()).toContain('"finish_reason":"tool_calls"');
    expect(await (await ask()).text()).toContain('"content":"Done."');
    const third = await ask();
    expect(third.status).toBe(400);
    expect(await third.json()).toEqual({
      error: {
        message: expect.stringMatching(/2 turns.*request 3/) as unknown,
        type: 'invalid_request_error',
        param: null,
        code: 'script',
      },
    });
  });

  it('serveModel passes the turn, the body, its messages and the history to a function of the script', async () => {
    const seen: ServedTurn[] = [];
    server = await serveModel((turn) => {
      seen.push(turn);
      return 'Hi.';
    });
    await (await ask()).text();
    expect(seen).toEqual([{ turn: 1, body: question, messages: question.messages, history: [userMessage('Hello')] }]);
  });

  it('serveModel records the requests in order', async () => {
    server = await serveModel(['one', 'two']);
    await (await ask(question, { headers: { Authorization: 'Bearer k', 'X-Mine': 'yes' } })).text();
    await (await ask({ ...question, seed: 7 })).text();
    expect(server.requests).toEqual([
      expect.objectContaining({
        order: 0,
        method: 'POST',
        path: '/v1/chat/completions',
        body: question,
        headers: expect.objectContaining({ authorization: 'Bearer k', 'x-mine': 'yes' }) as unknown,
      }),
      expect.objectContaining({ order: 1, body: { ...question, seed: 7 } }),
    ]);
  });

  it('serveModel refuses what the real server refuses and does not advance the script', async () => {
    server = await serveModel(['Hi.'], { apiKey: 'right' });
    const headers = { authorization: 'Bearer right' };
    const error = async (response: Response) => [
      response.status,
      ((await response.json()) as { error: { code: unknown } }).error.code,
    ];
    expect(await error(await ask())).toEqual([401, 'invalid_api_key']);
    expect(await error(await fetch(`${server.url}/elsewhere`, { method: 'POST', headers, body: '{}' }))).toEqual([
      404,
      'unknown_url',
    ]);
    expect(await error(await fetch(`${server.url}/chat/completions`, { headers }))).toEqual([
      405,
      'method_not_supported',
    ]);
    expect(await error(await ask('not an object', { headers }))).toEqual([400, null]);
    expect(await error(await ask({ ...question, messages: undefined }, { headers }))).toEqual([
      400,
      'missing_required_parameter',
    ]);
    expect(await (await ask(question, { headers })).text()).toBe(hi.join(''));
  });

  it('serveModel never sends the key', async () => {
    server = await serveModel([], { apiKey: 'sk-secret' });
    expect(await (await ask(question, { headers: { authorization: 'Bearer sk-other' } })).text()).not.toMatch(/sk-/);
  });

  it('serveModel fails the first requests with Retry-After, then begins the script', async () => {
    server = await serveModel(['Hi.'], { failFirst: { status: 429, times: 2, retryAfter: 3 } });
    for (const failed of [await ask(), await ask()]) {
      expect([failed.status, failed.headers.get('retry-after')]).toEqual([429, '3']);
      expect(await failed.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    }
    expect(await (await ask()).text()).toBe(hi.join(''));
  });

  it('serveModel takes the behaviour of one request from an array or a function', async () => {
    server = await serveModel(['Hi.', 'Hi.'], {
      forRequest: [{ status: 503, body: '<html>down</html>', headers: { 'content-type': 'text/html' } }],
    });
    const down = await ask();
    expect([down.status, down.headers.get('content-type'), await down.text()]).toEqual([
      503,
      'text/html',
      '<html>down</html>',
    ]);
    expect((await ask()).status).toBe(200);
    await server.close();

    server = await serveModel(['Hi.'], { forRequest: ({ order }) => (order === 0 ? { status: 500 } : undefined) });
    expect(await (await ask()).json()).toMatchObject({ error: { type: 'server_error' } });
    expect(await (await ask()).text()).toBe(hi.join(''));
  });

  it('serveModel writes the same bytes however they are split', async () => {
    server = await serveModel(
      ['Hi.', 'Hi.', 'Hi.'].map((said) => [said]),
      { forRequest: [{}, { cut: 1 }, { cut: [5, 200] }] },
    );
    const whole = Buffer.from(hi.join(''));
    const frames = (await pieces(await ask())).got;
    expect(text(frames)).toBe(hi.join(''));
    for (const [lengths, turn] of [
      [Array.from(whole, () => 1), 2],
      [[5, 195, whole.length - 200], 3],
    ] as const) {
      const { got } = await pieces(await ask());
      expect(text(got)).toBe(hi.join('').replaceAll('chatcmpl-1', `chatcmpl-${turn}`));
      // A kernel may join writes, but it never moves a cut.
      const cuts = new Set(ends(lengths));
      expect(ends(got.map(({ length }) => length)).filter((end) => !cuts.has(end))).toEqual([]);
    }
  });

  it('serveModel resets the connection after a number of frames, and the client receives these frames', async () => {
    server = await serveModel(['Hi.'], { reset: 2 });
    const { got, error } = await pieces(await ask());
    expect(text(got)).toBe(hi.slice(0, 2).join(''));
    expect(error).toMatchObject(broken);
    await until('reset');
    expect(await lastValueFrom(kinds().pipe(take(4), toArray()))).toEqual(['request', 'frame', 'frame', 'reset']);
  });

  it('serveModel resets the connection before the status line', async () => {
    server = await serveModel(['Hi.'], { reset: 0 });
    await expect(ask()).rejects.toThrow('fetch failed');
    await until('reset');
  });

  it('serveModel falls silent after a number of frames until the client disconnects', async () => {
    server = await serveModel(['Hi.'], { silent: 1 });
    const leave = new AbortController();
    const response = await ask(question, { signal: leave.signal });
    const reader = response.body!.getReader();
    expect(text([(await reader.read()).value!])).toBe(hi[0]);
    expect(server.connections).toBe(1);
    leave.abort();
    await until('closed');
    await expect(reader.read()).rejects.toThrow(/abort/);
    expect(await lastValueFrom(kinds().pipe(take(3), toArray()))).toEqual(['request', 'frame', 'closed']);
    expect(server.connections).toBe(0);
  });

  it('serveModel sends nothing at all until the client disconnects', async () => {
    server = await serveModel(['Hi.'], { silent: 0 });
    const leave = new AbortController();
    const answer = ask(question, { signal: leave.signal });
    await until('request');
    leave.abort();
    await expect(answer).rejects.toThrow(/abort/);
    await until('closed');
  });

  it('serveModel ends the body early as if it were complete', async () => {
    server = await serveModel(['Hi.', 'Hi.'], { forRequest: [{ endEarly: 2 }, { endEarly: 0 }] });
    expect(await (await ask()).text()).toBe(hi.slice(0, 2).join(''));
    expect(await (await ask()).text()).toBe('');
  });

  it('serveModel flushes an incomplete write before it falls silent, ends or resets', async () => {
    server = await serveModel(['Hi.'], { cut: 1_000_000, reset: 2 });
    expect(text((await pieces(await ask())).got)).toBe(hi.slice(0, 2).join(''));
  });

  it('serveModel applies the options for line ends, comments and event names', async () => {
    server = await serveModel(['', ''], {
      lineEnds: '\r\n',
      comments: 'PROCESSING',
      eventNames: true,
      endEarly: 1,
      forRequest: [{}, { eventNames: 'delta', endEarly: 99 }],
    });
    expect(await (await ask()).text()).toBe(`: PROCESSING\r\n\r\nevent: message\r\n${hi[0]!.replaceAll('\n', '\r\n')}`);
    expect(await (await ask()).text()).toMatch(/event: delta\r\ndata: \[DONE\]\r\n\r\n: PROCESSING\r\n\r\n$/);
  });

  it('serveModel waits between frames', async () => {
    server = await serveModel(['Hi.'], { delay: 1 });
    expect(await (await ask()).text()).toBe(hi.join(''));
    expect(await lastValueFrom(kinds().pipe(take(6), toArray()))).toEqual([
      'request',
      'frame',
      'frame',
      'frame',
      'frame',
      'finished',
    ]);
  });

  it('serveModel follows an Observable turn frame by frame and unsubscribes when the client disconnects', async () => {
    const turn = new Subject<Chunk>();
    server = await serveModel([turn]);
    const leave = new AbortController();
    const answer = ask(question, { signal: leave.signal });
    await until('request');
    expect(turn.observed).toBe(true);
    turn.next({ type: 'text', text: 'Hi.' });
    const reader = (await answer).body!.getReader();
    await reader.read();
    leave.abort();
    await until('closed');
    expect(turn.observed).toBe(false);
    await expect(reader.read()).rejects.toThrow(/abort/);
  });

  it('serveModel reports an error of the script as an error frame and omits the terminal mark', async () => {
    server = await serveModel([['Hi.', { error: new Error('overloaded') }]]);
    const body = await (await ask()).text();
    expect(body).toBe(
      `${hi.slice(0, 2).join('')}data: {"error":{"message":"overloaded","type":"server_error","param":null,"code":null}}\n\n`,
    );
  });

  it('serveModel answers two conversations at once, each by its own messages', async () => {
    server = await serveModel(({ messages }) => [
      `You said ${JSON.stringify(messages[0]?.['content'])}`,
      { delay: 1 },
      '.',
    ]);
    const answers = await Promise.all(
      ['A', 'B'].map(async (content) => (await ask({ ...question, messages: [{ role: 'user', content }] })).text()),
    );
    expect(answers.map((body) => /You said \\"(\w)/.exec(body)?.[1])).toEqual(['A', 'B']);
    expect(server.requests).toHaveLength(2);
    await Promise.all([until('finished', 0), until('finished', 1)]);
  });

  it('close() closes open connections, emits their end and may be called twice', async () => {
    server = await serveModel(['Hi.'], { silent: 1 });
    const response = await ask();
    const body = pieces(response);
    await until('frame');
    await server.close();
    expect((await body).error).toMatchObject(broken);
    expect(await lastValueFrom(kinds().pipe(toArray()))).toEqual(['request', 'frame', 'reset']);
    expect(server.connections).toBe(0);
    await server.close();
    await expect(ask()).rejects.toThrow('fetch failed');
  });

  it('serveModel survives a client that disconnects in the middle of its request', async () => {
    server = await serveModel(['Hi.']);
    const socket = connect(server.port, '127.0.0.1');
    socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"model"', () =>
      socket.destroy(),
    );
    await once(socket, 'close');
    expect(await (await ask()).text()).toBe(hi.join(''));
    expect(server.requests).toHaveLength(1);
  });

  it('serveModel reports an error of its own options instead of hanging', async () => {
    server = await serveModel(['Hi.'], {
      forRequest: () => {
        throw new Error('no such recording');
      },
    });
    const response = await ask();
    expect([response.status, await response.text()]).toEqual([500, expect.stringContaining('no such recording')]);
  });
});

describe('serveFrames', () => {
  it('serveFrames writes the frames unchanged, at any path, and ends', async () => {
    const frames = [': hello\r\n\r\n', 'data: {"half', '":1}\n\n', new Uint8Array([0xff, 0x0a])];
    server = await serveFrames(frames, { headers: { 'content-type': 'application/x-ndjson' } });
    const response = await fetch(`${server.url}/messages`, { method: 'POST', body: 'anything' });
    const { got, error } = await pieces(response);
    expect(Buffer.concat(got)).toEqual(Buffer.concat(frames.map((frame) => Buffer.from(frame as string))));
    expect([error, response.headers.get('content-type'), server.requests[0]?.body]).toEqual([
      undefined,
      'application/x-ndjson',
      'anything',
    ]);
  });

  it('serveFrames resets after the last frame if the option says so', async () => {
    server = await serveFrames(['a', 'b'], { reset: 2 });
    const { got, error } = await pieces(await ask());
    expect([text(got), error]).toMatchObject(['ab', broken]);
  });

  it('serveFrames can send the headers only, and nothing at all', async () => {
    server = await serveFrames([''], { silent: 1, forRequest: [{}, { raw: [], silent: 99 }] });
    const leave = new AbortController();
    expect((await ask(question, { signal: leave.signal })).status).toBe(200);
    leave.abort();
    await until('closed');
    expect(await (await ask()).text()).toBe('');
  });
});

/** Where each piece ends. */
function ends(lengths: readonly number[]): number[] {
  let at = 0;
  return lengths.map((length) => (at += length));
}
