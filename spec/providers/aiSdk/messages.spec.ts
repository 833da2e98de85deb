import { describe, expect, it } from '@jest/globals';
import { modelMessage, systemMessage, userMessage } from 'rivulet';
import type { Message } from 'rivulet';
import { encodeMessages } from '../../../lib/providers/aiSdk/messages.js';

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

  it('encodeMessages refuses a relative URL of a file', () => {
    const message = userMessage([{ type: 'file', mediaType: 'image/png', url: '/a.png' }]);
    expect(() => encodeMessages([message], 'acme.chat')).toThrow(/"\/a\.png", is not absolute/);
  });
});
