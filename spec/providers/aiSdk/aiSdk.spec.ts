import type { LanguageModelV3, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, take } from 'rxjs';
import { userMessage } from 'rivulet';
import type { Message } from 'rivulet';
import { fromAiSdk } from 'rivulet/ai-sdk';
import { acme, chunksOf, endOf, finish, messageOf, question, season, signed, start } from './acme.js';

describe('fromAiSdk: the parts of a stream', () => {
  it('become text, thinking, files, sources, metadata, and a finish with the whole usage', async () => {
    const { model } = acme([
      { type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'seed' }] },
      { type: 'response-metadata', id: 'r1', modelId: 'm1-2026', timestamp: new Date(0) },
      { type: 'raw', rawValue: {} },
      { type: 'ping' },
      { type: 'reasoning-start', id: 'a' },
      { type: 'reasoning-delta', id: 'a', delta: 'Hm.' },
      { type: 'reasoning-end', id: 'a' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2]) } },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://acme.example/a.png') } },
      { type: 'source', sourceType: 'url', id: 's1', url: 'https://acme.example', title: 'Acme' },
      {
        type: 'source',
        sourceType: 'document',
        id: 's2',
        mediaType: 'application/pdf',
        title: 'Paper',
        filename: 'p.pdf',
      },
      { type: 'text-start', id: 'b' },
      { type: 'text-delta', id: 'b', delta: 'Hello.' },
      { type: 'text-end', id: 'b' },
      finish('stop', 'end_turn'),
    ]);
    const thought = { before: [{ type: 'reasoning', text: 'Hm.' }] };
    expect(await chunksOf(model)).toEqual([
      {
        type: 'metadata',
        metadata: { warnings: [{ type: 'unsupported', feature: 'seed' }], responseId: 'r1', model: 'm1-2026' },
      },
      { type: 'thinking', text: 'Hm.' },
      {
        type: 'file',
        file: { type: 'file', mediaType: 'image/png', data: 'AQI=', providerData: { 'acme.chat': thought } },
      },
      { type: 'file', file: { type: 'file', mediaType: 'image/png', url: 'https://acme.example/a.png' } },
      { type: 'source', source: { type: 'source', id: 's1', url: 'https://acme.example', title: 'Acme' } },
      {
        type: 'source',
        source: {
          type: 'source',
          id: 's2',
          title: 'Paper',
          providerData: { 'acme.chat': { mediaType: 'application/pdf', filename: 'p.pdf' } },
        },
      },
      { type: 'text', text: 'Hello.' },
      {
        type: 'finish',
        reason: 'stop',
        rawReason: 'end_turn',
        usage: { input: 30, output: 12, total: 42, cachedInput: 10, cacheWriteInput: 2, reasoning: 5 },
      },
    ]);
  });

  it('become one whole call each, however the input streams: in pieces, at once, as text, cut off', async () => {
    const { model } = acme([
      { type: 'tool-input-start', id: 'c1', toolName: 'season' },
      { type: 'tool-input-start', id: 'c2', toolName: 'season', inputEncoding: 'text' },
      { type: 'tool-input-delta', id: 'c1', delta: '{"a":' },
      { type: 'tool-input-delta', id: 'c2', delta: 'free text' },
      { type: 'tool-input-delta', id: 'c1', delta: '1}' },
      { type: 'tool-input-end', id: 'c1' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'season', input: '{"a":1}', ...signed('x') },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'season', input: '{"text":"free text"}' },
      { type: 'tool-call', toolCallId: 'c3', toolName: 'season', input: '' },
      { type: 'tool-call', toolCallId: 'c4', toolName: 'season', input: '{"cut' },
      finish('tool-calls'),
    ]);
    const { parts } = await messageOf(model, { ...question, tools: [season] });
    expect(parts).toEqual([
      {
        type: 'toolCall',
        id: 'c1',
        name: 'season',
        arguments: { a: 1 },
        providerData: { 'acme.chat': { metadata: { acme: { signature: 'x' } } } },
      },
      { type: 'toolCall', id: 'c2', name: 'season', arguments: { text: 'free text' } },
      { type: 'toolCall', id: 'c3', name: 'season', arguments: {} },
      { type: 'toolCall', id: 'c4', name: 'season', arguments: { _raw: '{"cut', _error: 'invalid_json' } },
    ]);
  });

  it('of calls that the provider runs are metadata, and never calls of the client', async () => {
    const search = { toolCallId: 'w1', toolName: 'web_search' };
    const { model } = acme([
      { type: 'tool-input-start', id: 'w1', toolName: 'web_search' }, // not marked: its name was not offered
      { type: 'tool-input-delta', id: 'w1', delta: '{"q":"x"}' },
      { type: 'tool-call', ...search, input: '{"q":"x"}', providerExecuted: true },
      { type: 'tool-result', ...search, result: { hits: 1 }, preliminary: true },
      { type: 'tool-result', ...search, result: { hits: 2 } },
      { type: 'text-delta', id: 't', delta: 'Two.' },
      finish(),
    ]);
    const chunks = await chunksOf(model, { ...question, tools: [season] });
    expect(chunks.map(({ type }) => type)).toEqual(['metadata', 'metadata', 'metadata', 'text', 'text', 'finish']);
    expect(chunks[2]).toMatchObject({
      metadata: { providerToolResult: { toolName: 'web_search', result: { hits: 2 } } },
    });
  });
});

