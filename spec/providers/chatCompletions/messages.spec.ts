import { describe, expect, it } from '@jest/globals';
import { filePart, modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { FilePart, Message, Part } from '../../../lib/core/message.js';
import { compatible } from '../../../lib/providers/chatCompletions/compatible.js';
import { decodeChatCompletions } from '../../../lib/providers/chatCompletions/decode.js';
import type { Dialect } from '../../../lib/providers/chatCompletions/dialect.js';
import { encodeMessage } from '../../../lib/providers/chatCompletions/messages.js';

const messagesOf = (messages: readonly Message[], dialect: Partial<Dialect> = {}) =>
  messages.flatMap((message) => encodeMessage(message, { ...compatible, provider: 'server', ...dialect }));
const contentOf = (parts: readonly Part[], dialect: Partial<Dialect> = {}) => messagesOf([userMessage(parts)], dialect);

describe('encodeMessage', () => {
  it('encodeMessage sends a conversation with tools in the order that the API requires', () => {
    expect(
      messagesOf([
        systemMessage('Be brief.'),
        userMessage('Tides?'),
        modelMessage([
          { type: 'text', text: 'Let me ' },
          { type: 'text', text: 'look.' },
          { type: 'toolCall', id: 'a', name: 'tide', arguments: { at: 'Brest' } },
          { type: 'toolCall', id: 'b', name: 'wind', arguments: { _raw: '{"at', _error: 'invalid_json' } },
        ]),
        userMessage([
          { type: 'text', text: 'And hurry.' },
          { type: 'toolResult', id: 'a', name: 'tide', result: { high: '4 am' } },
          { type: 'toolResult', id: 'b', name: 'wind', error: 'invalid arguments' },
        ]),
        modelMessage('At four.'),
      ]),
    ).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Tides?' },
      {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'tide', arguments: '{"at":"Brest"}' } },
          {
            id: 'b',
            type: 'function',
            function: { name: 'wind', arguments: '{"_raw":"{\\"at","_error":"invalid_json"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: '{"high":"4 am"}' },
      { role: 'tool', tool_call_id: 'b', content: '{"error":"invalid arguments"}' },
      { role: 'user', content: 'And hurry.' },
      { role: 'assistant', content: 'At four.' },
    ]);
  });

  it('encodeMessage sends files in tool results only to a server that accepts them', () => {
    const result = ['See:', { type: 'file', mediaType: 'image/png', data: 'AQID' }] as const;
    const parts: readonly Part[] = [{ type: 'toolResult', id: 'a', name: 'chart', result: [...result] }];
    expect(() => contentOf(parts)).toThrow(
      expect.objectContaining({
        subject: 'capability',
        message: expect.stringContaining('image/png files in tool results (tool "chart")') as unknown,
      }),
    );
    expect(contentOf(parts, { resultFiles: true })).toEqual([
      {
        role: 'tool',
        tool_call_id: 'a',
        content: [
          { type: 'text', text: 'See:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AQID' } },
        ],
      },
    ]);
  });

  it('encodeMessage merges the provider options of parts and messages into their encodings', () => {
    const cached = { cache_control: { type: 'ephemeral' } };
    const providerOptions = { server: cached, other: { x: 1 } };
    const text: Part = { type: 'text', text: 'Hi', providerOptions };
    const image: Part = {
      type: 'file',
      mediaType: 'image/png',
      url: 'https://a.example/i.png',
      providerOptions: { server: { image_url: { detail: 'low' } } },
    };
    const content = [{ type: 'text', text: 'Hi', ...cached }];
    const picture = { type: 'image_url', image_url: { url: 'https://a.example/i.png', detail: 'low' } };
    const system: Message = { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }, text] };
    expect(
      messagesOf([
        system,
        userMessage([text]),
        modelMessage([text]),
        { ...userMessage([{ type: 'text', text: 'And?' }, image]), providerOptions: { server: { name: 'ann' } } },
        { ...modelMessage('Yes.'), providerOptions },
      ]),
    ).toEqual([
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }, ...content] },
      { role: 'user', content },
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'text', text: 'And?' }, picture], name: 'ann' },
      { role: 'assistant', content: 'Yes.', ...cached },
    ]);
  });

  it('encodeMessage sends results that are text unchanged, and others as JSON', () => {
    const results = ['plain', '', 3, null, false, [1], { a: 1 }];
    const sent = contentOf(results.map((result) => ({ type: 'toolResult', id: 'a', name: 'f', result })));
    expect(sent).toEqual(
      ['plain', '', '3', 'null', 'false', '[1]', '{"a":1}'].map((content) => ({
        role: 'tool',
        tool_call_id: 'a',
        content,
      })),
    );
  });

  it('encodeMessage sends calls without content as null content, and omits what cannot be sent back', () => {
    expect(
      messagesOf([
        modelMessage([{ type: 'toolCall', id: 'a', name: 'f', arguments: {} }]),
        modelMessage([
          { type: 'source', url: 'https://a.test' },
          { type: 'file', mediaType: 'image/png', data: 'AA==' },
        ]),
        modelMessage([]),
        userMessage([]),
        systemMessage(''),
      ]),
    ).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
    ]);
  });

  it('encodeMessage separates several instructions by an empty line', () => {
    const parts: readonly Part[] = [
      { type: 'text', text: 'Be brief.' },
      { type: 'text', text: 'Be kind.' },
    ];
    expect(messagesOf([{ role: 'system', parts }])).toEqual([{ role: 'system', content: 'Be brief.\n\nBe kind.' }]);
  });

  it('encodeMessage keeps every key of the arguments that decodeChatCompletions read', () => {
    const text = '{"__proto__":{"x":1},"constructor":2,"toString":"s"}';
    const fragments: unknown[] = [];
    const decoder = decodeChatCompletions({ provider: 'server' }, (chunk) => {
      if (chunk.type === 'toolCallFragment') fragments.push(chunk.arguments);
    });
    decoder.next({ choices: [{ delta: { tool_calls: [{ id: 'a', function: { name: 'f', arguments: text } }] } }] });
    const args = JSON.parse(String(fragments[0])) as never;
    const messages = messagesOf([modelMessage([{ type: 'toolCall', id: 'a', name: 'f', arguments: args }])]);
    expect(JSON.parse(JSON.stringify(messages))).toHaveProperty(
      ['0', 'tool_calls', '0', 'function', 'arguments'],
      text,
    );
  });

  it('encodeMessage sends provider data back to its provider only', () => {
    const extra = { google: { thought_signature: 's' } };
    const history = [
      modelMessage([
        { type: 'toolCall', id: 'a', name: 'f', arguments: {}, providerData: { server: { extra_content: extra } } },
        { type: 'provider', provider: 'server', data: { reasoning_content: 'Hm', note: 'ours' } },
        { type: 'provider', provider: 'other', data: { reasoning_details: [] } },
      ]),
    ];
    expect(messagesOf(history)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content: extra }],
        reasoning_content: 'Hm',
      },
    ]);
    expect(JSON.stringify(messagesOf(history, { provider: 'elsewhere' }))).not.toMatch(/Hm|google/);
  });
});

