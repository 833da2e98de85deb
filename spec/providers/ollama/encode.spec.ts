import { describe, expect, it } from '@jest/globals';
import { filePart, userMessage } from '../../../lib/core/message.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { encodeOllama } from '../../../lib/providers/ollama/encode.js';

const messages = [userMessage('Hi')];
const body = (request: Partial<ModelRequest>) => encodeOllama('qwen3:8b', { messages, ...request }).body;
const tools = [{ name: 'f', description: 'F.', parameters: { type: 'object', properties: {} } }];
const bytes = (text: string) => new TextEncoder().encode(text);

describe('encodeOllama', () => {
  it('encodeOllama sends only what the request has', () => {
    expect(encodeOllama('qwen3:8b', { messages })).toEqual({
      path: '/api/chat',
      body: { model: 'qwen3:8b', messages: [{ role: 'user', content: 'Hi' }], stream: true },
    });
  });

  it('encodeOllama has a field for each setting', () => {
    const output = { type: 'object' };
    expect(
      body({ temperature: 0, topP: 0.9, maxOutputTokens: 10, stopSequences: ['END'], seed: 7, output }),
    ).toMatchObject({
      format: output,
      options: { temperature: 0, top_p: 0.9, num_predict: 10, stop: ['END'], seed: 7 },
    });
  });

  it.each<[ModelRequest['thinking'], unknown]>([
    [true, true],
    [false, false],
    [{}, true],
    [{ effort: 'high' }, 'high'],
    [{ effort: 'minimal' }, 'low'],
    [{ effort: 'max' }, 'max'],
  ])('encodeOllama encodes thinking %j as %j', (thinking, think) => {
    expect(body(thinking === undefined ? {} : { thinking })['think']).toBe(think);
  });

  it('encodeOllama throws for an effort that the API does not have', () => {
    expect(() => body({ thinking: { effort: 'xhigh' } })).toThrow(/ollama has no thinking effort "xhigh"/);
  });

  it('encodeOllama sends the provider options of messages and tools, and throws for those of a part', () => {
    const providerOptions = { ollama: { extra: 1 }, 'openai-chat': { other: 2 } };
    const part = { type: 'text', text: 'Hi', providerOptions } as const;
    expect(
      body({
        messages: [{ ...userMessage('Hi'), providerOptions }],
        tools: tools.map((tool) => ({ ...tool, providerOptions })),
      }),
    ).toMatchObject({
      messages: [{ role: 'user', content: 'Hi', extra: 1 }],
      tools: [{ type: 'function', function: { name: 'f', extra: 1 } }],
    });
    expect(() => body({ messages: [userMessage([part])] })).toThrow(/options of a part.*of the message/);
    expect(() =>
      body({ messages: [userMessage([{ ...part, providerOptions: { 'openai-chat': {} } }])] }),
    ).not.toThrow();
  });

  it('encodeOllama sends the tools, unless the tool choice is none', () => {
    expect(body({ tools, toolChoice: 'auto' })['tools']).toEqual([{ type: 'function', function: tools[0] }]);
    expect(body({ tools, toolChoice: 'none' })).not.toHaveProperty('tools');
  });

  it.each<[string, Partial<ModelRequest>, RegExp]>([
    [
      'a required call',
      { tools, toolChoice: 'required' },
      /cannot be forced to call a tool \(toolChoice: required\).*'auto'/,
    ],
    ['a tool choice by name', { tools, toolChoice: { name: 'f' } }, /toolChoice: f/],
    ['one call at a time', { tools, parallelToolCalls: false }, /cannot disable parallel tool calls/],
    [
      'a budget for thinking',
      { thinking: { budget: 100 } },
      /does not support a budget for thinking \(100 tokens\).*effort/,
    ],
    [
      'an image by URL',
      { messages: [userMessage([filePart(new URL('https://x/y.png'), 'image/png')])] },
      /not accept files by URL.*filePart/,
    ],
    [
      'a PDF',
      { messages: [userMessage([filePart(bytes('%PDF'), 'application/pdf')])] },
      /not accept application\/pdf files.*Pass an image/,
    ],
  ])('encodeOllama throws for %s, with a next step', (_, request, why) => {
    expect(() => body(request)).toThrow(why);
  });
});
