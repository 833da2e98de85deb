import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { filePart, userMessage } from '../../../lib/core/message.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { ollama } from '../../../lib/providers/ollama/ollama.js';
import { ollama as dialect } from '../../../lib/testing/server/dialects/ollama/ollama.js';
import { declaredTools, describeProviderContract, runTwoTurns } from '../../support/providerContract.js';
import type { ProviderUnderTest } from '../../support/providerContract.js';

const provider: ProviderUnderTest = {
  name: 'ollama',
  make: (baseUrl, options) => ollama('qwen3:8b', { ...options, baseUrl: `${baseUrl}/api/` }),
  dialect,
  settings: { temperature: 0.5, maxOutputTokens: 500 },
};

describeProviderContract(provider);

describe('ollama in a run with tools', () => {
  it('ollama sends the calls, the thinking and the text before them, and a result by name for each', async () => {
    const { bodies, headers, paths } = await runTwoTurns(provider);
    expect(paths[1]).toBe('/v1/api/chat');
    expect(headers[1]).toMatchObject({ accept: 'application/x-ndjson' });
    expect(bodies[1]).toEqual({
      model: 'qwen3:8b',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How warm is it in Oslo and in Lisbon?' },
        {
          role: 'assistant',
          content: 'Let me look.',
          thinking: 'Two look-ups are needed.',
          tool_calls: [
            { function: { name: 'temperature', arguments: { city: 'Oslo' } } },
            { function: { name: 'season', arguments: {} } },
          ],
        },
        { role: 'tool', tool_name: 'temperature', content: '{"city":"Oslo","celsius":-3}' },
        { role: 'tool', tool_name: 'season', content: '{"error":"no calendar"}' },
      ],
      tools: declaredTools,
      think: true,
      options: { temperature: 0.5, num_predict: 500 },
      stream: true,
    });
  });
});

const messages = [userMessage('Hi')];
const tools = [{ name: 'f', description: 'F.', parameters: { type: 'object', properties: {} } }];

describe('ollama', () => {
  it.each<[string, Partial<ModelRequest>]>([
    ['tools together with a schema', { tools, output: { type: 'object' } }],
    ['a PDF', { messages: [userMessage([filePart(new TextEncoder().encode('%PDF'), 'application/pdf')])] }],
  ])('ollama reports %s as unsupported before it sends a request', async (_, request) => {
    const fetch: typeof globalThis.fetch = () => Promise.reject(new Error('no request was expected'));
    await expect(lastValueFrom(ollama('m', { fetch }).stream({ messages, ...request }))).rejects.toMatchObject({
      subject: 'capability',
    });
  });

  it.each([
    [undefined, 'http://localhost:11434/api/chat'],
    ['http://box:1', 'http://box:1/api/chat'],
    ['http://box:1/api', 'http://box:1/api/chat'],
    ['https://box/proxy/api/', 'https://box/proxy/api/chat'],
    ['https://box/api?team=1', 'https://box/api/chat?team=1'],
  ])('ollama with the base URL %s sends its request to %s, without a key', async (baseUrl, url) => {
    const requests: [string, Headers][] = [];
    const fetch: typeof globalThis.fetch = (input, init) => {
      requests.push([typeof input === 'string' ? input : '', new Headers(init?.headers)]);
      return Promise.resolve(new Response('{"done":true}\n', { headers: { 'content-type': 'application/x-ndjson' } }));
    };
    await lastValueFrom(ollama('m', { fetch, ...(baseUrl === undefined ? {} : { baseUrl }) }).stream({ messages }));
    expect(requests.map(([at]) => at)).toEqual([url]);
    expect(requests[0]?.[1].has('authorization')).toBe(false);
  });
});
