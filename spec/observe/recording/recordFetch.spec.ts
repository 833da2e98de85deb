import { afterEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { filter, firstValueFrom, lastValueFrom, materialize, take, toArray } from 'rxjs';
import { anthropic, google, openaiChat, userMessage } from 'rivulet';
import type { Model, ModelOptions } from 'rivulet';
import { readRecording, recordFetch } from 'rivulet/recording';
import { toolCall } from 'rivulet/testing';
import { serveModel, serveRecording } from 'rivulet/testing/server';
import type { LoopbackServer } from 'rivulet/testing/server';
import { redactFrames } from '../../../lib/observe/recording/redactFrames.js';

const key = 'sk-live-51A/key+that-nobody-sees';
const request = { messages: [userMessage('How warm is it? ☀️')] };
const notifications = (model: Model) => lastValueFrom(model.stream(request).pipe(materialize(), toArray()));

const servers: LoopbackServer[] = [];
const serving = async (promise: Promise<LoopbackServer>) => {
  const server = await promise;
  servers.push(server);
  return server;
};
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

const makers: Readonly<Record<string, (options: ModelOptions) => Model>> = {
  'openai-chat': (options) => openaiChat('gpt-6.1-terra', options),
  anthropic: (options) => anthropic('claude-sonnet-5-5', options),
  google: (options) => google('gemini-3.8-flash', options),
};

describe('recordFetch', () => {
  it.each(Object.keys(makers))(
    'recordFetch records a live stream of %s without its key, and serveRecording replays the same chunks',
    async (provider) => {
      const make = makers[provider]!;
      const script = [
        { type: 'thinking', text: 'Grübeln…' },
        `Your key is ${key}, `,
        'warm ☀️.',
        toolCall('weather', { city: 'Oslo' }),
        toolCall('season'),
      ] as const;
      const live = await serving(serveModel([script], { cut: 11 }));
      const recorder = recordFetch();
      const heard = await notifications(make({ baseUrl: live.urlFor(provider), apiKey: key, fetch: recorder.fetch }));
      const recording = recorder.recording();
      const stored = JSON.stringify(recording);
      expect(JSON.parse(stored)).toEqual(recording);
      expect(stored).not.toContain('sk-live-51A');
      expect(recording.exchanges).toMatchObject([
        { method: 'POST', status: 200, headers: { 'content-type': expect.stringContaining('text/event-stream') } },
      ]);

      const again = await serving(serveRecording(recording));
      const repeated = await notifications(make({ baseUrl: again.urlFor(provider), apiKey: 'none' }));
      const joined = (all: typeof heard) => {
        const chunks = all.flatMap((one) => (one.kind === 'N' ? [one.value] : []));
        const text = chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('');
        return {
          text: text.replaceAll(key, '[key]'),
          others: chunks.filter(({ type }) => type !== 'text'),
          end: all.at(-1)?.kind,
        };
      };
      expect(joined(repeated)).toEqual(joined(heard));
      expect(joined(repeated)).toMatchObject({ text: 'Your key is [key], warm ☀️.', end: 'C' });
    },
  );

  it('recordFetch removes keys in the URL, in the body, and the given secrets', async () => {
    const fetched: typeof fetch = async (_, init) =>
      new Response(`data: {"echo":"${init?.body as string} other-secret"}\n\n`);
    const recorder = recordFetch({ fetch: fetched, secrets: ['other-secret'] });
    await (
      await recorder.fetch('https://x.example/v1?key=AIzaSyVerySecret&alt=sse', {
        method: 'POST',
        body: 'AIzaSyVerySecret',
      })
    ).text();
    expect(recorder.recording().exchanges).toEqual([
      expect.objectContaining({
        url: 'https://x.example/v1?key=[key]&alt=sse',
        body: '[key]',
        frames: ['data: {"echo":"[key] [key]"}\n\n'],
      }),
    ]);
  });

  it('recordFetch removes a key that a model has written over several deltas', async () => {
    const pieces = ['Your key is sk-l', 'ive-51A/ke', 'y+that-nob', 'ody-sees, I think.'];
    const frames = pieces.map(
      (content) => `data: ${JSON.stringify({ id: 'r', choices: [{ delta: { content } }] })}\n\n`,
    );
    const recorder = recordFetch({ fetch: async () => new Response(frames.join('')) });
    await (await recorder.fetch('https://x.example', { headers: { 'private-token': key } })).text();
    const stored = recorder.recording().exchanges[0]?.frames.join('') ?? '';
    const deltas = [...stored.matchAll(/data: (.*)\n/g)].map(
      ([, json]) => (JSON.parse(json ?? '') as { choices: [{ delta: { content: string } }] }).choices[0].delta.content,
    );
    expect(deltas).toEqual(['Your key is [key]', '', '', ', I think.']);
  });

  it('recordFetch removes a key that is not its own, which a model has written over several deltas', async () => {
    const unknown = `sk-live-${'A1b2'.repeat(8)}`;
    const pieces = `Your key is ${unknown}, ok`.match(/.{1,7}/g) ?? [];
    const frames = pieces.map((content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
    const recorder = recordFetch({ fetch: async () => new Response(frames.join('')) });
    await (await recorder.fetch('https://x.example')).text();
    const stored = recorder.recording().exchanges[0]?.frames.join('') ?? '';
    const texts = [...stored.matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text);
    expect(texts.join('')).toBe('Your key is [key], ok');
  });

  it('recordFetch without content writes no bodies, no frames and no query to its sink', async () => {
    const lines: string[] = [];
    const recorder = recordFetch({
      fetch: async () => new Response('data: private'),
      sink: (line) => lines.push(line),
      content: false,
    });
    await (await recorder.fetch('https://x.example/v1?user=private', { method: 'POST', body: 'private' })).text();
    expect(lines.join('')).not.toContain('private');
    expect(readRecording(lines).exchanges).toMatchObject([
      { method: 'POST', url: 'https://x.example/v1', status: 200, frames: ['·············'], end: 'whole' },
    ]);
  });

  it('recordFetch keeps no more of a response than its limit', async () => {
    const frame = 'x'.repeat(100);
    const body = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          for (let index = 0; index < 50; index++) controller.enqueue(new TextEncoder().encode(frame));
          controller.close();
        },
      });
    const recorder = recordFetch({ fetch: async () => new Response(body()), maxLength: 1050 });
    expect(await (await recorder.fetch('https://x.example')).text()).toHaveLength(5000);
    const { frames, dropped, end } = recorder.recording().exchanges[0]!;
    expect({ frames: frames.length, dropped, end }).toEqual({ frames: 10, dropped: 40, end: 'whole' });
  });

  it('recordFetch records error responses, broken connections and cancellations, and serveRecording replays them', async () => {
    const live = await serving(
      serveModel(['Half of it.', 'One two.'], {
        failFirst: { status: 429, retryAfter: 0 },
        forRequest: [{}, { reset: 2 }, { silent: 2 }],
      }),
    );
    const recorder = recordFetch();
    const model = (server: LoopbackServer, options = {}) =>
      openaiChat('gpt-6.1-terra', { baseUrl: server.url, apiKey: 'none', retry: { count: 1 }, ...options });
    const recorded = model(live, { fetch: recorder.fetch });
    const broken = await notifications(recorded);
    await firstValueFrom(
      recorded.stream(request).pipe(
        filter(({ type }) => type === 'text'),
        take(1),
      ),
    );
    const recording = recorder.recording();
    expect(recording.exchanges.map(({ status, end }) => ({ status, end }))).toEqual([
      { status: 429, end: 'whole' },
      { status: 200, end: 'broken' },
      { status: 200, end: 'left' },
    ]);
    const again = await serving(serveRecording(recording));
    const ends = (all: typeof broken) =>
      all.map((one) => (one.kind === 'E' ? (one.error as { code: string }).code : one.kind));
    expect(ends(await notifications(model(again)))).toEqual(ends(broken));
    expect((await notifications(model(again))).at(-1)).toMatchObject({ error: { code: 'stream_interrupted' } });
    expect((await notifications(model(again))).at(-1)).toMatchObject({
      error: { code: 'http', status: 400, message: expect.stringContaining('script') },
    });
  });

  it('recordFetch records the body of a Request, which the server still receives', async () => {
    const received: string[] = [];
    const server: typeof fetch = async (input) => {
      received.push(input instanceof Request ? await input.text() : '');
      return new Response('ok');
    };
    const recorder = recordFetch({ fetch: server });
    await recorder.fetch(new Request('http://x.example', { method: 'POST', body: '{"a":1}' }));
    expect(received).toEqual(['{"a":1}']);
    expect(recorder.recording().exchanges).toMatchObject([{ method: 'POST', body: { a: 1 } }]);
  });

  it('recordFetch rejects if the wrapped fetch does, and records that there was no response', async () => {
    const recorder = recordFetch({ fetch: () => Promise.reject(new TypeError('fetch failed')) });
    await expect(recorder.fetch('http://x.example')).rejects.toThrow('fetch failed');
    expect(recorder.recording().exchanges).toEqual([
      { method: 'GET', url: 'http://x.example', body: '', frames: [], end: 'broken' },
    ]);
  });
});

