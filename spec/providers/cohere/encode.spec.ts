import { describe, expect, it } from '@jest/globals';
import { userMessage } from '../../../lib/core/message.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { cohere } from '../../../lib/providers/cohere/cohere.js';
import { encodeCohere } from '../../../lib/providers/cohere/encode.js';

const messages = [userMessage('Name a river.')];
const body = (request: Partial<ModelRequest> = {}) => encodeCohere('command-a-03-2025', { messages, ...request }).body;
const add = { name: 'add', description: 'Adds.', parameters: { type: 'object', properties: {} } };
const now = { ...add, name: 'now' };

describe('encodeCohere', () => {
  it('encodeCohere sends only what the request has', () => {
    expect(encodeCohere('command-a-03-2025', { messages })).toEqual({
      path: '/chat',
      body: { model: 'command-a-03-2025', messages: [{ role: 'user', content: 'Name a river.' }], stream: true },
    });
  });

  it('encodeCohere has a field for each setting', () => {
    const output = { type: 'object', properties: {}, required: [] };
    expect(
      body({
        temperature: 0.3,
        topP: 0.5,
        maxOutputTokens: 10,
        stopSequences: ['END'],
        seed: 7,
        output,
        thinking: true,
      }),
    ).toMatchObject({
      temperature: 0.3,
      p: 0.5,
      max_tokens: 10,
      stop_sequences: ['END'],
      seed: 7,
      response_format: { type: 'json_object', json_schema: output },
      thinking: { type: 'enabled' },
    });
    expect(body({ thinking: false })['thinking']).toEqual({ type: 'disabled' });
    expect(body({ thinking: { budget: 300 } })['thinking']).toEqual({ type: 'enabled', token_budget: 300 });
    expect(body({ thinking: { effort: 'high' } })['thinking']).toEqual({ type: 'enabled' });
  });

  it('encodeCohere translates the tool choice, and throws for what the API does not support', () => {
    const tools = [add, now];
    expect(body({ tools, toolChoice: 'auto' })).not.toHaveProperty('tool_choice');
    expect(body({ tools, toolChoice: 'none' })['tool_choice']).toBe('NONE');
    expect(body({ tools, toolChoice: 'required' })['tool_choice']).toBe('REQUIRED');
    expect(body({ tools, toolChoice: { name: 'now' } })).toMatchObject({
      tools: [{ function: { name: 'now' } }],
      tool_choice: 'REQUIRED',
    });
    expect(body({ tools, toolChoice: { name: 'now' } })['tools']).toHaveLength(1);
    expect(() => body({ tools, toolChoice: { name: 'other' } })).toThrow(/"other".*not among the tools/);
    expect(() => body({ tools, parallelToolCalls: false })).toThrow(/cannot disable parallel tool calls/);
  });

  it('encodeCohere throws for a schema together with tools', () => {
    expect(() => body({ tools: [add], output: { type: 'object' } })).toThrow(
      /tools and an output schema in one request/,
    );
    expect(cohere('command-a-03-2025').capabilities).toMatchObject({ typedOutput: true, typedOutputWithTools: false });
  });
});
