import { describe, expect, it } from '@jest/globals';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { filePart, modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { FilePart, Message } from '../../../lib/core/message.js';
import { encodeMessages } from '../../../lib/providers/anthropic/messages.js';

const sent = (...history: readonly Message[]) => encodeMessages(history).messages;

describe('encodeMessages', () => {
  it('encodeMessages separates the system prompt and omits blank texts', () => {
    const request = encodeMessages([
      systemMessage('Be brief.'),
      systemMessage('Be kind.'),
      userMessage([
        { type: 'text', text: ' ' },
        { type: 'text', text: 'Hi' },
      ]),
      modelMessage(''),
    ]);
    expect(request.system).toBe('Be brief.\n\nBe kind.');
    expect(request.messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }]);
  });

  it('encodeMessages puts results first and marks errors', () => {
    const history: Message[] = [
      modelMessage([
        { type: 'toolCall', id: 'a', name: 'x', arguments: {} },
        { type: 'toolCall', id: 'b', name: 'y', arguments: {} },
      ]),
      userMessage([
        { type: 'text', text: 'And?' },
        { type: 'toolResult', id: 'a', name: 'x', result: 'plain' },
        { type: 'toolResult', id: 'b', name: 'y', error: 'broken' },
      ]),
    ];
    expect(sent(...history)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'x', input: {} },
          { type: 'tool_use', id: 'b', name: 'y', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'plain' },
          { type: 'tool_result', tool_use_id: 'b', content: 'broken', is_error: true },
          { type: 'text', text: 'And?' },
        ],
      },
    ]);
  });

  it('encodeMessages fills in an empty error, which the API requires', () => {
    const results = ['', '  '].map((error, at) => ({ type: 'toolResult' as const, id: `c${at}`, name: 'x', error }));
    const blank = { type: 'tool_result', content: 'The tool failed.', is_error: true };
    expect(sent(userMessage(results))).toEqual([
      {
        role: 'user',
        content: [
          { ...blank, tool_use_id: 'c0' },
          { ...blank, tool_use_id: 'c1' },
        ],
      },
    ]);
  });

  it('encodeMessages sends valid ids for the calls of another provider, and none of its data', () => {
    const foreign = { 'openai-chat': { reasoning_content: 'x' }, google: { thoughtSignature: 's' } };
    const ids = ['call.1', 'call_1', 'call 1', ''];
    const history: Message[] = [
      {
        role: 'model',
        parts: [
          { type: 'text', text: 'Look.' },
          { type: 'provider', provider: 'google', data: foreign },
          ...ids.map((id) => ({ type: 'toolCall', id, name: 'x', arguments: {}, providerData: foreign }) as const),
        ],
      },
      userMessage(ids.map((id) => ({ type: 'toolResult', id, name: 'x', result: 1 }))),
    ];
    const [model, user] = sent(...history) as readonly { readonly content: readonly JsonObject[] }[];
    const valid = ['call_1_qg1nbep8l', 'call_1', 'call_1_gcnwvwn9s', 'call_000000000'];
    expect(model?.content).toEqual([
      { type: 'text', text: 'Look.' },
      ...valid.map((id) => ({ type: 'tool_use', id, name: 'x', input: {} })),
    ]);
    expect(user?.content).toEqual(valid.map((id) => ({ type: 'tool_result', tool_use_id: id, content: '1' })));
  });

  it('encodeMessages encodes a message once, also if an id of its conversation is replaced', () => {
    const round = (id: string): readonly Message[] => [
      modelMessage([{ type: 'toolCall', id, name: 'x', arguments: {} }]),
      userMessage([{ type: 'toolResult', id, name: 'x', result: 'done' }]),
    ];
    const [first, second, other] = [round('a'), round('b'), round('b!')];
    const once = sent(...first, ...second);
    const again = sent(...first, ...second);
    expect(again.map((message, index) => message === once[index])).toEqual(Array(once.length).fill(true));
    const replaced = sent(...first, ...other);
    expect(sent(...first, ...other).map((message, index) => message === replaced[index])).toEqual(
      Array(once.length).fill(true),
    );
    expect(replaced.slice(0, first.length)).toEqual(once.slice(0, first.length));
  });

  it('encodeMessages trims the end of a last message of the model', () => {
    expect(sent(userMessage('Hi'), modelMessage('The answer is \n'))).toMatchObject([
      {},
      { content: [{ text: 'The answer is' }] },
    ]);
  });

  it('encodeMessages sends images and documents as bytes or by URL', () => {
    const file = (part: Omit<FilePart, 'type'>): FilePart => ({ type: 'file', ...part }) as FilePart;
    const content = (part: Omit<FilePart, 'type'>) => sent(userMessage([file(part)]))[0]?.['content'];
    expect(content({ mediaType: 'image/png', data: 'AAAA' })).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    ]);
    expect(content({ mediaType: 'image/*', url: 'https://x.example/a.png' })).toEqual([
      { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
    ]);
    expect(content({ mediaType: 'image/png', url: 'data:image/png;base64,AAAA' })).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    ]);
    const cite = { anthropic: { citations: { enabled: true } } };
    expect(content({ mediaType: 'application/pdf', data: 'AAAA', name: 'a.pdf', providerData: cite })).toEqual([
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
        title: 'a.pdf',
        citations: { enabled: true },
      },
    ]);
    expect(content({ mediaType: 'application/pdf', url: 'https://x.example/a.pdf' })).toEqual([
      { type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' } },
    ]);
    expect(content({ mediaType: 'text/csv', data: btoa('a,b') })).toEqual([
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' } },
    ]);
    expect(() => content({ mediaType: 'audio/wav', data: 'AAAA' })).toThrow(/does not accept files of type audio\/wav/);
    expect(() => content({ mediaType: 'image/tiff', data: 'AAAA' })).toThrow(/image\/tiff/);
    expect(() => content({ mediaType: 'text/csv', url: 'https://x.example/a.csv' })).toThrow(/Fetch the file/);
  });

  it('encodeMessages sends the files of a tool result as image and document blocks', () => {
    const image = filePart(new Uint8Array([1, 2, 3]), 'image/png');
    const pdf = filePart(new URL('https://x.example/a.pdf'), 'application/pdf', 'a.pdf');
    const content = (result: JsonValue) =>
      sent(userMessage([{ type: 'toolResult', id: 'a', name: 'look', result }]))[0]?.['content'];
    const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AQID' } };
    expect(content({ ...image })).toEqual([{ type: 'tool_result', tool_use_id: 'a', content: [png] }]);
    expect(content(['Two files:', { ...image }, { ...pdf }, { pages: 3 }, ''])).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 'a',
        content: [
          { type: 'text', text: 'Two files:' },
          png,
          { type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' }, title: 'a.pdf' },
          { type: 'text', text: '{"pages":3}' },
        ],
      },
    ]);
    expect(() => content({ type: 'file', mediaType: 'audio/wav', data: 'AAAA' })).toThrow(
      /anthropic does not accept audio\/wav files in tool results \(tool "look"\)/,
    );
  });
});

