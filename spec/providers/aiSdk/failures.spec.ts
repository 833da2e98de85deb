import type { LanguageModelV4 } from '@ai-sdk/provider';
import { APICallError } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { fromAiSdk } from 'rivulet/ai-sdk';
import { acme, endOf } from './acme.js';

/** How a model ends whose `doStream` fails with this. */
const failing = (thrown: Error) => {
  const { sdk } = acme([]);
  const model: LanguageModelV4 = { ...sdk, doStream: () => Promise.reject(thrown) };
  return endOf(fromAiSdk(model, { retry: false }));
};
const call = { url: 'https://acme.example', requestBodyValues: {} };

describe('callFailure', () => {
  it('takes a call without a status for one that found no connection', async () => {
    const refused = new APICallError({ ...call, message: 'Cannot connect to API', isRetryable: true });
    expect(await failing(refused)).toMatchObject([{ kind: 'E', error: { code: 'connection', retryable: true } }]);
  });

  it.each([true, false])(
    "takes an error within an answer of status 200 for the provider's, retryable: %s",
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
