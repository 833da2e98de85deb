import { describe, expect, it } from '@jest/globals';
import { ReplaySubject, Subject, filter, firstValueFrom } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { RunResult } from '../../lib/core/event.js';
import { userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { usageOfError } from '../../lib/core/usageOfError.js';
import { tool } from '../../lib/core/tool.js';
import { stopResponse } from '../../lib/core/response.js';
import { anthropic } from '../../lib/providers/anthropic/anthropic.js';
import { google } from '../../lib/providers/google/google.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { openaiCompatible } from '../../lib/providers/openaiCompatible.js';
import { serveModel } from '../../lib/testing/server/index.js';
import { acme } from './aiSdk/acme.js';

const encoder = new TextEncoder();

/** A `fetch` whose response begins with these frames, and then stays open until the request is aborted. */
function open(...frames: readonly object[]) {
  const state = { aborted: false };
  const fetch = (_: unknown, init?: RequestInit) => {
    init?.signal?.addEventListener('abort', () => (state.aborted = true));
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const frame of frames) controller.enqueue(encoder.encode(`data: ${JSON.stringify(frame)}\n\n`));
      },
    });
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  };
  return { fetch, state };
}

/** Streams a response, stops it at its first text, and returns the text and the finish. */
async function stopAtText(model: Model, tools = {}) {
  const stop = new Subject<void>();
  const chunks: Chunk[] = [];
  await new Promise<void>((resolve, reject) =>
    stopResponse(model, { messages: [userMessage('Hi')], ...tools }, stop).subscribe({
      next(chunk) {
        chunks.push(chunk);
        if (chunk.type === 'text') queueMicrotask(() => stop.next());
      },
      error: reject,
      complete: resolve,
    }),
  );
  return chunks.filter(({ type }) => type !== 'metadata');
}

const start = { type: 'message_start', message: { id: 'm', model: 'any', usage: { input_tokens: 12 } } };
const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Once' } };
const text: Chunk = { type: 'text', text: 'Once' };

describe('a response that is stopped', () => {
  it.each<[string, readonly object[], (options: object) => Model, object]>([
    ['Anthropic', [start, block, delta], (options) => anthropic('any', options), { input: 12 }],
    [
      'Google',
      [
        {
          candidates: [{ content: { parts: [{ text: 'Once' }] } }],
          usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 1, totalTokenCount: 6 },
        },
      ],
      (options) => google('any', options),
      { input: 5, output: 1, total: 6 },
    ],
    [
      'a server that reports usage with each chunk',
      [
        {
          choices: [{ delta: { content: 'Once' } }],
          usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
        },
      ],
      (options) => openaiChat('any', options),
      { input: 3, output: 1, total: 4 },
    ],
  ])('has the usage that was reported: %s', async (_, frames, create, usage) => {
    const { fetch, state } = open(...frames);
    const chunks = await stopAtText(create({ apiKey: 'any', fetch }));
    expect(chunks).toEqual([text, { type: 'finish', reason: 'stopped', usage }]);
    expect(state.aborted).toBe(true);
  });

  it('has no usage where none was reported', async () => {
    const { fetch } = open({ choices: [{ delta: { content: 'Once' } }] });
    expect(await stopAtText(openaiChat('any', { apiKey: 'any', fetch }))).toEqual([
      text,
      { type: 'finish', reason: 'stopped' },
    ]);
  });

  it('emits the text that was held back because it may begin a tag', async () => {
    const { fetch } = open(
      { choices: [{ delta: { content: '<think>why' } }] },
      { choices: [{ delta: { content: '</think>Once' } }] },
    );
    const model = openaiCompatible({ name: 'local', baseUrl: 'http://local' })('any', { fetch, thinkTags: true });
    expect(await stopAtText(model)).toMatchObject([{ type: 'thinking', text: 'why' }, text, { type: 'finish' }]);
    const held = open({ choices: [{ delta: { content: ' <thi' } }] });
    const stop = new Subject<void>();
    const chunks: Chunk[] = [];
    const tagged = openaiCompatible({ name: 'local', baseUrl: 'http://local' })('any', {
      fetch: held.fetch,
      thinkTags: true,
    });
    stopResponse(tagged, { messages: [userMessage('Hi')] }, stop).subscribe((chunk) => chunks.push(chunk));
    for (let ticks = 0; ticks < 20; ticks++) await Promise.resolve();
    stop.next();
    expect(chunks.slice(-2)).toEqual([
      { type: 'text', text: ' <thi' },
      { type: 'finish', reason: 'stopped' },
    ]);
  });

  it('emits the text that was held back because it may be a tool call', async () => {
    const { fetch } = open({ choices: [{ delta: { content: '<|python_tag|>{"na' } }] });
    const model = openaiCompatible({ name: 'local', baseUrl: 'http://local' })('any', { fetch, textCalls: true });
    const stop = new Subject<void>();
    const chunks: Chunk[] = [];
    const tools = [{ name: 'look', description: '', parameters: { type: 'object' } }];
    stopResponse(model, { messages: [userMessage('Hi')], tools }, stop).subscribe((chunk) => chunks.push(chunk));
    for (let ticks = 0; ticks < 20; ticks++) await Promise.resolve();
    stop.next();
    expect(chunks.slice(-2)).toEqual([
      { type: 'text', text: '<|python_tag|>{"na' },
      { type: 'finish', reason: 'stopped' },
    ]);
  });
});

