import { describe, expect, it } from '@jest/globals';
import { userMessage } from 'rivulet';
import type { Message } from 'rivulet';
import { acme, chunksOf, finish, question, start } from './acme.js';

describe('readProviderData', () => {
  it('readProviderData ignores the data of other providers, and data of another shape', async () => {
    const { model, asked } = acme([start, finish()]);
    const message: Message = {
      role: 'model',
      parts: [
        { type: 'text', text: 'A', providerData: { openai: { metadata: { openai: { id: 1 } } } } },
        {
          type: 'text',
          text: 'B',
          providerData: { 'acme.chat': { metadata: 'x', before: [{ type: 'nonsense' }, 3] } },
        },
      ],
      metadata: { 'acme.chat': 'odd' },
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
