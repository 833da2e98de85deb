import { describe, expect, it } from '@jest/globals';
import {
  errorDetails,
  excerpt,
  hasErrorField,
  isRetryableStatus,
  isTransient,
  primaryCode,
  providerError,
} from '../../lib/protocol/errorDetails.js';

describe('errorDetails', () => {
  it.each([
    [
      'an OpenAI error',
      { error: { message: 'No such model', type: 'invalid_request_error', code: null } },
      'No such model',
      'invalid_request_error',
    ],
    [
      'an Anthropic error',
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      'Overloaded',
      'overloaded_error',
    ],
    [
      'a Google error in an array',
      [{ error: { code: 400, message: 'API key not valid', status: 'INVALID_ARGUMENT' } }],
      'API key not valid',
      'INVALID_ARGUMENT',
    ],
    ['an OpenRouter error', { error: { code: 402, message: 'Insufficient credits' } }, 'Insufficient credits', '402'],
    [
      "an OpenRouter error with the upstream's message",
      { error: { message: 'Provider returned error', code: 429, metadata: { raw: 'slow down' } } },
      'Provider returned error: slow down',
      '429',
    ],
    ['an error text', { error: 'model "x" not found' }, 'model "x" not found', undefined],
    ['a message', { id: '1', message: 'invalid api token' }, 'invalid api token', undefined],
    ['a detail', { detail: 'Not Found' }, 'Not Found', undefined],
    ['details', { detail: [{ loc: ['body'], msg: 'Field required', type: 'missing' }] }, 'Field required', 'missing'],
    ['an array of errors', { errors: [{ message: 'first' }, 'second'] }, 'first', undefined],
    ['errors as text', { errors: ['only'] }, 'only', undefined],
    ['a document without an error', { choices: [] }, undefined, undefined],
    ['something else than an object', 7, undefined, undefined],
  ])('errorDetails reads %s', (_, json, message, code) => {
    const details = errorDetails(json);
    expect(details.message).toBe(message);
    expect(primaryCode(details.codes)).toBe(code);
  });

  it.each([400, 401, 403, 404, 422])('isRetryableStatus is false for %i', (status) => {
    expect(isRetryableStatus(status)).toBe(false);
  });

  it.each([408, 409, 429, 500, 501, 503, 529])('isRetryableStatus is true for %i', (status) => {
    expect(isRetryableStatus(status)).toBe(true);
  });

  it.each([
    [['overloaded_error'], true],
    [['RESOURCE_EXHAUSTED', '429'], true],
    [['rate_limit_exceeded'], true],
    [['503'], true],
    [['insufficient_quota', '429'], false],
    [['invalid_request_error'], false],
    [[], false],
  ])('isTransient(%j) is %s', (codes, transient) => {
    expect(isTransient({ message: undefined, codes })).toBe(transient);
  });

  it('hasErrorField is true for an error that is set, also in an array', () => {
    for (const json of [{ error: 'x' }, { error: {} }, [{ error: 'x' }]]) expect(hasErrorField(json)).toBe(true);
    expect(hasErrorField({ error: '' })).toBe(false); // Ollama's
    for (const json of [{ error: null }, { error: false }, {}, [], 'error', null])
      expect(hasErrorField(json)).toBe(false);
  });

  it('providerError has the message, the code and the data of the frame', () => {
    const json = { error: { message: 'Too busy', code: 503 } };
    expect(providerError('toy', json)).toMatchObject({
      code: 'provider',
      provider: 'toy',
      message: 'toy reported an error: Too busy (503)',
      providerCode: '503',
      retryable: true,
      data: json,
    });
    expect(providerError('toy', { error: {} }).message).toBe('toy reported an error: no explanation');
  });

  it('excerpt is one line of at most 200 characters', () => {
    expect(excerpt(' <html>\n  Bad gateway ')).toBe('Bad gateway');
    expect(excerpt('x'.repeat(201))).toBe(`${'x'.repeat(200)}...`);
  });
});
