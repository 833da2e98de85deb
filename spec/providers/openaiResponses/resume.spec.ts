import { afterEach, describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import type { Chunk } from '../../../lib/core/chunk.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { openai } from '../../../lib/providers/openai.js';
import type { ResponsesOptions } from '../../../lib/providers/openai.js';
import { background } from '../../../lib/providers/openaiResponses/background.js';
import { toolCall } from '../../../lib/testing/index.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer, ServeOptions } from '../../../lib/testing/server/index.js';
import { completed, read } from './frames.js';

const delta = (sequence_number: number, text: string, id = 'msg_1'): JsonObject => ({
  ...{ type: 'response.output_text.delta', sequence_number, item_id: id, output_index: 0, content_index: 0 },
  delta: text,
});
const done = (sequence_number: number, text: string): JsonObject => ({
  ...{ type: 'response.output_text.done', sequence_number, item_id: 'msg_1', output_index: 0, content_index: 0 },
  text,
});
const added = (sequence_number: number, id = 'msg_1'): JsonObject => ({
  ...{ type: 'response.output_item.added', sequence_number, output_index: 0 },
  item: { type: 'message', id, role: 'assistant', status: 'in_progress', content: [] },
});
const created = (sequence_number: number): JsonObject => ({
  ...{ type: 'response.created', sequence_number },
  response: { id: 'resp_1', object: 'response', status: 'in_progress', output: [] },
});

describe('a response that is resumed in the middle', () => {
  it('skips the events whose numbers it has seen', async () => {
    const events = [created(0), added(1), delta(2, 'ha'), delta(3, 'ha'), delta(4, '!')];
    const { text } = await read([...events, ...events.slice(2), delta(5, ' Well.'), completed()]);
    expect(text).toBe('haha! Well.');
    const again = await read([...events, ...events, delta(5, ' Well.'), completed()]);
    expect(again.text).toBe('haha! Well.');
  });

  it('takes what only a complete text has', async () => {
    const { text } = await read([delta(7, 'lo '), delta(8, 'world'), done(9, 'Hello world'), completed()]);
    expect(text).toBe('Hello world');
    const cut = await read([delta(7, 'lo '), delta(8, 'world'), completed()]);
    expect(cut.text).toBe('lo world');
  });

  it('takes once what only a repeated complete text has', async () => {
    const events = [created(0), added(1), delta(2, 'Hello '), delta(5, 'wor')];
    const { text } = await read([...events, done(4, 'Hello world'), done(4, 'Hello world'), completed()]);
    expect(text).toBe('Hello world');
  });

  it('reads every event of a server whose numbers do not count', async () => {
    const constant = [created(0), added(0), delta(0, 'ha'), delta(0, 'ha'), completed()];
    expect((await read(constant)).text).toBe('haha');
    const perItem = [created(0), added(1), delta(2, 'a'), delta(3, 'b'), added(0, 'msg_2'), delta(1, 'c', 'msg_2')];
    expect((await read([...perItem, completed()])).text).toBe('abc');
  });
});

describe('a background response over a real socket', () => {
  const servers: LoopbackServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });

  const turn = [
    { type: 'thinking', text: 'Hm.' } as Chunk,
    'Once upon',
    ' a time',
    toolCall('look', { at: 'a' }, 'call_1'),
  ];
  const run = async (options: ServeOptions, isBackground = true, models: ResponsesOptions = {}) => {
    const server = await serveModel([turn], options);
    servers.push(server);
    const retry = { initialDelay: 1 };
    const own = { background: background(), store: true, retry };
    const model = openai('gpt-6.1-terra', { apiKey: 'key', baseUrl: server.url, ...own, ...models });
    const providerOptions = { openai: isBackground ? {} : { background: false } };
    const chunks = await lastValueFrom(
      model.stream({ messages: [userMessage('Hi')], providerOptions }).pipe(toArray()),
    );
    return { chunks, requests: server.requests.map(({ method, path }) => `${method} ${path}`) };
  };
  const withoutRetries = (chunks: readonly Chunk[]) => chunks.filter(({ type }) => type !== 'retry');

  it.each([1, 2, 4, 7, 10, 13])('survives a connection that is lost after %d frames', async (frames) => {
    const { chunks: whole } = await run({});
    for (const fault of [{ reset: frames }, { endEarly: frames }]) {
      const { chunks, requests } = await run({ forRequest: [fault] });
      expect(withoutRetries(chunks)).toEqual(whole);
      expect(requests[1] ?? '').toMatch(/^$|^GET \/v1\/responses\/resp_1\?stream=true&starting_after=\d+$/);
      expect(requests.slice(2)).toEqual([]);
    }
  });

  it('survives several losses, and fails after as many without progress as it is retried', async () => {
    const { chunks: whole } = await run({});
    const { chunks, requests } = await run({ forRequest: [{ reset: 4 }, { reset: 3 }, { status: 503 }, { reset: 2 }] });
    expect(withoutRetries(chunks)).toEqual(whole);
    expect(requests).toHaveLength(5);
    expect(chunks.filter(({ type }) => type === 'retry')).toHaveLength(4);
    const lost = run({ forRequest: ({ order }) => (order === 0 ? { reset: 9 } : { status: 503 }) });
    await expect(lost).rejects.toMatchObject({
      ...{ code: 'stream_interrupted', retryable: false },
      cause: { code: 'http', status: 503 },
    });
  });

  const outages: Readonly<Record<string, readonly [options: ServeOptions, models: ResponsesOptions, rest: number]>> = {
    'the connection': [{ forRequest: ({ order }) => ({ reset: order === 0 ? 1 : 0 }) }, {}, 3],
    'the server': [{ forRequest: ({ order }) => (order === 0 ? { reset: 1 } : { status: 503 }) }, {}, 3],
    'the connection, with more retries': [
      { forRequest: ({ order }) => ({ reset: order === 0 ? 1 : 0 }) },
      { retry: { initialDelay: 1, count: 5 } },
      5,
    ],
    'the connection, without retries': [{ forRequest: [{ reset: 1 }] }, { retry: false }, 0],
    'a server that asks for a long delay': [
      { forRequest: ({ order }) => (order === 0 ? { reset: 1 } : { status: 503, headers: { 'retry-after': '900' } }) },
      {},
      1,
    ],
  };

  it.each(Object.entries(outages))('is created once, in an outage of %s before its content', async (_, outage) => {
    const [options, models, rest] = outage;
    await expect(run(options, true, models)).rejects.toMatchObject({
      ...{ code: 'stream_interrupted', retryable: false, provider: 'openai' },
      message: expect.stringContaining('openai continues to produce, and bills, this response'),
    });
    const methods = servers[0]?.requests.map(({ method }) => method);
    expect(methods).toEqual(['POST', ...Array.from({ length: rest }, () => 'GET')]);
  });

  it('is created again after it has failed at the server', async () => {
    const response = { id: 'resp_1', background: true };
    const event = (fields: JsonObject) => `data: ${JSON.stringify(fields)}\n\n`;
    const queued = event({ type: 'response.created', sequence_number: 0, response: { ...response, status: 'queued' } });
    const error = { code: 'server_error', message: 'No.' };
    const failed = event({ type: 'response.failed', response: { ...response, status: 'failed', error } });
    const reported = event({ type: 'error', ...error });
    const atOnce = await run({ forRequest: [{ raw: [queued, failed] }] });
    const later = await run({ forRequest: [{ raw: [queued, reported] }, { raw: [failed] }] });
    const methods = [atOnce, later].map(({ requests }) => requests.map((request) => request.split(' ')[0]));
    expect(methods).toEqual([
      ['POST', 'POST'],
      ['POST', 'GET', 'POST'],
    ]);
  });

  it('is joined again at the path that `route` returns', async () => {
    const sent: string[] = [];
    const { chunks: whole } = await run({});
    const { chunks } = await run({ forRequest: [{ reset: 4 }] }, true, {
      route: ({ path, body }) => ({ path: `/tenants/${body['model'] as string}${path}`, body }),
      fetch(url, init) {
        sent.push(`${init?.method} ${(url as string).replace(/.*v1/, '')}`);
        return fetch((url as string).replace('/tenants/gpt-6.1-terra', ''), init);
      },
    });
    expect(withoutRetries(chunks)).toEqual(whole);
    expect(sent).toEqual([
      'POST /tenants/gpt-6.1-terra/responses',
      expect.stringMatching(/^GET \/tenants\/gpt-6.1-terra\/responses\/resp_1\?stream=true&starting_after=\d+$/),
    ]);
  });

  it('is not resumed unless it is a background response', async () => {
    await expect(run({ forRequest: [{ reset: 9 }] }, false)).rejects.toMatchObject({ code: 'stream_interrupted' });
  });
});
