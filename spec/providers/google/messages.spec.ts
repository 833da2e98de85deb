import { describe, expect, it } from '@jest/globals';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { encodeGoogle } from '../../../lib/providers/google/encode.js';
import { acceptsInResult } from '../../../lib/providers/google/messages.js';

const body = (messages: readonly Message[], model = 'gemini-2.5-flash') => encodeGoogle(model, { messages }).body;
const contents = (messages: readonly Message[], model?: string) => body(messages, model)['contents'];

describe('encodeContents', () => {
  it('encodeContents sends files as bytes or by URL, and encodeInstructions the system messages', () => {
    const file = { type: 'file', mediaType: 'application/pdf' } as const;
    const conversation = [
      systemMessage('Be brief.'),
      userMessage([
        { type: 'text', text: 'Read.' },
        { ...file, data: 'JVBERi0=' },
        { ...file, url: 'https://x/y.pdf' },
        { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0K' },
      ]),
    ];
    expect(body(conversation)).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        {
          role: 'user',
          parts: [
            { text: 'Read.' },
            { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } },
            { fileData: { mimeType: 'application/pdf', fileUri: 'https://x/y.pdf' } },
            { inlineData: { mimeType: 'image/png', data: 'iVBORw0K' } },
          ],
        },
      ],
    });
  });

  const foreign = (id: string, name = 'f') =>
    ({
      type: 'toolCall',
      id,
      name,
      arguments: { a: 1 },
      providerData: { anthropic: { signature: 'no' }, 'openai-chat': { id } },
    }) as const;
  const result = (id: string, name = 'f') => ({ type: 'toolResult', id, name, result: [1] }) as const;

  it('encodeContents sends results in the order of the calls, in a content of their own', () => {
    const conversation = [
      userMessage('Go'),
      modelMessage([{ type: 'source', url: 'https://x' }, foreign('c1'), foreign('c2', 'g')]),
      userMessage([
        { type: 'toolResult', id: 'c2', name: 'g', error: 'no' },
        result('c1'),
        { type: 'text', text: 'And?' },
      ]),
    ];
    expect(contents(conversation)).toEqual([
      { role: 'user', parts: [{ text: 'Go' }] },
      {
        role: 'model',
        parts: [{ functionCall: { name: 'f', args: { a: 1 } } }, { functionCall: { name: 'g', args: { a: 1 } } }],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'f', response: { result: [1] } } },
          { functionResponse: { name: 'g', response: { error: 'no' } } },
        ],
      },
      { role: 'user', parts: [{ text: 'And?' }] },
    ]);
  });

  it('encodeContents sends Gemini 3 the documented placeholder for missing signatures of the current turn', () => {
    const turn = (id: string) => [
      modelMessage([foreign(id), foreign(`${id}b`)]),
      userMessage([result(id), result(`${id}b`)]),
    ];
    const conversation = [
      userMessage('One'),
      ...turn('a'),
      modelMessage('Done.'),
      userMessage('Two'),
      ...turn('b'),
      ...turn('c'),
    ];
    const signatures = (model: string) =>
      (contents(conversation, model) as readonly { readonly role: string; readonly parts: readonly JsonObject[] }[])
        .filter(({ parts }) => parts.some((part) => part['functionCall']))
        .map(({ parts }) => parts.map((part) => part['thoughtSignature']));
    const placeholder = ['skip_thought_signature_validator', undefined];
    expect(signatures('gemini-3-pro-preview')).toEqual([[undefined, undefined], placeholder, placeholder]);
    expect(signatures('gemini-2.5-pro')).toEqual([1, 2, 3].map(() => [undefined, undefined]));
  });

  it('encodeContents encodes each message once, and results again after other calls', () => {
    const named = (id: string) => modelMessage([{ ...foreign('c1'), providerData: { google: { id } } }]);
    const [question, call, results, end] = [
      userMessage('Go'),
      named('a'),
      userMessage([result('c1')]),
      modelMessage('!'),
    ];
    const encode = (...messages: Message[]) => contents(messages) as readonly JsonObject[];
    const first = encode(question, call, results);
    const second = encode(question, call, results, end);
    first.forEach((content, index) => expect(second[index]).toBe(content));
    for (const id of ['a', 'b', 'a'])
      expect(encode(question, named(id), results)[2]).toMatchObject({ parts: [{ functionResponse: { id } }] });
  });

  it('encodeContents omits empty texts and sources', () => {
    const conversation = [
      userMessage([{ type: 'text', text: '' }]),
      modelMessage([{ type: 'source', url: 'https://x' }]),
      userMessage('Hi'),
    ];
    expect(contents(conversation)).toEqual([{ role: 'user', parts: [{ text: 'Hi' }] }]);
  });

  const called: Message = modelMessage([{ type: 'toolCall', id: 'a', name: 'look', arguments: {} }]);
  const answered = (result: JsonValue) => [
    userMessage('Look.'),
    called,
    userMessage([{ type: 'toolResult', id: 'a', name: 'look', result }]),
  ];
  const responseTo = (result: JsonValue, model = 'gemini-3.8-flash') => {
    const [, , last] = contents(answered(result), model) as readonly { readonly parts: readonly JsonObject[] }[];
    return last?.parts[0]?.['functionResponse'];
  };
  const image = { type: 'file', mediaType: 'image/png', data: 'AAAA' };

  it('encodeContents sends the files of a result as parts of the response', () => {
    const parts = [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }];
    expect(responseTo(image)).toEqual({ name: 'look', response: {}, parts });
    expect(
      responseTo(['A chart.', image, { type: 'file', mediaType: 'application/pdf', url: 'https://x/a.pdf' }]),
    ).toEqual({
      name: 'look',
      response: { result: 'A chart.' },
      parts: [...parts, { fileData: { mimeType: 'application/pdf', fileUri: 'https://x/a.pdf' } }],
    });
    expect(responseTo([1, 2])).toEqual({ name: 'look', response: { result: [1, 2] } });
  });

  it.each([
    ['gemini-2.5-flash', 'image/png', false],
    ['gemini-3.8-flash', 'image/png', true],
    ['gemini-flash-latest', 'IMAGE/PNG', true],
    ['gemini-3.8-flash', 'audio/wav', false],
  ])('acceptsInResult says for %s and a file of the type %s: %s', (model, mediaType, accepted) => {
    expect(acceptsInResult(model, { type: 'file', mediaType, data: 'AAAA' })).toBe(accepted);
  });

  it('encodeContents merges the options of a part, and those of a message into its last part', () => {
    const resolution = {
      google: { mediaResolution: { level: 'MEDIA_RESOLUTION_HIGH' } },
      'openai-chat': { detail: 'low' },
    };
    const metadata = { google: { partMetadata: { page: 1 } } };
    const file = { type: 'file', mediaType: 'image/png', data: 'AAAA', providerOptions: resolution } as const;
    const system: Message = { ...systemMessage('Be brief.'), providerOptions: metadata };
    const user: Message = { ...userMessage([file, { type: 'text', text: 'What is it?' }]), providerOptions: metadata };
    expect(body([system, user])).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.', partMetadata: { page: 1 } }] },
      contents: [
        {
          role: 'user',
          parts: [
            {
              inlineData: { mimeType: 'image/png', data: 'AAAA' },
              mediaResolution: { level: 'MEDIA_RESOLUTION_HIGH' },
            },
            { text: 'What is it?', partMetadata: { page: 1 } },
          ],
        },
      ],
    });
  });
});
