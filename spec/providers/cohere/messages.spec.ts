import { describe, expect, it } from '@jest/globals';
import { modelMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import type { Request } from '../../../lib/core/model.js';
import { encodeCohere } from '../../../lib/providers/cohere/encode.js';

const body = (request: Request) => encodeCohere('command-a-03-2025', request).body;

describe('encodeMessages of cohere', () => {
  it('encodeMessages accepts images and texts, and throws for other files', () => {
    const parts = (mediaType: string, data: string) => [
      userMessage([
        { type: 'text', text: 'What?' },
        { type: 'file', mediaType, data },
      ]),
    ];
    expect(body({ messages: parts('image/png', 'AAAA') })['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        ],
      },
    ]);
    expect(body({ messages: parts('text/plain', btoa('hi')) })).toMatchObject({
      messages: [{ content: [{}, { type: 'text', text: 'hi' }] }],
    });
    expect(() => body({ messages: parts('application/pdf', 'AAAA') })).toThrow(
      /application\/pdf.*text of the document/,
    );
  });

  it('encodeMessages sends the plan and the thinking back with the calls, but no thinking where thinking is off', () => {
    const call = { type: 'toolCall', id: 'a', name: 'now', arguments: {} } as const;
    const history: Message[] = [
      {
        role: 'model',
        parts: [call],
        metadata: { cohere: { tool_plan: 'I will look.', thinking: 'hm' }, openai: { x: 1 } },
      },
      userMessage([{ type: 'toolResult', id: 'a', name: 'now', result: '' }]),
      modelMessage('It is six.'),
    ];
    const calls = {
      role: 'assistant',
      tool_plan: 'I will look.',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'now', arguments: '{}' } }],
    };
    expect(body({ messages: history })['messages']).toEqual([
      { ...calls, content: [{ type: 'thinking', thinking: 'hm' }] },
      { role: 'tool', tool_call_id: 'a', content: '""' },
      { role: 'assistant', content: 'It is six.' },
    ]);
    expect(body({ messages: history, thinking: false })).toMatchObject({ messages: [calls, {}, {}] });
    expect(JSON.stringify(body({ messages: history, thinking: false }))).not.toContain('hm');
  });
});
