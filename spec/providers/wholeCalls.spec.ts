import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { tool } from '../../lib/core/tool.js';
import { google } from '../../lib/providers/google/google.js';
import { mistral } from '../../lib/providers/mistral.js';
import { ollama } from '../../lib/providers/ollama/ollama.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { nextTask } from '../support/toolCalls.js';

const sse = (...frames: unknown[]) =>
  frames.map((frame) => `data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`).join('');
const delta = (fields: object, reason: string | null = null) => ({
  choices: [{ index: 0, delta: fields, finish_reason: reason }],
});
const call = (args: string) =>
  delta({ tool_calls: [{ id: 'abcdefghi', index: 0, function: { name: 'look', arguments: args } }] });
const more = (args: string) => delta({ tool_calls: [{ index: 0, function: { arguments: args } }] });
const chat = (...calls: object[]) => sse(...calls, delta({ content: 'I look.' }), delta({}, 'tool_calls'), '[DONE]');
const gemini = (part: object, finish = {}) => ({ candidates: [{ content: { parts: [part] }, ...finish }] });
const message = (fields: object) => JSON.stringify({ message: { role: 'assistant', content: '', ...fields } });

const bodies: Record<string, [create: typeof openaiChat, body: string, type: string, isEager: boolean]> = {
  mistral: [mistral, chat(call('{"a":1}')), 'text/event-stream', true],
  'mistral, in pieces': [mistral, chat(call('{"a":'), more('1}')), 'text/event-stream', false],
  'mistral, after a placeholder': [mistral, chat(call('{}'), more('{"a":1}')), 'text/event-stream', false],
  'openai-chat': [openaiChat, chat(call('{"a":1}')), 'text/event-stream', false],
  google: [
    google,
    sse(
      gemini({ functionCall: { name: 'look', args: { a: 1 } } }),
      gemini({ text: 'I look.' }, { finishReason: 'STOP' }),
    ),
    'text/event-stream',
    true,
  ],
  ollama: [
    ollama,
    [
      message({ tool_calls: [{ function: { name: 'look', arguments: { a: 1 } } }] }),
      message({ content: 'I look.' }),
      '{"done":true,"done_reason":"stop"}',
    ].join('\n'),
    'application/x-ndjson',
    true,
  ],
};

describe('calls that arrive complete', () => {
  it.each(Object.keys(bodies))('%s: an eager tool starts when its call is complete, and once', async (name) => {
    const [create, body, type, isEager] = bodies[name] ?? [openaiChat, '', '', false];
    const lines = body.split(/(?<=\n)/);
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await nextTask(); // each line arrives by itself
        const line = lines.shift();
        if (line === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(line));
      },
    });
    const fetch = async () => new Response(stream, { headers: { 'content-type': type } });
    const received: unknown[] = [];
    const parameters = { type: 'object', properties: { a: { type: 'number' } } } as const;
    const look = tool({ name: 'look', description: 'Looks.', parameters, execute: (args) => received.push(args) });
    const model = create('gemini-3.8-flash', { apiKey: 'k', fetch, retry: false });
    const run = createAgent({ model, tools: [look], eagerTools: true, maxTurns: 1 }).stream('Hi');
    const types = (await lastValueFrom(run.pipe(toArray()))).map((event) => event.type);
    expect(received).toEqual([{ a: 1 }]);
    expect(types.indexOf('toolStart') < types.indexOf('text')).toBe(isEager);
  });
});
