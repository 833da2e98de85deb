import { describe, expect, it } from '@jest/globals';
import type { ProviderError } from '../../../lib/core/errors.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { delta, frame, read } from './reading.js';

describe('finish of chat completions', () => {
  it.each([
    ['stop', 'stop'],
    ['eos', 'stop'],
    ['end_turn', 'stop'],
    ['length', 'length'],
    ['MAX_TOKENS', 'length'],
    ['model_length', 'length'],
    ['tool_calls', 'toolCalls'],
    ['function_call', 'toolCalls'],
    ['content_filter', 'contentFilter'],
    ['error', 'error'],
    ['abort', 'error'],
    ['aborted', 'error'],
    ['canceled', 'error'],
    ['repetition', 'length'],
    ['cancelled', 'error'],
    ['timeout', 'error'],
    ['malformed_function_call', 'error'],
    ['incomplete', 'length'],
    ['content-filter', 'contentFilter'],
    ['filtered', 'contentFilter'],
    ['guardrail_intervened', 'contentFilter'],
    ['constructor', 'other'],
  ])('toFinishReason maps the finish reason "%s" to %s and keeps it as rawReason', (word, reason) => {
    expect(read([delta({}, word)]).chunks).toEqual([{ type: 'finish', reason, rawReason: word }]);
  });

  it.each<[string, JsonObject, object]>([
    [
      'the choice (Moonshot)',
      frame({ delta: {}, usage: { prompt_tokens: 3, completion_tokens: 2, cached_tokens: 1 } }),
      { input: 3, output: 2, total: 5, cachedInput: 1 },
    ],
    [
      'x_groq (Groq)',
      { x_groq: { usage: { prompt_tokens: 3, completion_tokens: 2 } } },
      { input: 3, output: 2, total: 5 },
    ],
    [
      'the top, with cache and reasoning (OpenAI)',
      {
        usage: {
          prompt_tokens: 9,
          completion_tokens: 7,
          total_tokens: 16,
          prompt_tokens_details: { cached_tokens: 4 },
          completion_tokens_details: { reasoning_tokens: 5 },
        },
      },
      { input: 9, output: 7, total: 16, cachedInput: 4, reasoning: 5 },
    ],
    [
      'the top, reasoning not included in the output (xAI)',
      {
        usage: {
          prompt_tokens: 9,
          completion_tokens: 2,
          total_tokens: 16,
          completion_tokens_details: { reasoning_tokens: 5 },
        },
      },
      { input: 9, output: 7, total: 16, reasoning: 5 },
    ],
    [
      'the top, cache hits (DeepSeek)',
      { usage: { prompt_tokens: 9, completion_tokens: 2, prompt_cache_hit_tokens: 8 } },
      { input: 9, output: 2, total: 11, cachedInput: 8 },
    ],
    ['the top, half of it unknown', { usage: { prompt_tokens: 9, completion_tokens: null } }, { input: 9 }],
  ])('readUsage reads usage at %s', (_, data, usage) => {
    expect(read([data]).finish?.usage).toEqual(usage);
  });
});

describe('readError', () => {
  const failed = (...frames: Parameters<typeof read>[0]) => {
    const { error, chunks } = read(frames);
    expect(error).toMatchObject({ code: 'provider', provider: 'server' });
    const { message, retryable, providerCode } = error as ProviderError;
    return { message, retryable, providerCode, chunks };
  };

  it.each<[string, JsonObject, string, string | undefined, boolean]>([
    [
      'an object',
      { error: { message: 'The server had an error', type: 'server_error', param: null, code: null } },
      'The server had an error',
      'server_error',
      true,
    ],
    ['a string', { error: 'boom' }, 'boom', undefined, false],
    ['an object with a number', { error: { message: 'slow down', code: 429 } }, 'slow down', '429', true],
    ['an object with a number as text', { error: { message: 'no', code: '400' } }, 'no', '400', false],
    [
      'an exhausted account',
      { error: { message: 'pay', type: 'insufficient_quota', code: 429 } },
      'pay',
      'insufficient_quota',
      false,
    ],
    [
      'vLLM, flat',
      { object: 'error', message: 'too long', type: 'BadRequestError', code: 400 },
      'too long',
      'BadRequestError',
      false,
    ],
    [
      'vLLM, flat, 500',
      { object: 'error', message: 'died', type: 'InternalServerError', code: 500 },
      'died',
      'InternalServerError',
      true,
    ],
    ['FastAPI', { detail: 'Not Found' }, 'Not Found', undefined, false],
    ['FastAPI, a list', { detail: [{ loc: ['body'], msg: 'bad' }] }, 'bad', undefined, false],
    [
      'a gateway',
      { message: 'Endpoint request timed out', code: 'gateway_timeout' },
      'timed out',
      'gateway_timeout',
      true,
    ],
    [
      'Anthropic, through a gateway',
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      'Overloaded',
      'overloaded_error',
      true,
    ],
    [
      'MiniMax',
      { choices: null, base_resp: { status_code: 1008, status_msg: 'no balance' } },
      'no balance',
      '1008',
      false,
    ],
    [
      'OpenRouter, in the choice',
      frame({ delta: {}, error: { code: 502, message: 'bad upstream' } }),
      'bad upstream',
      '502',
      true,
    ],
    [
      'OpenRouter, by type',
      {
        error: { code: 400, message: 'x', metadata: { error_type: 'provider_unavailable', raw: 'upstream said y' } },
        choices: [],
      },
      'x: upstream said y',
      'provider_unavailable',
      true,
    ],
  ])('readError reports an error as %s', (_, data, text, providerCode, retryable) => {
    const error = failed(data);
    expect(error.message).toContain(text);
    expect(error).toMatchObject({ retryable, providerCode, chunks: [] });
  });

  it('readError reports an error of many levels, whose message was cut off, and quotes the beginning of it', () => {
    const levels = 600;
    const { message } = failed({
      error: JSON.parse(`${'{"a":'.repeat(levels)}null${'}'.repeat(levels)}`) as JsonObject,
    });
    expect(message).toContain('reported an error in its stream: {"a":{"a":');
    expect(message.length).toBeLessThan(600);
  });

  it('readError reports an event named error, whatever its data', () => {
    expect(failed({ data: { code: 503, reason: 'busy' }, event: 'error' })).toMatchObject({
      message: expect.stringContaining('busy'),
      retryable: true,
    });
  });

  it.each<[string, JsonObject]>([
    ['an error of null', { ...delta({ content: '' }), error: null }],
    ['an empty error', { ...delta({ content: '' }), error: { code: 0, message: '' } }],
    ['a ping', { type: 'ping' }],
    ['a notice', { code: 0, message: 'ok' }],
    ['success of MiniMax', { base_resp: { status_code: 0, status_msg: '' } }],
    ['an empty frame', {}],
  ])('readError ignores %s', (_, data) => {
    expect(read([data, delta({ content: 'a' }, 'stop')])).toMatchObject({ error: undefined, text: 'a' });
  });
});
