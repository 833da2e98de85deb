import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { lastValueFrom, take } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { traceAgent } from '../../../lib/observe/opentelemetry/index.js';
import { tool } from '../../../lib/core/tool.js';
import { modelByName } from '../../../lib/providers/registry/index.js';
import { toolCall } from '../../../lib/testing/index.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer } from '../../../lib/testing/server/index.js';
import { record, useContextManager } from './recording.js';

// Runs over real HTTP on loopback.
describe('traceAgent over real sockets', () => {
  let server: LoopbackServer;
  let removeContextManager: () => void;
  beforeAll(() => {
    removeContextManager = useContextManager();
  });
  afterAll(() => removeContextManager());
  afterEach(() => server.close());

  const serve = async (...args: Parameters<typeof serveModel>) => (server = await serveModel(...args));
  const tracedAgent = (
    provider: string,
    recorded: ReturnType<typeof record>,
    retry?: { readonly initialDelay: number },
  ) =>
    traceAgent(
      createAgent({
        model: modelByName(provider, { apiKey: 'sk-secret', baseUrl: server.urlFor(provider), retry: retry ?? false }),
        tools: [
          tool({
            name: 'load',
            description: 'Loads.',
            execute: async () => (await Promise.resolve(), 'SECRET-result'),
          }),
        ],
      }),
      recorded.options,
    );

  it.each(['openai-chat', 'anthropic', 'google', 'mistral', 'cohere', 'ollama'])(
    'traceAgent traces a run over the wire of %s, without its key and its content',
    async (provider) => {
      const usage = { input: 10, output: 2 };
      await serve([
        [toolCall('load', { path: 'SECRET-path' }), { type: 'finish', reason: 'toolCalls', usage }],
        ['SECRET-answer', { type: 'finish', reason: 'stop', usage }],
      ]);
      const recorded = record();
      const { text } = await lastValueFrom(tracedAgent(provider, recorded).run('SECRET-prompt'));
      expect(text).toContain('SECRET-answer');
      const [run, ...rest] = recorded.tree();
      const chat = rest[1] ?? '';
      expect([run, ...rest]).toEqual([...['invoke_agent', '  turn', chat, '    execute_tool load', '  turn', chat]]);
      expect(chat).toMatch(/^ {4}chat [^ ]+$/);
      const chats = recorded.ended().filter(({ name }) => name.startsWith('chat'));
      for (const { attributes } of chats) {
        expect(attributes).toMatchObject({
          'gen_ai.response.finish_reasons': [expect.stringMatching(/^(stop|tool_call)$/)],
          'gen_ai.response.time_to_first_chunk': expect.any(Number),
          'gen_ai.usage.output_tokens': 2,
        });
      }
      expect(await recorded.text()).not.toMatch(/sk-secret|SECRET/);
      expect([recorded.open(), recorded.warnings]).toEqual([[], []]);
    },
  );

  it('traceAgent records the retries of a request, its response and its model', async () => {
    await serve(['Hi.'], { failFirst: { status: 503, times: 2 } });
    const recorded = record();
    await lastValueFrom(tracedAgent('openai-chat', recorded, { initialDelay: 1 }).run('Go.'));
    const chat = recorded.ended().find(({ name }) => name.startsWith('chat'));
    expect(chat?.events.map(({ name, attributes }) => [name, attributes?.['rivulet.retry.attempt']])).toEqual([
      ['rivulet.retry', 1],
      ['rivulet.retry', 2],
    ]);
    expect(chat?.attributes).toMatchObject({
      'gen_ai.response.id': expect.any(String),
      'gen_ai.response.model': expect.any(String),
    });
  });

  it('traceAgent sends each request in the context of its span, also when it is sent again', async () => {
    await serve(['Hi.'], { failFirst: { status: 503 } });
    const recorded = record();
    const model = modelByName('openai-chat', {
      apiKey: 'sk-secret',
      baseUrl: server.url,
      retry: { initialDelay: 1 },
      fetch: (...args) => {
        recorded.tracer.startSpan('POST').end();
        return fetch(...args);
      },
    });
    await lastValueFrom(traceAgent(createAgent({ model }), recorded.options).run('Go.'));
    const [run, turn, chat, ...rest] = recorded.tree();
    expect([run, turn, chat?.trim().split(' ')[0], ...rest]).toEqual([
      ...['invoke_agent', '  turn', 'chat', '      POST', '      POST'],
    ]);
  });

  it('traceAgent records a refused request, without the key', async () => {
    await serve(['Hi.'], { apiKey: 'sk-other' });
    const recorded = record();
    await expect(lastValueFrom(tracedAgent('openai-chat', recorded).run('SECRET-prompt'))).rejects.toMatchObject({
      status: 401,
    });
    expect(recorded.tree().map((line) => line.replace(/.*!/, '!'))).toEqual(
      Array(3).fill(expect.stringMatching(/^!\w+$/)),
    );
    expect(await recorded.text()).not.toMatch(/sk-secret|SECRET/);
    expect(recorded.open()).toEqual([]);
  });

  it('traceAgent ends all spans when a response is left', async () => {
    await serve([['a', 'b', 'c']], { silent: 2 });
    const recorded = record();
    await lastValueFrom(tracedAgent('openai-chat', recorded).stream('Go.').pipe(take(1)));
    expect(recorded.tree().map((line) => line.replace(/.*!/, '!'))).toEqual(['!cancelled', '!cancelled', '!cancelled']);
    expect(recorded.open()).toEqual([]);
  });
});