describe('fromAiSdk: what the provider wants back', () => {
  it('goes back in its order: reasoning, metadata, calls that it ran, each where it stood', async () => {
    const first = acme([
      { type: 'reasoning-start', id: 'a' },
      { type: 'reasoning-delta', id: 'a', delta: 'First.' },
      { type: 'reasoning-end', id: 'a', ...signed('one') },
      { type: 'text-start', id: 't1' },
      { type: 'text-delta', id: 't1', delta: 'Look' },
      { type: 'source', sourceType: 'url', id: 's1', url: 'https://acme.example' },
      { type: 'text-delta', id: 't1', delta: ':' },
      { type: 'text-end', id: 't1', ...signed('text') },
      { type: 'tool-call', toolCallId: 'w1', toolName: 'web_search', input: '{"q":"x"}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 'w1', toolName: 'web_search', result: [1] },
      {
        type: 'reasoning-file',
        mediaType: 'image/png',
        data: { type: 'url', url: new URL('https://acme.example/b.png') },
      },
      { type: 'text-start', id: 't2' },
      { type: 'text-delta', id: 't2', delta: 'Done.' },
      { type: 'text-end', id: 't2' },
      { type: 'reasoning-delta', id: 'b', delta: 'Second.' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'season', input: '{}', ...signed('call') },
      { type: 'custom', kind: 'acme.plan', ...signed('plan') },
      finish('tool-calls'),
    ]);
    const model = await messageOf(first.model, { ...question, tools: [season] });
    expect(JSON.parse(JSON.stringify(model))).toEqual(model);
    const answered: Message = {
      role: 'user',
      parts: [{ type: 'toolResult', id: 'c1', name: 'season', result: 'winter' }],
    };
    const second = acme([start, finish()]);
    await chunksOf(second.model, { messages: [...question.messages, model, answered] });
    const options = (signature: string) => ({ providerOptions: { acme: { signature } } });
    expect(second.asked[0]?.prompt.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'First.', ...options('one') },
          { type: 'text', text: 'Look:', ...options('text') },
          { type: 'tool-call', toolCallId: 'w1', toolName: 'web_search', input: { q: 'x' }, providerExecuted: true },
          { type: 'tool-result', toolCallId: 'w1', toolName: 'web_search', output: { type: 'json', value: [1] } },
          {
            type: 'reasoning-file',
            mediaType: 'image/png',
            data: { type: 'url', url: new URL('https://acme.example/b.png') },
          },
          { type: 'text', text: 'Done.' },
          { type: 'reasoning', text: 'Second.' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'season', input: {}, ...options('call') },
          { type: 'custom', kind: 'acme.plan', ...options('plan') },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'season', output: { type: 'text', value: 'winter' } },
        ],
      },
    ]);
  });

  it('is not taken from another provider, nor from data of another shape', async () => {
    const { model, asked } = acme([start, finish()]);
    const said: Message = {
      role: 'model',
      parts: [
        { type: 'text', text: 'A', providerData: { openai: { metadata: { openai: { id: 1 } } } } },
        {
          type: 'text',
          text: 'B',
          providerData: { 'acme.chat': { metadata: 'x', before: [{ type: 'nonsense' }, 3] } },
        },
      ],
      metadata: { 'acme.chat': 'odd' },
    };
    await chunksOf(model, { messages: [...question.messages, said, userMessage('Go on.')] });
    expect(asked[0]?.prompt[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'A' },
        { type: 'text', text: 'B' },
      ],
    });
  });
});

