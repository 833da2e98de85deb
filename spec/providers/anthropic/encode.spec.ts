import { describe, expect, it } from '@jest/globals';
import { userMessage } from '../../../lib/core/message.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { encodeAnthropic } from '../../../lib/providers/anthropic/encode.js';

const messages = [userMessage('Name a river.')];
const body = (request: Partial<ModelRequest> = {}, model = 'claude-sonnet-4-5') =>
  encodeAnthropic(model, { messages, ...request }).body;
const add = {
  name: 'add',
  description: 'Adds.',
  parameters: { type: 'object', properties: { a: { type: 'number' } } },
};

describe('encodeAnthropic', () => {
  it('encodeAnthropic sends what the API requires and nothing else', () => {
    expect(encodeAnthropic('claude-sonnet-4-5', { messages })).toEqual({
      path: '/messages',
      headers: { 'anthropic-version': '2023-06-01' },
      body: {
        model: 'claude-sonnet-4-5',
        max_tokens: 64_000,
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Name a river.' }] }],
        stream: true,
      },
    });
  });

  it('encodeAnthropic has a field for each setting, and refuses a seed', () => {
    expect(body({ temperature: 0.5, topP: 0.9, maxOutputTokens: 100, stopSequences: ['END'] })).toMatchObject({
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 100,
      stop_sequences: ['END'],
    });
    expect(() => body({ seed: 1 })).toThrow(/does not support seed/);
  });

  it('encodeAnthropic sends tools and the tool choice', () => {
    const tools = [add];
    expect(body({ tools })).toMatchObject({
      tools: [{ name: 'add', description: 'Adds.', input_schema: add.parameters }],
    });
    expect(body({ tools })).not.toHaveProperty('tool_choice');
    const choice = (request: Partial<ModelRequest>) => body({ tools, ...request })['tool_choice'];
    expect(choice({ toolChoice: 'auto' })).toEqual({ type: 'auto' });
    expect(choice({ toolChoice: 'none', parallelToolCalls: false })).toEqual({ type: 'none' });
    expect(choice({ toolChoice: 'required' })).toEqual({ type: 'any' });
    expect(choice({ toolChoice: { name: 'add' }, parallelToolCalls: false })).toEqual({
      type: 'tool',
      name: 'add',
      disable_parallel_tool_use: true,
    });
    expect(choice({ parallelToolCalls: false })).toEqual({ type: 'auto', disable_parallel_tool_use: true });
    expect(body({ toolChoice: 'required' })).not.toHaveProperty('tool_choice'); // without tools it is refused
    expect(body({ tools: [{ ...add, parameters: {} }] })).toMatchObject({
      tools: [{ input_schema: { type: 'object' } }],
    });
  });

  it('encodeAnthropic sends the output schema and the effort in output_config', () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false };
    expect(body({ output: schema, thinking: { effort: 'high' } }, 'claude-opus-5')['output_config']).toEqual({
      format: { type: 'json_schema', schema },
      effort: 'high',
    });
    expect(body()).not.toHaveProperty('output_config');
  });

  it('encodeAnthropic merges the options of a tool into its definition', () => {
    const providerOptions = {
      anthropic: { strict: true, defer_loading: true, cache_control: { type: 'ephemeral' } },
      'openai-chat': { strict: false },
    };
    expect(body({ tools: [{ ...add, providerOptions }, add] })['tools']).toEqual([
      {
        name: 'add',
        description: 'Adds.',
        input_schema: { ...add.parameters, additionalProperties: false },
        strict: true,
        defer_loading: true,
        cache_control: { type: 'ephemeral' },
      },
      { name: 'add', description: 'Adds.', input_schema: add.parameters },
    ]);
  });
});
