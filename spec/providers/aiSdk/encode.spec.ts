import type { LanguageModelV3 } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { userMessage } from 'rivulet';
import type { Message } from 'rivulet';
import { fromAiSdk } from 'rivulet/ai-sdk';
import { acme, chunksOf, endOf, finish, question, season, start } from './acme.js';

describe('encodeCall', () => {
  const messages: Message[] = [
    { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
    {
      role: 'user',
      parts: [
        { type: 'text', text: 'See' },
        { type: 'file', mediaType: 'application/pdf', data: 'AQI=', name: 'a.pdf' },
        { type: 'file', mediaType: 'image/png', url: 'https://acme.example/a.png' },
      ],
    },
    {
      role: 'model',
      parts: [
        { type: 'toolCall', id: 'c1', name: 'season', arguments: {} },
        { type: 'toolCall', id: 'c2', name: 'season', arguments: { a: 1 } },
      ],
    },
    {
      role: 'user',
      parts: [
        { type: 'toolResult', id: 'c1', name: 'season', result: { a: 1 } },
        { type: 'toolResult', id: 'c2', name: 'season', error: 'no calendar' },
        { type: 'text', text: 'And?' },
      ],
    },
  ];
  const settings = {
    messages,
    tools: [season],
    toolChoice: { name: 'season' },
    output: { type: 'object' },
    temperature: 0.1,
    topP: 0.2,
    maxOutputTokens: 3,
    stopSequences: ['END'],
    seed: 4,
    providerOptions: { acme: { tier: 'flex' } },
  } as const;
  const results = {
    role: 'tool',
    content: [
      { type: 'tool-result', toolCallId: 'c1', toolName: 'season', output: { type: 'json', value: { a: 1 } } },
      {
        type: 'tool-result',
        toolCallId: 'c2',
        toolName: 'season',
        output: { type: 'error-text', value: 'no calendar' },
      },
    ],
  };

  it('encodeCall has a field of V4 for each field of the request', async () => {
    const { model, asked } = acme([start, finish()]);
    await chunksOf(model, { ...settings, thinking: { effort: 'low' } });
    expect(asked).toEqual([
      {
        prompt: [
          { role: 'system', content: 'Be brief.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'See' },
              { type: 'file', mediaType: 'application/pdf', data: { type: 'data', data: 'AQI=' }, filename: 'a.pdf' },
              {
                type: 'file',
                mediaType: 'image/png',
                data: { type: 'url', url: new URL('https://acme.example/a.png') },
              },
            ],
          },
          {
            role: 'assistant',
            content: [
              { type: 'tool-call', toolCallId: 'c1', toolName: 'season', input: {} },
              { type: 'tool-call', toolCallId: 'c2', toolName: 'season', input: { a: 1 } },
            ],
          },
          results,
          { role: 'user', content: [{ type: 'text', text: 'And?' }] },
        ],
        tools: [
          { type: 'function', name: 'season', description: 'Now.', inputSchema: { type: 'object', properties: {} } },
        ],
        toolChoice: { type: 'tool', toolName: 'season' },
        responseFormat: { type: 'json', schema: { type: 'object' } },
        temperature: 0.1,
        topP: 0.2,
        maxOutputTokens: 3,
        stopSequences: ['END'],
        seed: 4,
        providerOptions: { acme: { tier: 'flex' } },
        reasoning: 'low',
        abortSignal: expect.any(AbortSignal),
      },
    ]);
  });

  it('encodeCall sends the files of V3 as bytes or URL, and refuses thinking there', async () => {
    const asked: unknown[] = [];
    const v3: LanguageModelV3 = {
      specificationVersion: 'v3',
      provider: 'acme.chat',
      modelId: 'm1',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('not used')),
      doStream: ({ prompt }) => {
        asked.push(prompt[1]);
        return Promise.reject(new Error('enough'));
      },
    };
    expect(await endOf(fromAiSdk(v3), settings)).toMatchObject([
      { kind: 'E', error: { code: 'provider', message: expect.stringContaining('enough') } },
    ]);
    expect(asked).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'file', mediaType: 'application/pdf', data: 'AQI=', filename: 'a.pdf' },
          { type: 'file', mediaType: 'image/png', data: new URL('https://acme.example/a.png') },
        ],
      },
    ]);
    expect(await endOf(fromAiSdk(v3), { ...question, thinking: { effort: 'low' } })).toMatchObject([
      { error: { code: 'configuration', subject: 'options' } },
    ]);
    expect(asked).toHaveLength(1);
  });

  it('encodeCall passes on the provider options of a tool', async () => {
    const { model, asked } = acme([start, finish()]);
    const providerOptions = { anthropic: { deferLoading: true } };
    await chunksOf(model, { ...question, tools: [{ ...season, providerOptions }] });
    expect(asked[0]?.tools).toMatchObject([{ type: 'function', name: 'season', providerOptions }]);
  });

  it('encodeCall sends the files of a tool result with the names that V3 has for them', async () => {
    const { model, asked, sdk } = acme([start, finish()]);
    const v3 = { ...sdk, specificationVersion: 'v3' as const };
    const result = [
      'See:',
      { type: 'file', mediaType: 'image/png', data: 'AQ==' },
      { type: 'file', mediaType: 'image/png', url: 'https://acme.example/a.png' },
      { type: 'file', mediaType: 'application/pdf', data: 'AQ==', name: 'a.pdf' },
      { type: 'file', mediaType: 'application/pdf', url: 'https://acme.example/a.pdf' },
    ];
    const history: Message[] = [
      userMessage('Hi'),
      { role: 'model', parts: [{ type: 'toolCall', id: 'c1', name: 'season', arguments: {} }] },
      userMessage([{ type: 'toolResult', id: 'c1', name: 'season', result }]),
    ];
    const outputOf = (at: number): unknown => {
      const content = asked[at]?.prompt.at(-1)?.content[0];
      return typeof content === 'object' && content.type === 'tool-result' ? content.output : undefined;
    };
    await chunksOf(fromAiSdk(v3), { messages: history });
    expect(outputOf(0)).toEqual({
      type: 'content',
      value: [
        { type: 'text', text: 'See:' },
        { type: 'image-data', data: 'AQ==', mediaType: 'image/png' },
        { type: 'image-url', url: 'https://acme.example/a.png' },
        { type: 'file-data', data: 'AQ==', mediaType: 'application/pdf', filename: 'a.pdf' },
        { type: 'file-url', url: 'https://acme.example/a.pdf' },
      ],
    });
    await chunksOf(model, { messages: history });
    expect(outputOf(1)).toMatchObject({ type: 'content', value: [{}, { type: 'file' }, {}, {}, {}] });
  });

  it('encodeCall refuses settings without a field, relative URLs, and, by its capabilities, what the model cannot do', async () => {
    const { model, asked } = acme([start, finish()]);
    expect(await endOf(model, { ...question, parallelToolCalls: false })).toMatchObject([
      { error: { subject: 'options' } },
    ]);
    expect(await endOf(model, { ...question, thinking: { budget: 100 } })).toMatchObject([
      { error: { subject: 'options' } },
    ]);
    const file = { type: 'file', mediaType: 'image/png', url: '/relative.png' } as const;
    expect(await endOf(model, { messages: [userMessage([file])] })).toMatchObject([{ error: { subject: 'options' } }]);
    const blind = acme([start, finish()], 'close', { capabilities: { vision: false } });
    const image = { ...file, url: 'https://acme.example/a.png' };
    expect(await endOf(blind.model, { messages: [userMessage([image])] })).toMatchObject([
      { error: { subject: 'capability' } },
    ]);
    expect([...asked, ...blind.asked]).toHaveLength(0);
  });
});