describe('redactFrames', () => {
  it('redactFrames removes every secret, however the frames are cut, and changes nothing else', () => {
    const text = fc.array(fc.constantFrom('secret-key', 'secret', 'a', '-', 'key ')).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, fc.array(fc.nat(60)), (whole, cuts) => {
        const points = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
        const frames = points.slice(1).map((end, at) => whole.slice(points[at], end));
        const clean = redactFrames(frames, ['secret-key', 'secret']);
        expect(clean).toHaveLength(frames.length);
        expect(clean.join('')).toBe(whole.replace(/secret-key|secret/g, '[key]'));
      }),
    );
  });
});

/** In the response, a text and another one alternate. The field that differs is another in each row. */
const alternating: Readonly<Record<string, (text: string, other: string) => object | readonly object[]>> = {
  'the choices of a frame': (a, b) => ({
    choices: [
      { index: 0, delta: { content: a } },
      { delta: { content: b }, index: 1 },
    ],
  }),
  'choices in a frame each': (a, b) => [
    { choices: [{ index: 0, delta: { content: a } }] },
    { choices: [{ index: 1, delta: { content: b } }] },
  ],
  'the calls of a frame': (a, b) => ({
    choices: [
      {
        index: 0,
        delta: {
          tool_calls: [
            { index: 0, function: { arguments: a } },
            { index: 1, function: { arguments: b } },
          ],
        },
      },
    ],
  }),
  'calls with one index each, in two choices': (a, b) => ({
    choices: [
      { index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: a } }] } },
      { index: 1, delta: { tool_calls: [{ index: 0, function: { arguments: b } }] } },
    ],
  }),
  'a call, and a text with its index': (a, b) => ({
    choices: [{ index: 0, delta: { content: [{ text: a }], reasoning: [{ text: b, index: 0 }] } }],
  }),
  'a choice whose frames have a call or none': (a, b) => [
    {
      choices: [
        { index: 0, delta: { content: a } },
        { index: 1, delta: { content: b } },
      ],
    },
    { choices: [{ index: 0, delta: { content: '', tool_calls: [{ index: 1, function: { name: 'x' } }] } }] },
  ],
  'calls without an index': (a, b) => ({ calls: [{ arguments: a }, { arguments: b }] }),
  'calls with one index and an id': (a, b) => [
    { index: 0, id: 'a', arguments: a },
    { index: 0, id: 'b', arguments: b },
  ],
  'items with an id': (a, b) => [
    { type: 'delta', item_id: 'a', delta: a },
    { delta: b, type: 'delta', item_id: 'b' },
  ],
  'types without an index': (a, b) => [
    { type: 'text', delta: a },
    { type: 'thinking', delta: b },
  ],
  'blocks that begin elsewhere': (a, b) => [
    { contentBlockIndex: 0, delta: { text: a } },
    { contentBlockIndex: 1, start: { text: b } },
  ],
  'texts of a list': (a, b) => ({ delta: { texts: [a, b] } }),
  'fields of one name': (a, b) => ({ answer: { text: a }, thinking: { text: b } }),
};

