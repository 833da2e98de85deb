import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { callItem, completed, created, messageItem, read, textDelta } from './frames.js';
import type { Event } from './frames.js';

describe('readFinish', () => {
  const incomplete = (reason: string | null) => ({
    type: 'response.incomplete',
    response: {
      status: 'incomplete',
      incomplete_details: reason === null ? null : { reason },
      output: [messageItem('Half')],
    },
  });
  it('readFinish takes the rawReason of a completed response from its status', async () => {
    expect((await read([textDelta('Hi'), completed()])).finish).toMatchObject({
      reason: 'stop',
      rawReason: 'completed',
    });
    expect((await read([completed([callItem()])])).finish).toMatchObject({
      reason: 'toolCalls',
      rawReason: 'completed',
    });
  });

  it.each([
    ['max_output_tokens', 'length', 'max_output_tokens'],
    ['max_tokens', 'length', 'max_tokens'],
    ['content_filter', 'contentFilter', 'content_filter'],
    ['max_messages', 'limit', 'max_messages'],
    ['steered', 'other', 'steered'],
    ['something_new', 'length', 'something_new'],
    [null, 'length', 'incomplete'],
  ])(
    'readFinish maps an incomplete response with the reason %s to %s, with the rawReason %s',
    async (reason, expected, word) => {
      const { text, finish } = await read([textDelta('Ha'), incomplete(reason)]);
      expect(text).toBe('Half');
      expect(finish).toMatchObject({ reason: expected, rawReason: word });
    },
  );

  it.each([null, 'max_messages', 'max_output_tokens', 'server_overloaded', 'completed'])(
    'a call that was cut is not complete in a response that ends with %s',
    async (reason) => {
      const cut = { ...callItem(), arguments: '', status: 'incomplete' };
      const isCompleted = reason === 'completed';
      const end = isCompleted
        ? completed([cut])
        : { ...incomplete(reason), response: { ...incomplete(reason).response, output: [cut] } };
      const { calls, finish } = await read([end]);
      expect(calls).toEqual([]);
      expect(finish).toMatchObject({ reason: reason === 'max_messages' ? 'limit' : 'length' });
    },
  );

  it('readEndStatus prefers the status of the response to a completed event', async () => {
    const truncated = completed([], { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    expect((await read([textDelta('Ha'), truncated])).finish).toMatchObject({ reason: 'length' });
  });

  it('readUsage includes cached and reasoning tokens in input and output', async () => {
    const usage = {
      ...{ input_tokens: 50, input_tokens_details: { cached_tokens: 20 }, output_tokens: 30 },
      ...{ output_tokens_details: { reasoning_tokens: 10 }, total_tokens: 80 },
    };
    expect((await read([completed([], { usage })])).finish?.usage).toEqual({
      input: 50,
      output: 30,
      total: 80,
      cachedInput: 20,
      reasoning: 10,
    });
    expect((await read([completed([], { usage: null })])).finish).not.toHaveProperty('usage');
    expect((await read([completed([], { usage: { input_tokens: 0, output_tokens: 0 } })])).finish).not.toHaveProperty(
      'usage',
    );
  });
});

describe('createResponseError', () => {
  const failed = (error: JsonObject | null) => ({
    type: 'response.failed',
    response: { id: 'resp_1', status: 'failed', error, output: [messageItem('Half')] },
  });
  const failures: readonly (readonly [string, Event, string, boolean])[] = [
    ['a retryable response.failed', failed({ code: 'rate_limit_exceeded', message: 'Too fast' }), 'Too fast', true],
    ['response.failed of a server error', failed({ code: 'server_error', message: 'Oops' }), 'Oops', true],
    ['response.failed for good', failed({ code: 'invalid_prompt', message: 'No' }), 'No', false],
    ['response.failed without a reason', failed(null), 'failed, without a reason', false],
    [
      'a completed response that failed',
      completed([messageItem('Half')], { status: 'failed', error: { code: 'server_error', message: 'Oops' } }),
      'Oops',
      true,
    ],
    [
      'response.cancelled',
      { type: 'response.cancelled', response: { status: 'cancelled', output: [messageItem('Half')] } },
      'was cancelled',
      false,
    ],
  ];
  it.each(failures)('createResponseError reports %s, after all text', async (_, event, errorText, retryable) => {
    const { text, finish, error } = await read([created, textDelta('Ha'), event]);
    expect(text).toBe('Half');
    expect(finish).toBeUndefined();
    expect(error).toMatchObject({
      code: 'provider',
      provider: 'openai',
      retryable,
      message: expect.stringContaining(errorText) as unknown,
    });
  });

  it.each([
    [{ type: 'error', code: 'server_error', message: 'The engine' }],
    [{ type: 'error', error: { type: 'server_error', code: null, message: 'The engine' } }],
    [{ error: { code: 'server_error', message: 'The engine' } }],
  ])('isErrorEvent recognises %j, and nothing is emitted before it if it is the first', async (event) => {
    const { chunks, error } = await read([created, event]);
    expect(chunks).toEqual([]);
    expect(error).toMatchObject({
      code: 'provider',
      providerCode: 'server_error',
      retryable: true,
      message: expect.stringContaining('The engine') as unknown,
    });
  });
});