describe('fromAiSdk: the call', () => {
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

  it('has every field of the request under its name in V4', async () => {
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

  it('has files as V3 wants them: the bytes, or a URL', async () => {
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

  it('is not made for a wish that there is no field for, or that the model is known not to meet', async () => {
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

describe('fromAiSdk: leaving and failing', () => {
  const text: LanguageModelV4StreamPart = { type: 'text-delta', id: 't', delta: 'Half' };

  it('aborts the signal and cancels the stream in the tick of the unsubscription', async () => {
    const { model, asked, seen } = acme([start, text], 'hang');
    const half = new Promise<void>((resolve) => {
      const subscription = model.stream(question).subscribe(() => {
        subscription.unsubscribe();
        expect({ aborted: asked[0]?.abortSignal?.aborted, cancelled: seen.cancelled }).toEqual({
          aborted: true,
          cancelled: true,
        });
        resolve();
      });
    });
    await half;
  });

  it('cancels a stream that arrives after its reader has gone', async () => {
    const { model, asked, seen, cancellation } = acme([start, text]);
    model.stream(question).subscribe().unsubscribe();
    expect(asked[0]?.abortSignal?.aborted).toBe(true);
    await cancellation;
    expect(seen.pulled).toBe(0);
  });

  it('reads no further than its reader wants', async () => {
    const { model, seen } = acme([start, text, text, text, finish()]);
    await firstValueFrom(
      model.stream(question).pipe(
        filter(({ type }) => type === 'text'),
        take(1),
      ),
    );
    expect(seen.pulled).toBe(2);
  });

  it.each([
    [
      'an error part that is text',
      [text, { type: 'error', error: 'overloaded' }],
      'close',
      { code: 'provider', message: /overloaded/ },
    ],
    [
      'an error part as JSON',
      [text, { type: 'error', error: { message: 'Too many', type: 'rate_limit_error' } }],
      'close',
      { code: 'provider', retryable: true, providerCode: 'rate_limit_error' },
    ],
    [
      'an error part that was thrown',
      [text, { type: 'error', error: Object.assign(new Error('Stalled'), { isRetryable: true }) }],
      'close',
      { code: 'provider', retryable: true, message: /Stalled/ },
    ],
    [
      'an event that cannot be read',
      [
        text,
        { type: 'error', error: Object.assign(new Error('bad JSON'), { name: 'AI_JSONParseError', text: '<html>' }) },
      ],
      'close',
      { code: 'protocol', received: '<html>' },
    ],
    ['a stream that breaks', [text], new Error('terminated'), { code: 'stream_interrupted', message: /terminated/ }],
    ['a stream that ends without a finish', [text], 'close', { code: 'stream_interrupted' }],
    [
      'a finish that says that it was interrupted',
      [text, finish('interrupted')],
      'close',
      { code: 'stream_interrupted' },
    ],
    ['a part that is none', [text, null], 'close', { name: 'TypeError' }],
  ] as const)('errors after what came: %s', async (_, parts, end, error) => {
    const { model } = acme(parts as unknown as LanguageModelV4StreamPart[], end);
    const expected = Object.fromEntries(
      Object.entries(error).map(([key, value]) => [
        key,
        value instanceof RegExp ? expect.stringMatching(value) : value,
      ]),
    );
    expect(await endOf(model)).toMatchObject([
      { kind: 'N', value: { text: 'Half' } },
      { kind: 'E', error: expected },
    ]);
  });

  it('takes a finish that gives no word for its reason, where there is usage', async () => {
    expect((await chunksOf(acme([text, finish('other')]).model)).at(-1)).toMatchObject({
      type: 'finish',
      reason: 'unspecified',
    });
    expect((await chunksOf(acme([text, finish('other', 'odd')]).model)).at(-1)).toMatchObject({
      reason: 'other',
      rawReason: 'odd',
    });
  });

  it('refuses a model of another version', () => {
    const v2 = { specificationVersion: 'v2', provider: 'acme', modelId: 'm1' } as unknown as LanguageModelV3;
    expect(() => fromAiSdk(v2)).toThrow(/specification v2, not v3 or v4/);
    // @ts-expect-error: a model's id alone is no model
    expect(() => fromAiSdk('acme/m1')).toThrow(/not v3 or v4/);
  });
});