const framings: Readonly<Record<string, (frames: readonly object[]) => string>> = {
  'server-sent events': (frames) => frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(''),
  lines: (frames) => frames.map((frame) => `${JSON.stringify(frame)}\r\n`).join(''),
  'one list over many lines': (frames) => JSON.stringify(frames, undefined, 2),
  'binary data': (frames) => frames.map((frame) => `\0"{\u0001:event"\ufffd${JSON.stringify(frame)}x"\u0002`).join(''),
  'frames of which one was cut': (frames) =>
    frames
      .map((frame, at) => `data: ${JSON.stringify(frame)}\n\n${at === 0 ? 'data: {"a":[{"b":"c\n\n' : ''}`)
      .join(''),
};

describe('texts that alternate', () => {
  const rows = Object.keys(alternating).flatMap((name) =>
    Object.keys(framings)
      // The place in such a list differs in each frame.
      .filter((framing) => framing !== 'one list over many lines' || !/without|of a list/.test(name))
      .map((framing) => [name, framing] as const),
  );

  it.each(rows)('redactFrames removes a key that is split over %s, as %s', (name, framing) => {
    const secret = 'my own password';
    const framesOf = (texts: readonly string[]) =>
      framings[framing]!(texts.flatMap((text) => alternating[name]!(text, 'q')));
    const clean = redactFrames([framesOf(['a ', ...Array.from(secret), ' z'])], [secret]);
    expect(clean).toEqual([framesOf(['a ', '[key]', ...Array<string>(secret.length - 1).fill(''), ' z'])]);
  });
});

