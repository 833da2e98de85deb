import { describe, expect, it } from '@jest/globals';
import { filePart, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { encodeInteraction } from '../../../lib/providers/googleInteractions/encode.js';
import { googleInteractions as dialect } from '../../../lib/testing/server/dialects/googleInteractions/googleInteractions.js';

const messages = [userMessage('Hi')];
const tools = [{ name: 'f', description: 'F.', parameters: { type: 'object', properties: {} } }];
const encode = (request: Partial<ModelRequest>, model = 'gemini-3.8-flash') =>
  encodeInteraction(model, { messages, ...request }).body;
const config = (request: Partial<ModelRequest>, model?: string) => encode(request, model)['generation_config'];

describe('encodeInteraction', () => {
  it('encodeInteraction stores nothing and streams', () => {
    expect(encodeInteraction('gemini-3.8-flash', { messages })).toEqual({
      path: '/interactions',
      body: {
        model: 'gemini-3.8-flash',
        input: [{ type: 'user_input', content: [{ type: 'text', text: 'Hi' }] }],
        store: false,
        stream: true,
      },
    });
  });

  it('encodeInteraction encodes every setting', () => {
    expect(
      config({ temperature: 0.5, topP: 0.9, maxOutputTokens: 10, stopSequences: ['x'], seed: 7, thinking: true }),
    ).toEqual({
      temperature: 0.5,
      top_p: 0.9,
      max_output_tokens: 10,
      stop_sequences: ['x'],
      seed: 7,
      thinking_summaries: 'auto',
    });
  });

  it.each([
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'any'],
    [{ name: 'f' }, { allowed_tools: { mode: 'any', tools: ['f'] } }],
  ] as const)('encodeInteraction encodes the tool choice %j', (toolChoice, expected) => {
    const body = encode({ tools, toolChoice });
    expect(body['tools']).toEqual([{ type: 'function', ...tools[0] }]);
    expect(body['generation_config']).toEqual({ tool_choice: expected });
    expect(dialect.refusal(body)).toBeUndefined();
  });

  it('encodeInteraction requests a typed output', () => {
    const output = { type: 'object', properties: { a: { type: 'number' } } };
    expect(encode({ output })['response_format']).toEqual({
      type: 'text',
      mime_type: 'application/json',
      schema: output,
    });
  });

  it('encodeInteraction encodes thinking as a level, and rejects what the API lacks', () => {
    expect(config({ thinking: { effort: 'low' } })).toEqual({ thinking_level: 'low', thinking_summaries: 'auto' });
    expect(config({ thinking: { effort: 'high' } }, 'gemini-2.5-flash')).toMatchObject({ thinking_level: 'high' });
    expect(config({ thinking: false })).toEqual({ thinking_level: 'minimal', thinking_summaries: 'none' });
    expect(() => config({ thinking: false }, 'gemini-2.5-pro')).toThrow(/always thinks/);
    expect(() => config({ thinking: { effort: 'max' } })).toThrow(/no thinking effort "max"/);
    expect(() => config({ thinking: { effort: 'max' } }, 'gemini-2.5-flash')).toThrow(/no thinking effort "max"/);
    expect(() => config({ thinking: { budget: 100 } })).toThrow(/budget/);
    expect(() => encode({ tools, parallelToolCalls: false })).toThrow(/parallel/);
  });

  it('encodeInteraction encodes files by their media types', () => {
    const parts = [
      filePart(new Uint8Array([1]), 'image/png'),
      { type: 'file', mediaType: 'application/pdf', url: 'https://a.example/b.pdf' },
      { type: 'file', mediaType: 'audio/mp3', data: 'AQ==' },
      { type: 'file', mediaType: 'text/plain', data: 'SGk=' },
    ] as const;
    const body = encode({ messages: [{ role: 'user', parts }] });
    expect(body['input']).toEqual([
      {
        type: 'user_input',
        content: [
          { type: 'image', mime_type: 'image/png', data: 'AQ==' },
          { type: 'document', mime_type: 'application/pdf', uri: 'https://a.example/b.pdf' },
          { type: 'audio', mime_type: 'audio/mp3', data: 'AQ==' },
          { type: 'text', text: 'Hi' },
        ],
      },
    ]);
    expect(dialect.refusal(body)).toBeUndefined();
  });

  it('encodeInteraction accepts the history of another provider, which the server does not refuse', () => {
    const history: readonly Message[] = [
      systemMessage('Be brief.'),
      userMessage('How warm is it?'),
      {
        role: 'model',
        parts: [
          { type: 'text', text: 'Let me look.' },
          {
            type: 'toolCall',
            id: 'toolu_1',
            name: 'f',
            arguments: { a: 1 },
            providerData: { google: { id: 'x', thoughtSignature: 'c2ln' } },
          },
        ],
        metadata: { anthropic: { thinking: 'signed' } },
      },
      { role: 'user', parts: [{ type: 'toolResult', id: 'toolu_1', name: 'f', result: { celsius: 5 } }] },
    ];
    const body = encode({ messages: history, tools });
    expect(body['input']).toEqual([
      { type: 'user_input', content: [{ type: 'text', text: 'How warm is it?' }] },
      { type: 'model_output', content: [{ type: 'text', text: 'Let me look.' }] },
      { type: 'function_call', id: 'toolu_1', name: 'f', arguments: { a: 1 } },
      { type: 'function_result', call_id: 'toolu_1', name: 'f', result: [{ type: 'text', text: '{"celsius":5}' }] },
    ]);
    expect(dialect.refusal(body)).toBeUndefined();
    expect(dialect.history(body)).toMatchObject([
      { role: 'system' },
      { role: 'user' },
      { role: 'model' },
      { role: 'user', parts: [{ type: 'toolResult', id: 'toolu_1', result: { celsius: 5 } }] },
    ]);
  });

  it('encodeInteraction continues a paused response with its token and the same input', () => {
    const paused: Message = {
      role: 'model',
      parts: [
        { type: 'text', text: 'Half' },
        { type: 'provider', provider: 'google-interactions', data: { continuationToken: 't' } },
      ],
    };
    expect(encode({ messages: [...messages, paused] })).toEqual({ ...encode({}), continuation_token: 't' });
  });
});
