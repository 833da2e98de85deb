import { describe, expect, it } from '@jest/globals';
import {
  ConfigurationError,
  ConnectionError,
  HttpError,
  ProviderError,
  RivuletError,
  StreamInterruptedError,
} from '../../lib/core/errors.js';
import { ContextLengthError } from '../../lib/core/contextLengthError.js';
import { TimeoutError } from '../../lib/core/timeoutError.js';
import { describeError, describeErrorJson, publicToolError } from '../../lib/transport/publicError.js';

const internal = { code: 'internal', message: 'The run failed.', retryable: false };

class OwnError extends RivuletError {
  override readonly name = 'OwnError';
  override readonly code = 'own';
  override readonly retryable = true;
  constructor(override readonly isPublic: boolean) {
    super('The order is closed.');
  }
}

const secret = 'https://inner.example said sk-1';
const rows: readonly (readonly [error: unknown, described: object])[] = [
  [
    new HttpError(secret, { provider: 'p', status: 500, retryable: true }),
    { code: 'http', message: 'The model did not accept the request.', retryable: true },
  ],
  [
    new ProviderError('p', secret, { retryable: false }),
    { code: 'provider', message: 'The model has reported an error.', retryable: false },
  ],
  [new ConnectionError('p', secret), { code: 'connection', message: 'The model cannot be reached.', retryable: true }],
  [
    new StreamInterruptedError('p', secret),
    { code: 'stream_interrupted', message: 'The response of the model broke off.', retryable: true },
  ],
  [
    new ContextLengthError(secret, { provider: 'p' }),
    {
      code: 'context_length',
      message: 'The conversation is too long for the model. Start another one.',
      retryable: false,
    },
  ],
  [new TimeoutError('each', 5), { code: 'timeout', message: 'The answer took too long.', retryable: false }],
  [new ConfigurationError('options', secret, secret), internal],
  [new OwnError(true), { code: 'own', message: 'The order is closed.', retryable: true }],
  [new OwnError(false), internal],
  [new Error(secret), internal],
  [{ code: 'http', message: secret }, internal],
  [undefined, internal],
];

describe('what a person reads of an error', () => {
  it.each(rows)('describeError says nothing of a provider or server: %s', (error, described) => {
    expect(describeError(error)).toEqual(described);
  });

  it.each([
    [
      { code: 'timeout', retryable: true },
      { code: 'timeout', message: 'The answer took too long.', retryable: true },
    ],
    [
      { code: 'rate_limit', message: secret },
      { code: 'rate_limit', message: expect.any(String), retryable: false },
    ],
    [
      { code: 'timeout', retryable: 'yes' },
      { code: 'timeout', message: 'The answer took too long.', retryable: false },
    ],
    [{ code: 'own', message: secret, retryable: true }, internal],
    [{ code: 'toString', retryable: true }, internal],
    [{ code: 5 }, internal],
    [{}, internal],
  ])('describeErrorJson of %j', (error, described) => {
    expect(describeErrorJson(error)).toEqual(described);
  });

  it.each([
    [undefined, 'The tool failed.'],
    ['failed', 'The tool failed.'],
    ['incomplete', 'The tool ended without an answer.'],
    ['unknown_tool', 'There is no such tool.'],
    ['invalid_arguments', 'The arguments of the call are not valid.'],
    ['timeout', 'The tool did not finish in time.'],
    ['outcome_unknown', 'It is not known whether the call was executed: its process ended. It is not executed again.'],
    ['toString', 'The tool failed.'],
    ['own', 'The tool failed.'],
  ])('publicToolError for %s is: %s', (code, text) => {
    expect(publicToolError(code as 'failed')).toBe(text);
  });
});