describe('encodeMessage: files', () => {
  const bytes = new TextEncoder().encode('Grüße');
  const base64 = 'R3LDvMOfZQ==';

  it.each<[string, FilePart, object]>([
    [
      'an image',
      filePart(bytes, 'image/png'),
      { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } },
    ],
    [
      'an image by URL',
      filePart(new URL('https://a.test/i.png'), 'image/png'),
      { type: 'image_url', image_url: { url: 'https://a.test/i.png' } },
    ],
    ['a WAV', filePart(bytes, 'audio/x-wav'), { type: 'input_audio', input_audio: { data: base64, format: 'wav' } }],
    ['an MP3', filePart(bytes, 'audio/mpeg'), { type: 'input_audio', input_audio: { data: base64, format: 'mp3' } }],
    [
      'a PDF',
      filePart(bytes, 'application/pdf'),
      { type: 'file', file: { filename: 'file.pdf', file_data: `data:application/pdf;base64,${base64}` } },
    ],
    [
      'a named PDF',
      filePart(bytes, 'application/pdf', 'a.pdf'),
      { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${base64}` } },
    ],
    ['a named text', filePart(bytes, 'text/markdown', 'a.md'), { type: 'text', text: 'a.md:\nGrüße' }],
    ['JSON', filePart(bytes, 'application/json; charset=utf-8'), { type: 'text', text: 'Grüße' }],
    [
      'a data URL',
      filePart(new URL(`data:text/plain;base64,${base64}`), 'text/plain'),
      { type: 'text', text: 'Grüße' },
    ],
  ])('encodeMessage sends %s as its content part', (_, file, part) => {
    const question = { type: 'text', text: 'What is it?' } as const;
    expect(contentOf([question, file])).toEqual([{ role: 'user', content: [question, part] }]);
  });

  it('encodeMessage throws for other files by URL, unless the server accepts them', () => {
    const file = filePart(new URL('https://a.test/a.pdf'), 'application/pdf');
    expect(() => contentOf([file])).toThrow(
      expect.objectContaining({ code: 'configuration', message: expect.stringMatching(/a\.test.*bytes/) }),
    );
    expect(contentOf([file], { fileUrls: true })).toEqual([
      { role: 'user', content: [{ type: 'file', file: { filename: 'file.pdf', file_data: 'https://a.test/a.pdf' } }] },
    ]);
  });

  it('encodeMessage lets the dialect encode a file first', () => {
    const file = filePart(new URL('https://a.test/a.pdf'), 'application/pdf');
    expect(contentOf([file], { file: ({ url }) => ({ type: 'document_url', document_url: url ?? '' }) })).toEqual([
      { role: 'user', content: [{ type: 'document_url', document_url: 'https://a.test/a.pdf' }] },
    ]);
  });

  it('encodeMessage throws for a text that is not base64', () => {
    expect(() => contentOf([{ type: 'file', mediaType: 'text/plain', data: '%%%' }])).toThrow(
      expect.objectContaining({ code: 'configuration' }),
    );
  });
});
