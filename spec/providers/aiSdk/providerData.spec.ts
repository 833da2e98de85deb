import { describe, expect, it } from '@jest/globals';
import { userMessage } from 'rivulet';
import type { Message } from 'rivulet';
import { acme, chunksOf, finish, question, start } from './acme.js';

describe('provider parts of the AI SDK', () => {
  it('are ignored if they are those of other providers, or have another shape', async () => {
    const { model, asked } = acme([start, finish()]);
    const message: Message = {
      role: 'model',
      parts: [
        { type: 'text', text: 'A' },
        { type: 'provider', provider: 'openai', data: { type: 'text', providerOptions: { openai: { id: 1 } } } },
        { type: 'provider', provider: 'acme.chat', data: { type: 'nonsense' } },
        { type: 'text', text: 'B' },
        { type: 'provider', provider: 'acme.chat', data: { type: 'text', providerOptions: 'x' } },
      ],
    };
    await chunksOf(model, { messages: [...question.messages, message, userMessage('Go on.')] });
    expect(asked[0]?.prompt[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'A' },
        { type: 'text', text: 'B' },
      ],
    });
  });
});
