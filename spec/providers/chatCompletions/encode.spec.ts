import { describe, expect, it } from '@jest/globals';
import { userMessage } from '../../../lib/core/message.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import type { Dialect } from '../../../lib/providers/chatCompletions/dialect.js';
import { encodeChatCompletions } from '../../../lib/providers/chatCompletions/encode.js';

const encode = (request: Partial<ModelRequest>, dialect: Partial<Dialect> = {}) =>
  encodeChatCompletions('m', { messages: [userMessage('Hi')], ...request }, { provider: 'server', ...dialect });
const tool = { name: 'f', description: 'Does f.', parameters: { type: 'object', properties: {} } };
const streamed = { stream: true, stream_options: { include_usage: true } };

describe('encodeChatCompletions', () => {
  it('encodeChatCompletions sends only what the request has', () => {
    expect(encode({})).toEqual({
      path: '/chat/completions',
      body: { model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...streamed },
    });
  });

  it('encodeChatCompletions has a field for each setting', () => {
    expect(
      encode({
        tools: [tool],
        toolChoice: 'required',
        parallelToolCalls: false,
        temperature: 0,
        topP: 0.5,
        maxOutputTokens: 100,
        stopSequences: ['END'],
        seed: 7,
        thinking: { effort: 'low', budget: 1000 },
        output: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false },
      }).body,
    ).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ type: 'function', function: tool }],
      tool_choice: 'required',
      parallel_tool_calls: false,
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'output',
          strict: true,
          schema: {
            type: 'object',
            properties: { a: { type: 'string' } },
            required: ['a'],
            additionalProperties: false,
          },
        },
      },
      temperature: 0,
      top_p: 0.5,
      max_tokens: 100,
      stop: ['END'],
      seed: 7,
      reasoning_effort: 'low',
      ...streamed,
    });
  });

  it('encodeChatCompletions forces a tool by name, and omits all tool settings without tools', () => {
    expect(encode({ tools: [tool], toolChoice: { name: 'f' } }).body['tool_choice']).toEqual({
      type: 'function',
      function: { name: 'f' },
    });
    expect(
      Object.keys(encode({ tools: [], toolChoice: 'auto', parallelToolCalls: true, stopSequences: [] }).body),
    ).toEqual(['model', 'messages', 'stream', 'stream_options']);
  });

  it('encodeChatCompletions merges the provider options of a tool into its function, and cache_control into the tool', () => {
    const cached = { cache_control: { type: 'ephemeral' } };
    const providerOptions = { server: { strict: true, ...cached }, other: { x: 1 } };
    expect(encode({ tools: [{ ...tool, providerOptions }] }).body['tools']).toEqual([
      { type: 'function', function: { ...tool, strict: true }, ...cached },
    ]);
  });

  it('encodeChatCompletions makes a schema strict where possible, and requests strict output only then', () => {
    const optional = { type: 'object', properties: { a: { type: 'string' } } };
    expect(encode({ output: optional }).body['response_format']).toMatchObject({
      json_schema: { strict: true, schema: { required: ['a'], additionalProperties: false } },
    });
    const loose = { type: 'object', properties: {}, additionalProperties: { type: 'string' } };
    expect(encode({ output: loose }).body['response_format']).toEqual({
      type: 'json_schema',
      json_schema: { name: 'output', schema: loose },
    });
  });

  it('encodeChatCompletions leaves thinking to the model, switches it off, or throws for a budget', () => {
    expect(encode({ thinking: true }).body).not.toHaveProperty('reasoning_effort');
    expect(encode({ thinking: {} }).body).not.toHaveProperty('reasoning_effort');
    expect(encode({ thinking: false }).body['reasoning_effort']).toBe('none');
    expect(() => encode({ thinking: { budget: 1000 } })).toThrow(
      expect.objectContaining({ code: 'configuration', message: expect.stringMatching(/1000 tokens.*effort/) }),
    );
  });

  it('encodeChatCompletions applies the dialect', () => {
    const { path, body } = encode(
      { maxOutputTokens: 5, seed: 1, thinking: { budget: 9 } },
      {
        path: '/v2/chat',
        maxTokens: 'max_completion_tokens',
        streamUsage: false,
        thinking: (thinking) => ({
          reasoning: typeof thinking === 'object' ? { max_tokens: thinking.budget ?? 0 } : {},
        }),
        body: ({ seed, ...rest }) => ({ ...rest, random_seed: seed ?? null }),
      },
    );
    expect(path).toBe('/v2/chat');
    expect(body).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
      max_completion_tokens: 5,
      reasoning: { max_tokens: 9 },
      stream: true,
      random_seed: 1,
    });
  });
});
