import { describe, expect, it } from '@jest/globals';
import { systemMessage } from '../../../lib/core/message.js';
import { body, hello, user } from './conversation.js';

describe('encodeResponses', () => {
  it('encodeResponses sends nothing that is not set', () => {
    expect(body({})).toEqual({ model: 'gpt-4o', input: [user('Hello')], store: true, stream: true });
  });

  it('encodeResponses has a field for each setting', () => {
    expect(body({ temperature: 0.5, topP: 0.9, maxOutputTokens: 100, stopSequences: [] }, 'gpt-4o', false)).toEqual({
      ...{
        model: 'gpt-4o',
        input: [user('Hello')],
        temperature: 0.5,
        top_p: 0.9,
        max_output_tokens: 100,
        store: false,
        stream: true,
      },
    });
  });

  it('encodeResponses sends the system prompt as instructions, not as an item', () => {
    expect(body({ messages: [systemMessage('Be brief.'), systemMessage('Be kind.'), hello] })).toMatchObject({
      instructions: 'Be brief.\n\nBe kind.',
      input: [user('Hello')],
    });
  });

  it('encodeResponses sends tools, strict where their schema is', () => {
    const strict = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    const loose = { type: 'object', properties: { a: { type: 'string' } } };
    const tools = [strict, loose].map((parameters, at) => ({ name: `t${at}`, description: 'd', parameters }));
    expect(body({ tools, toolChoice: { name: 't0' }, parallelToolCalls: false })).toMatchObject({
      tools: [
        { type: 'function', name: 't0', description: 'd', parameters: strict, strict: true },
        { type: 'function', name: 't1', description: 'd', parameters: loose, strict: false },
      ],
      tool_choice: { type: 'function', name: 't0' },
      parallel_tool_calls: false,
    });
    expect(body({ tools, toolChoice: 'required' })['tool_choice']).toBe('required');
    expect(body({ toolChoice: 'required', parallelToolCalls: true })).toEqual(body({}));
  });

  it('encodeResponses merges the provider options of a tool into its definition', () => {
    const parameters = { type: 'object', properties: { a: { type: 'string' } } };
    const providerOptions = { openai: { strict: true, defer_loading: true }, other: { x: 1 } };
    expect(body({ tools: [{ name: 't', description: 'd', parameters, providerOptions }] })['tools']).toEqual([
      { type: 'function', name: 't', description: 'd', parameters, strict: true, defer_loading: true },
    ]);
  });

  it('encodeResponses sends the output schema in text.format', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    expect(body({ output: schema })['text']).toEqual({
      format: { type: 'json_schema', name: 'output', strict: true, schema },
    });
  });

  it('encodeResponses requests a summary with thinking, and encrypted reasoning only of models that reason', () => {
    expect(body({ thinking: true }, 'gpt-5')).toMatchObject({
      reasoning: { summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    });
    expect(body({ thinking: { effort: 'low' } }, 'gpt-5')['reasoning']).toEqual({ effort: 'low', summary: 'auto' });
    expect(body({ thinking: { effort: 'low', budget: 5 } }, 'gpt-5')['reasoning']).toEqual({
      effort: 'low',
      summary: 'auto',
    });
    expect(() => body({ thinking: { effort: 'max' } }, 'gpt-5')).toThrow(/gpt-5 has no thinking effort "max"/);
    expect(body({ thinking: { effort: 'max' } }, 'gpt-5.6-sol')['reasoning']).toEqual({
      effort: 'max',
      summary: 'auto',
    });
    expect(body({ thinking: { effort: 'max' } }, 'a-deployment')['reasoning']).toMatchObject({ effort: 'max' });
    expect(body({ thinking: false }, 'gpt-5.1')['reasoning']).toEqual({ effort: 'none' });
    expect(body({ thinking: true }, 'a-deployment')).toHaveProperty('include');
    expect(body({}, 'a-deployment')).not.toHaveProperty('include');
    expect(body({}, 'gpt-4o')).not.toHaveProperty('include');
  });
});
