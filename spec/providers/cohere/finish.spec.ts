import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { decodeCohere } from '../../../lib/providers/cohere/decode.js';
import { readAnswer } from '../../support/recordedAnswers.js';

const read = (...frames: readonly JsonObject[]) => readAnswer(decodeCohere, frames);
const begin = { type: 'message-start', id: 'co-1', delta: { message: { role: 'assistant', content: [] } } };
const event = (type: string, message: JsonObject, index = 0): JsonObject => ({ type, index, delta: { message } });
const content = (fields: JsonObject) => event('content-delta', { content: fields });
const end = (finish_reason: string, more: JsonObject = {}): JsonObject => ({
  type: 'message-end',
  delta: { finish_reason, ...more },
});

describe('finish of cohere', () => {
  it.each([
    ['COMPLETE', 'stop'],
    ['STOP_SEQUENCE', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['TOOL_CALL', 'toolCalls'],
    ['ERROR_TOXIC', 'contentFilter'],
    ['USER_CANCEL', 'error'],
    ['tool_calls', 'toolCalls'],
    ['length', 'length'],
    ['SOMETHING_NEW', 'other'],
  ])('toFinishReason maps the finish reason %s to %s and keeps it as rawReason', (word, reason) => {
    expect(read(begin, content({ text: 'a' }), end(word)).finish).toMatchObject({ reason, rawReason: word });
  });

  it('readUsage counts what the model read, not what is billed', () => {
    const billed_units = { input_tokens: 1, output_tokens: 2 };
    const last = end('COMPLETE', {
      usage: { billed_units, tokens: { input_tokens: 30, output_tokens: 4 }, cached_tokens: 20 },
    });
    expect(read(begin, last).finish?.usage).toEqual({ input: 30, output: 4, total: 34, cachedInput: 20 });
    expect(read(begin, end('COMPLETE', { usage: { billed_units } })).finish).not.toHaveProperty('usage');
  });

  it('readError reports a timeout', () => {
    expect(read(begin, end('TIMEOUT')).error).toMatchObject({
      code: 'provider',
      providerCode: 'TIMEOUT',
      retryable: true,
    });
  });
});