describe('a response that fails', () => {
  it('records the usage that was reported with its error', async () => {
    const { fetch } = open(start, block, delta, {
      type: 'error',
      error: { type: 'overloaded_error', message: 'Busy' },
    });
    const failing = anthropic('any', { apiKey: 'any', fetch }).stream({ messages: [userMessage('Hi')] });
    const error = await new Promise((resolve) => failing.subscribe({ error: resolve }));
    expect(usageOfError(error)).toEqual({ input: 12 });
  });
});

describe('a run over a real socket that is stopped', () => {
  it('closes its connection, and has a history that the server accepts', async () => {
    const server = await serveModel([['Once upon', { delay: 100_000 }, ' a time'], 'The end.']);
    try {
      const look = tool({ name: 'look', description: '', execute: () => 'nothing' });
      const agent = createAgent({
        model: anthropic('any', { apiKey: 'any', baseUrl: server.urlFor('anthropic') }),
        tools: [look],
      });
      const stop = new Subject<void>();
      const closed = firstValueFrom(server.events.pipe(filter(({ type }) => type === 'closed')));
      const result = await new Promise<RunResult>((resolve) =>
        agent.stream('Hi', { stop }).subscribe((event) => {
          if (event.type === 'text') stop.next();
          if (event.type === 'result') resolve(event.result);
        }),
      );
      await closed;
      expect(result.finishReason).toBe('stopped');
      const next = await firstValueFrom(agent.run('Go on', { history: [userMessage('Hi'), ...result.messages] }));
      expect(next.text).toBe('The end.');
    } finally {
      await server.close();
    }
  });

  it('of the AI SDK is aborted, with the source that it holds until the end of a text', async () => {
    const { model, asked, seen } = acme(
      [
        { type: 'text-start', id: 't' },
        { type: 'source', sourceType: 'url', id: 's', url: 'https://example.org' },
        { type: 'text-delta', id: 't', delta: 'Once' },
      ],
      'hang',
    );
    const chunks = await stopAtText(model);
    expect(chunks).toMatchObject([
      text,
      { type: 'source', source: { url: 'https://example.org' } },
      { type: 'finish', reason: 'stopped' },
    ]);
    expect([asked[0]?.abortSignal?.aborted, seen.cancelled]).toEqual([true, true]);
  });

  it.each([false, true])(
    'of the AI SDK sends no request if it was stopped before, and none after it (%s)',
    async (late) => {
      const down = acme([], new Error('down'), { retry: { count: 1, initialDelay: 10_000, jitter: 0 } });
      const stop = new ReplaySubject<void>(1);
      if (!late) stop.next();
      const chunks: Chunk[] = [];
      const running = down.model
        .stream({ messages: [userMessage('Hi')], stop })
        .subscribe((chunk) => chunks.push(chunk));
      for (let ticks = 0; late && chunks.length === 0 && ticks < 1000; ticks++) await Promise.resolve();
      if (late) stop.next();
      expect(chunks.map(({ type }) => type)).toEqual(late ? ['retry', 'finish'] : ['finish']);
      expect([running.closed, down.asked.length]).toEqual([true, late ? 1 : 0]);
    },
  );
});
