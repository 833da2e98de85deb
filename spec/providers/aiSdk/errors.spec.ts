import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { APICallError } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { fromAiSdk } from 'rivulet/ai-sdk';
import type { OptionsOf } from 'rivulet';
import { acme, endOf, finish } from './acme.js';

/** The notifications of a model whose `doStream` fails. */
const failing = (thrown: Error, options: OptionsOf<typeof fromAiSdk> = {}, fields: object = {}) => {
  const { sdk } = acme([]);
  const model: LanguageModelV4 = { ...sdk, doStream: () => Promise.reject(thrown), ...fields };
  return endOf(fromAiSdk(model, { retry: false, ...options }));
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
      expect(await failing(inside, { debug: true })).toMatchObject([
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

describe('errors of an AI SDK model', () => {
  const key = 'any-old-key-0815';
  const request = {
    requestBodyValues: { messages: ['Hello?', 'You are Zorg'] },
    url: `https://acme.example?key=${key}`,
  };
  const config = { headers: () => ({ authorization: `Bearer ${key}` }) };
  const failures: readonly (readonly [string, Error])[] = [
    ['without a response', new APICallError({ ...request, message: `No route, ${key}`, isRetryable: false })],
    [
      'with a status',
      new APICallError({
        ...request,
        message: 'Bad request',
        statusCode: 400,
        responseBody: JSON.stringify({ error: { message: `Wrong key ${key}` }, echo: request.requestBodyValues }),
      }),
    ],
    ['inside a response', new APICallError({ ...request, message: key, statusCode: 200, data: request })],
    ['of another kind', Object.assign(new Error(`Odd ${key}`), { request, cause: request })],
    ['of a setting', Object.assign(new Error(`No ${key}`), { name: 'AI_InvalidArgumentError', value: request })],
  ];

  it.each(failures)('errors of an AI SDK model contain neither the conversation nor its key: %s', async (_, thrown) => {
    const [end] = await failing(thrown, {}, { config });
    const error = (end as unknown as { error: Error }).error;
    const shown = inspect(error, { showHidden: true, depth: 9 }) + JSON.stringify(error) + String(error.stack);
    expect(shown).toContain('[key]');
    for (const secret of [key, 'Zorg', 'Hello']) expect(shown).not.toContain(secret);
  });

  it('errors of an AI SDK model have the original error as their cause with debug', async () => {
    const thrown = new APICallError({ ...request, message: 'No route', isRetryable: false });
    expect(await failing(thrown, { debug: true })).toMatchObject([
      { kind: 'E', error: { cause: { name: 'AI_APICallError' } } },
    ]);
  });

  it.each(['sk-proj-aaaaBBBBccccDDDD', 'AIzaSyA1234567890abcdefghijklmnopqrstu'])(
    'errors of an AI SDK model contain no key that is known by its shape: %s',
    async (shaped) => {
      const [end] = await failing(new Error(`Wrong: ${shaped}.`));
      expect(end).toMatchObject({ error: { message: expect.stringContaining('Wrong: [key].') } });
    },
  );

  it('errors of an AI SDK model do not wait for, nor fail with, headers that are fetched', async () => {
    for (const headers of [
      () => Promise.reject(new Error('no token')),
      () => {
        throw new Error('no key');
      },
    ])
      expect(await failing(new Error('Odd'), {}, { config: { headers } })).toMatchObject([
        { error: { code: 'provider' } },
      ]);
  });
});

describe('isRivuletError', () => {
  it('isRivuletError does not take an error of another library for one of this library: its key is hidden', async () => {
    const error = Object.assign(new Error('no'), { code: 'sk-0123456789abcdefghij', retryable: true });
    const { model } = acme([{ type: 'error', error }]);
    const [end] = await endOf(model);
    expect(end).toMatchObject({ kind: 'E', error: { code: 'provider' } });
    expect(inspect(end, { depth: 9 })).not.toContain('sk-0123456789');
  });
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
    [
      'a value that cannot be read',
      [text, { type: 'error', error: Object.assign(new Error('bad value'), { name: 'AI_TypeValidationError' }) }],
      'close',
      { code: 'protocol', received: 'bad value' },
    ],
    ['a stream that breaks', [text], new Error('terminated'), { code: 'stream_interrupted', message: /terminated/ }],
    ['a stream that ends without a finish', [text], 'close', { code: 'stream_interrupted' }],
    ['an interrupted finish', [text, finish('interrupted')], 'close', { code: 'stream_interrupted' }],
    ['a part that is not an object', [text, null], 'close', { code: 'protocol', reason: 'frame' }],
  ] as const)('partError and streamError follow the text that arrived: %s', async (_, parts, end, error) => {
    const { model } = acme(parts as unknown as LanguageModelV4StreamPart[], end, { debug: true });
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

  it.each(['AI_JSONParseError', 'AI_TypeValidationError', 'AI_InvalidResponseDataError'])(
    'partError and streamError omit the event of %s without `debug`: the model wrote it',
    async (name) => {
      const thrown = Object.assign(new Error('Failed: {"delta":"Her diagnosis"}'), { name, text: 'Her diagnosis' });
      for (const { model } of [acme([text, { type: 'error', error: thrown }], 'close'), acme([text], thrown)]) {
        const error = (await endOf(model)).at(-1);
        expect(error).toMatchObject({
          kind: 'E',
          error: { message: expect.stringContaining(`cannot read (${name})`) },
        });
        expect(`${(error as { error: Error }).error.message} ${JSON.stringify(error)}`).not.toContain('diagnosis');
      }
    },
  );
});
