import { describe, expect, it } from '@jest/globals';
import { filePart, modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { encodeMessages } from '../../../lib/providers/ollama/messages.js';

const encode = (...messages: readonly Message[]) => encodeMessages(messages);
const bytes = (text: string) => new TextEncoder().encode(text);

describe('encodeMessages of ollama', () => {
  it('encodeMessages joins texts and text files, and sends images separately', () => {
    const image = { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0K' } as const;
    const question = userMessage([{ type: 'text', text: 'Look.' }, image, filePart(bytes('a,b'), 'text/csv', 'x.csv')]);
    expect(encode(systemMessage('Be brief.'), question)).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Look.\n\nx.csv:\na,b', images: ['iVBORw0K'] },
    ]);
  });

  it('encodeMessages sends results by name and in order, ids only if Ollama sent them, and no data of other providers', () => {
    const call = (id: string, providerData: NonNullable<Message['metadata']>) =>
      ({ type: 'toolCall', id, name: 'f', arguments: { a: 1 }, providerData }) as const;
    expect(
      encode(
        {
          ...modelMessage([call('1', { ollama: { id: 'x' } }), call('2', { google: { id: 'y' } })]),
          metadata: { google: { thinking: 'no' } },
        },
        userMessage([
          { type: 'toolResult', id: '1', name: 'f', result: 'plain' },
          { type: 'toolResult', id: '2', name: 'f', error: 'no' },
          { type: 'text', text: 'And?' },
        ]),
      ),
    ).toEqual([
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: 'x', function: { name: 'f', arguments: { a: 1 } } },
          { function: { name: 'f', arguments: { a: 1 } } },
        ],
      },
      { role: 'tool', tool_name: 'f', tool_call_id: 'x', content: 'plain' },
      { role: 'tool', tool_name: 'f', content: '{"error":"no"}' },
      { role: 'user', content: 'And?' },
    ]);
  });
});
