import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import type { JsonValue } from '../../../lib/core/json/json.js';
import { filePart, modelMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { cohere } from '../../../lib/providers/cohere/cohere.js';
import { encodeCohere } from '../../../lib/providers/cohere/encode.js';
import { answering } from '../answering.js';

const withId = (id: string) => ({ cohere: { document: { id } } });
const body = (request: ModelRequest) => encodeCohere('command-a-03-2025', request).body;

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
        parts: [
          { type: 'provider', provider: 'cohere', data: { tool_plan: 'I will look.', thinking: 'hm' } },
          { type: 'provider', provider: 'openai-chat', data: { thinking: 'no' } },
          call,
        ],
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

  it('encodeMessages sends the text files of a result as documents, and throws for other files', () => {
    const call = { type: 'toolCall', id: 'a', name: 'f', arguments: {} } as const;
    const encodeResult = (result: JsonValue) =>
      body({ messages: [modelMessage([call]), userMessage([{ type: 'toolResult', id: 'a', name: 'f', result }])] });
    const text = { ...filePart(new TextEncoder().encode('a,b'), 'text/csv', 'x.csv'), providerOptions: withId('d1') };
    expect(encodeResult(['See', text])).toMatchObject({
      messages: [
        {},
        {
          role: 'tool',
          content: [
            { type: 'text', text: 'See' },
            { type: 'document', document: { id: 'd1', data: { title: 'x.csv', text: 'a,b' } } },
          ],
        },
      ],
    });
    expect(() => encodeResult(filePart(new Uint8Array([1]), 'image/png'))).toThrow(
      /cohere does not accept image\/png files in tool results/,
    );
  });

  it('encodeMessages sends the provider options of messages, parts and tools', () => {
    const providerOptions = { cohere: { extra: 1 }, 'openai-chat': { other: 2 } };
    const text = { type: 'text', text: 'Hi', providerOptions } as const;
    const image = { ...filePart(new URL('https://x.y/z.png'), 'image/png') };
    const detail = { cohere: { image_url: { detail: 'low' } } };
    const tools = [{ name: 'f', description: '', parameters: { type: 'object' }, providerOptions }];
    const encoded = body({
      messages: [
        { role: 'system', parts: [text] },
        { ...userMessage([text, { ...image, providerOptions: detail }]), providerOptions },
        modelMessage([text]),
      ],
      tools,
    });
    const encodedText = { type: 'text', text: 'Hi', extra: 1 };
    expect(encoded).toMatchObject({
      messages: [
        { role: 'system', content: [encodedText] },
        {
          role: 'user',
          extra: 1,
          content: [encodedText, { type: 'image_url', image_url: { url: 'https://x.y/z.png', detail: 'low' } }],
        },
        { role: 'assistant', content: [encodedText] },
      ],
      tools: [{ type: 'function', function: { name: 'f', extra: 1 } }],
    });
    expect(JSON.stringify(encoded)).not.toContain('other');
  });

  it('encodeMessages leaves documents to the provider options of the request, which httpModel merges', async () => {
    const { fetch, requests } = answering({ type: 'message-end', delta: { finish_reason: 'COMPLETE' } });
    const documents = [{ id: 'doc1', data: { title: 'Rivers', text: 'The Loire is long.' } }];
    const model = cohere('command-a-03-2025', { apiKey: 'k', fetch });
    await lastValueFrom(model.stream({ messages: [userMessage('?')], providerOptions: { cohere: { documents } } }));
    expect(requests[0]?.body).toMatchObject({ documents });
  });
});
