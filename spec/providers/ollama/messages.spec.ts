import { describe, expect, it } from '@jest/globals';
import { filePart, modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { JsonValue } from '../../../lib/core/json/json.js';
import type { Message } from '../../../lib/core/message.js';
import type { ProviderData } from '../../../lib/core/providerPart.js';
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
    const call = (id: string, providerData: ProviderData) =>
      ({ type: 'toolCall', id, name: 'f', arguments: { a: 1 }, providerData }) as const;
    expect(
      encode(
        modelMessage([
          { type: 'provider', provider: 'google', data: { thinking: 'no' } },
          call('1', { ollama: { id: 'x' } }),
          call('2', { google: { id: 'y' } }),
        ]),
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

  it('encodeMessages sends the images and texts of a result, and throws for other files', () => {
    const call = { type: 'toolCall', id: '1', name: 'f', arguments: {} } as const;
    const encodeResult = (result: JsonValue) =>
      encode(modelMessage([call]), userMessage([{ type: 'toolResult', id: '1', name: 'f', result }]))[1];
    const image = filePart(bytes('png'), 'image/png');
    expect(encodeResult(['See', image, filePart(bytes('a,b'), 'text/csv'), { a: 1 }])).toEqual({
      role: 'tool',
      tool_name: 'f',
      content: 'See\n\na,b\n\n{"a":1}',
      images: [image.data],
    });
    for (const file of [filePart(bytes('%'), 'application/pdf'), filePart(new URL('https://x.y/z.png'), 'image/png')])
      expect(() => encodeResult(file)).toThrow(/ollama does not accept .* files in tool results \(tool "f"\)/);
  });
});
