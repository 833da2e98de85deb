import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { encodeGoogle } from '../../../lib/providers/google/encode.js';

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
      providerData: { anthropic: { signature: 'no' }, openai: { id } },
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

  it('encodeContents omits empty texts and sources', () => {
    const conversation = [
      userMessage([{ type: 'text', text: '' }]),
      modelMessage([{ type: 'source', url: 'https://x' }]),
      userMessage('Hi'),
    ];
    expect(contents(conversation)).toEqual([{ role: 'user', parts: [{ text: 'Hi' }] }]);
  });
});