describe('encodeMessages: provider options', () => {
  const providerOptions = { anthropic: { cache_control: { type: 'ephemeral' } }, 'openai-chat': { name: 'x' } };
  const cache_control = { type: 'ephemeral' };

  it('encodeMessages merges the options of a part into its block', () => {
    const file = { ...filePart(new Uint8Array([1]), 'image/png'), providerOptions };
    expect(
      sent(
        userMessage([
          { type: 'text', text: 'Long.', providerOptions },
          file,
          { type: 'toolResult', id: 'a', name: 'f', result: [{ ...file }] },
        ]),
        modelMessage([
          { type: 'text', text: 'One.', providerOptions },
          { type: 'text', text: 'Two.' },
        ]),
      ),
    ).toMatchObject([
      {
        content: [
          { type: 'tool_result', content: [{ type: 'image', cache_control }] },
          { type: 'text', text: 'Long.', cache_control },
          { type: 'image', cache_control },
        ],
      },
      { content: [{ type: 'text', text: 'One.', cache_control }, { text: 'Two.' }] },
    ]);
  });

  it('encodeMessages merges the options of a message into its last block, and joins adjacent messages of a role', () => {
    const results: Message = {
      role: 'user',
      parts: [
        { type: 'toolResult', id: 'a', name: 'f', result: '1' },
        { type: 'toolResult', id: 'b', name: 'f', result: '2' },
      ],
      providerOptions,
    };
    expect(sent(results, userMessage('Well?'))).toEqual([
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: '1' },
          { type: 'tool_result', tool_use_id: 'b', content: '2', cache_control },
          { type: 'text', text: 'Well?' },
        ],
      },
    ]);
  });

  it('encodeMessages sends signed thinking unchanged beside a text that was edited', () => {
    const thinking = { type: 'thinking', thinking: 'Hm', signature: 's' };
    const answer: Message['parts'] = [
      { type: 'provider', provider: 'anthropic', data: thinking },
      { type: 'text', text: 'Hi' },
      { type: 'provider', provider: 'anthropic', data: { container: { id: 'c' } } },
    ];
    const edited = answer.map((part) => (part.type === 'text' ? { ...part, text: 'Hello' } : part));
    const sentParts = (parts: Message['parts']) => sent({ role: 'model', parts }, userMessage('?'))[0]?.['content'];
    expect(sentParts(edited)).toEqual([thinking, { type: 'text', text: 'Hello' }]);
    const removed = answer.filter(({ type }) => type !== 'provider');
    expect(sentParts(removed)).toEqual([{ type: 'text', text: 'Hi' }]);
  });

  it('encodeMessages never adds options to thinking', () => {
    const thinking = { type: 'thinking', thinking: 'Hm', signature: 's' };
    const parts: Message['parts'] = [
      { type: 'text', text: 'Hi' },
      { type: 'provider', provider: 'anthropic', data: thinking },
    ];
    const last: Message = { role: 'model', parts: [{ type: 'text', text: 'Well.' }] };
    expect(sent({ role: 'model', parts, providerOptions }, last)).toEqual([
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'Hi', cache_control }, thinking, { type: 'text', text: 'Well.' }],
      },
    ]);
  });

  it('encodeMessages sends a system prompt with options as blocks', () => {
    const long: Message = { ...systemMessage('Long rules.'), providerOptions };
    expect(encodeMessages([long, systemMessage('Be brief.')]).system).toEqual([
      { type: 'text', text: 'Long rules.', cache_control },
      { type: 'text', text: 'Be brief.' },
    ]);
  });
});
