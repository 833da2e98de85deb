import { describe, expect, it } from '@jest/globals';
import { modelMessage, systemMessage, userMessage } from 'rivulet';
import type { Message, Part } from 'rivulet';
import { encodeMessage } from '../../../lib/providers/aiSdk/messages.js';

const encodeMessages = (messages: readonly Message[], provider: string) =>
  messages.flatMap((message) => encodeMessage(message, provider));

describe('encodeMessages', () => {
  it('encodeMessages joins system texts, and omits blank texts, sources and empty messages', () => {
    const system: Message = {
      role: 'system',
      parts: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: ' ' },
        { type: 'text', text: 'Be kind.' },
      ],
    };
    const conversation = [
      system,
      systemMessage(''),
      userMessage(''),
      modelMessage([{ type: 'source', url: 'https://acme.example' }]),
      userMessage('Hi'),
    ];
    expect(encodeMessages(conversation, 'acme.chat')).toEqual([
      { role: 'system', content: 'Be brief.\n\nBe kind.' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    ]);
  });

  it('encodeMessages sends tool results in a message of their own, before the other parts', () => {
    const answer = userMessage([
      { type: 'text', text: 'And?' },
      { type: 'toolResult', id: '1', name: 'f', result: 'A' },
    ]);
    expect(encodeMessages([answer], 'acme.chat')).toEqual([
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: '1', toolName: 'f', output: { type: 'text', value: 'A' } }],
      },
      { role: 'user', content: [{ type: 'text', text: 'And?' }] },
    ]);
  });

  it('encodeMessages sends a tool result with files as content', () => {
    const image = { type: 'file', mediaType: 'image/png', data: 'AQ==', name: 'a.png' };
    const answer = userMessage([{ type: 'toolResult', id: '1', name: 'f', result: ['See:', image] }]);
    expect(encodeMessages([answer], 'acme.chat')).toEqual([
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: '1',
            toolName: 'f',
            output: {
              type: 'content',
              value: [
                { type: 'text', text: 'See:' },
                { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQ==' }, filename: 'a.png' },
              ],
            },
          },
        ],
      },
    ]);
  });

  it('encodeMessages passes on the provider options of parts and messages, over the data of the provider', () => {
    const cached = { anthropic: { cacheControl: { type: 'ephemeral' } } };
    const text: Part = { type: 'text', text: 'Hi', providerOptions: cached };
    const providerOptions = { anthropic: { signature: 's' } };
    const signature: Part = { type: 'provider', provider: 'acme.chat', data: { type: 'text', providerOptions } };
    const messages: readonly Message[] = [
      { role: 'system', parts: [text] },
      { role: 'user', parts: [text], providerOptions: { openai: { a: 1 } } },
      { role: 'model', parts: [text, signature], providerOptions: cached },
      {
        role: 'user',
        parts: [{ type: 'file', mediaType: 'image/png', data: 'AQ==', providerOptions: { openai: { detail: 'low' } } }],
      },
    ];
    expect(encodeMessages(messages, 'acme.chat')).toMatchObject([
      { role: 'system', content: 'Hi', providerOptions: cached },
      { role: 'user', content: [{ text: 'Hi', providerOptions: cached }], providerOptions: { openai: { a: 1 } } },
      {
        role: 'assistant',
        content: [{ providerOptions: { anthropic: { signature: 's', cacheControl: { type: 'ephemeral' } } } }],
        providerOptions: cached,
      },
      { role: 'user', content: [{ type: 'file', providerOptions: { openai: { detail: 'low' } } }] },
    ]);
  });

  it('encodeMessages refuses a relative URL of a file', () => {
    const message = userMessage([{ type: 'file', mediaType: 'image/png', url: '/a.png' }]);
    expect(() => encodeMessages([message], 'acme.chat')).toThrow(/"\/a\.png", is not absolute/);
  });
});
