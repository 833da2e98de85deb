import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { APICallError } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { fromAiSdk } from 'rivulet/ai-sdk';
import { acme, endOf, finish } from './acme.js';

/** The notifications of a model whose `doStream` fails. */
const failing = (thrown: Error) => {
  const { sdk } = acme([]);
  const model: LanguageModelV4 = { ...sdk, doStream: () => Promise.reject(thrown) };
  return endOf(fromAiSdk(model, { retry: false }));
};
const call = { url: 'https://acme.example', requestBodyValues: {} };

describe('callError', () => {
  it('callError makes a call without a status a ConnectionError', async () => {
    const refused = new APICallError({ ...call, message: 'Cannot connect to API', isRetryable: true });
    expect(await failing(refused)).toMatchObject([{ kind: 'E', error: { code: 'connection', retryable: true } }]);
  });

  it.each([true, false])(
    'callError makes an error inside a response of status 200 a ProviderError, retryable: %s',
    async (isRetryable) => {
      const inside = new APICallError({
        ...call,
        message: 'Overloaded',
        statusCode: 200,
        isRetryable,
        data: { type: 'overloaded_error' },
      });
      expect(await failing(inside)).toMatchObject([
        {
          kind: 'E',
          error: {
            code: 'provider',
            retryable: isRetryable,
            message: expect.stringContaining('Overloaded'),
            data: { type: 'overloaded_error' },
          },
        },
      ]);
    },
  );
});

describe('partError and streamError', () => {
  const text: LanguageModelV4StreamPart = { type: 'text-delta', id: 't', delta: 'Half' };

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
    ['an interrupted finish', [text, finish('interrupted')], 'close', { code: 'stream_interrupted' }],
    ['a part that is none', [text, null], 'close', { name: 'TypeError' }],
  ] as const)('partError and streamError follow the text that arrived: %s', async (_, parts, end, error) => {
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
});
