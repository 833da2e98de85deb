import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { openaiChat } from '../../../lib/providers/openaiChat.js';
import { openrouter } from '../../../lib/providers/openrouter.js';
import { shortCallId } from '../../../lib/providers/shared/callIds.js';
import { answering } from '../answering.js';

describe('shortCallId', () => {
  it('shortCallId keeps an id of at most 40 characters, and hashes a longer one', () => {
    expect(shortCallId('c'.repeat(40))).toBe('c'.repeat(40));
    const [a, b] = [`${'c'.repeat(60)}a`, `${'c'.repeat(60)}b`];
    expect(shortCallId(a)).toMatch(/^call_[a-zA-Z0-9]{9}$/);
    expect(shortCallId(a)).toBe(shortCallId(a));
    expect(shortCallId(a)).not.toBe(shortCallId(b));
  });

  it.each([
    ['openai-chat', openaiChat],
    ['openrouter', openrouter],
  ])(
    'shortCallId makes the long id of another provider valid for %s, in the call and in its result',
    async (_, model) => {
      const id = `call__thought__${'x'.repeat(80)}`;
      const history: Message[] = [
        userMessage('Name a river.'),
        { role: 'model', parts: [{ type: 'toolCall', id, name: 'f', arguments: {} }] },
        userMessage([{ type: 'toolResult', id, name: 'f', result: 1 }]),
      ];
      const { fetch, requests } = answering({ choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }] });
      await lastValueFrom(model('gpt-5', { apiKey: 'k', fetch }).stream({ messages: history }));
      expect(requests[0]?.body).toMatchObject({
        messages: [
          { role: 'user' },
          { tool_calls: [{ id: shortCallId(id) }] },
          { role: 'tool', tool_call_id: shortCallId(id) },
        ],
      });
      expect(shortCallId(id).length).toBeLessThanOrEqual(40);
    },
  );
});