describe('recordFetch with a sink', () => {
  it('recordFetch writes each exchange to the sink when it has ended, without its key, and keeps none', async () => {
    const lines: string[] = [];
    const server = await serving(serveModel(['Hello', 'Bye']));
    const recorder = recordFetch({ sink: (line) => lines.push(line) });
    const model = openaiChat('gpt-6.1-terra', {
      baseUrl: server.urlFor('openai-chat'),
      apiKey: key,
      fetch: recorder.fetch,
    });
    await notifications(model);
    await firstValueFrom(model.stream(request).pipe(filter((chunk) => chunk.type === 'text')));
    const { wire, exchanges } = readRecording(lines);
    expect(recorder.recording().exchanges).toEqual([]);
    expect(exchanges.map(({ end }) => end)).toEqual(['whole', 'left']);
    expect(wire.every(({ after, exchange }) => after.length === exchange.frames.length)).toBe(true);
    expect(lines.join('')).not.toContain(key);
    expect(wire[0]?.at).toBeGreaterThan(1e12);
  });

  it('a recording with lines is served by serveRecording', async () => {
    const lines: string[] = [];
    const server = await serving(serveModel(['Hello']));
    const recorder = recordFetch({ sink: (line) => lines.push(line) });
    const make = (baseUrl: string) => openaiChat('gpt-6.1-terra', { baseUrl, apiKey: key, fetch: recorder.fetch });
    const first = await notifications(make(server.urlFor('openai-chat')));
    const replayed = await serving(serveRecording(readRecording(lines)));
    expect(await notifications(make(replayed.urlFor('openai-chat')))).toEqual(first);
  });
});
