import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import type { Chunk } from '../../../lib/core/chunk.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { ollama as model } from '../../../lib/providers/ollama/ollama.js';
import { ollama } from '../../../lib/testing/server/dialects/ollama/ollama.js';
import { serveModel } from '../../../lib/testing/server/index.js';

const said = (role: string, rest: JsonObject = {}): JsonObject => ({ role, content: 'a', ...rest });

describe('Ollama dialect of the loopback server', () => {
  it('the writer sends one line per chunk, complete calls without ids, and the counts in the last line', () => {
    const writer = ollama.writer({ turn: 1, path: '/api/chat', body: { model: 'm' } });
    const chunks: Chunk[] = [
      { type: 'thinking', text: 'Hm' },
      { type: 'toolCallFragment', id: 'x', name: 'f', arguments: '{"a":1}' },
      { type: 'text', text: 'Hi' },
      { type: 'finish', reason: 'toolCalls', usage: { input: 5, output: 7 } },
    ];
    const lines = chunks.flatMap((chunk) => writer.next(chunk)).map(({ data }) => JSON.parse(data) as JsonObject);
    expect(lines.map(({ message, done }) => [message, done])).toEqual([
      [{ role: 'assistant', content: '', thinking: 'Hm' }, false],
      [{ role: 'assistant', content: '', tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }] }, false],
      [{ role: 'assistant', content: 'Hi' }, false],
      [{ role: 'assistant', content: '' }, true],
    ]);
    expect(lines.at(-1)).toMatchObject({ done_reason: 'stop', prompt_eval_count: 5, eval_count: 7 });
    expect(writer.error(new Error('boom'))).toEqual([{ data: '{"error":"boom"}' }]);
  });

  it('the writer keeps an argument named `__proto__`', () => {
    const writer = ollama.writer({ turn: 1, path: '/api/chat', body: { model: 'm' } });
    const call: Chunk = { type: 'toolCallFragment', name: 'f', arguments: '{"__proto__":{"a":1}}' };
    const [line] = [call, { type: 'finish', reason: 'toolCalls' } as const].flatMap((chunk) => writer.next(chunk));
    expect(line?.data).toContain('"arguments":{"__proto__":{"a":1}}');
  });

  it('the dialect accepts the efforts that Ollama accepts', () => {
    const refusal = (think: string) => ollama.refusal({ model: 'm', messages: [said('user')], think })?.message;
    for (const think of ['low', 'medium', 'high', 'max']) expect(refusal(think)).toBeUndefined();
    expect(refusal('xhigh')).toMatch(/invalid think value: "xhigh" \(must be "high"/);
  });

  it.each<[string, unknown, string]>([
    ['no object', 'a', 'missing request body'],
    ['no model', { messages: [] }, 'model is required'],
    ['no messages', { model: 'm' }, 'messages'],
    ['another role', { model: 'm', messages: [said('developer')] }, 'invalid role'],
    ['content that is not text', { model: 'm', messages: [said('user', { content: [] })] }, 'content'],
    [
      'an image that is not base64',
      { model: 'm', messages: [said('user', { images: ['data:image/png;base64,aa'] })] },
      'base64',
    ],
    ['an unknown way to think', { model: 'm', messages: [said('user')], think: 'deeply' }, 'invalid think value'],
    ['no stream', { model: 'm', messages: [said('user')], stream: false }, 'only streams'],
  ])('refuses a body with %s', (_, body, why) => {
    expect(ollama.refusal(body)).toMatchObject({ status: 400, message: expect.stringContaining(why) as unknown });
  });

  it('the ollama model reads the lines over HTTP however they are split, also inside a character', async () => {
    const server = await serveModel(() => ['Ærø ', 'und Læsø 🚢'], { cut: 1 });
    try {
      const stream = model('m', { baseUrl: server.url }).stream({ messages: [userMessage('Hi')] });
      const chunks = await lastValueFrom(stream.pipe(toArray()));
      expect(chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('')).toBe('Ærø und Læsø 🚢');
      expect(chunks.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
    } finally {
      await server.close();
    }
  });
});
