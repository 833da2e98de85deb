import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RivuletError } from '../../../lib/core/errors.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { decodeChat } from '../../../lib/providers/cohere/decode.js';
import { itReadsRecordings, readAnswer } from '../../support/recordedAnswers.js';

itReadsRecordings('cohere', decodeChat);

const read = (...frames: readonly JsonObject[]) => readAnswer(decodeChat, frames);
const begin = { type: 'message-start', id: 'co-1', delta: { message: { role: 'assistant', content: [] } } };
const said = (type: string, message: JsonObject, index = 0): JsonObject => ({ type, index, delta: { message } });
const content = (fields: JsonObject) => said('content-delta', { content: fields });
const end = (finish_reason: string, more: JsonObject = {}): JsonObject => ({
  type: 'message-end',
  delta: { finish_reason, ...more },
});

describe('cohere: an answer', () => {
  it('tells its id once, before the first chunk, and nothing before an error', () => {
    expect(read(begin, content({ text: 'Hi' }), end('COMPLETE')).chunks).toEqual([
      { type: 'metadata', metadata: { responseId: 'co-1' } },
      { type: 'text', text: 'Hi' },
      { type: 'finish', reason: 'stop', rawReason: 'COMPLETE' },
    ]);
    const failed = read(begin, end('ERROR', { error: 'down' }));
    expect(failed.chunks).toEqual([]);
    expect(failed.error).toMatchObject({
      code: 'provider',
      retryable: true,
      message: expect.stringContaining('down') as unknown,
    });
  });

  it.each([
    ['COMPLETE', 'stop'],
    ['STOP_SEQUENCE', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['TOOL_CALL', 'toolCalls'],
    ['ERROR_TOXIC', 'contentFilter'],
    ['tool_calls', 'toolCalls'],
    ['length', 'length'],
    ['SOMETHING_NEW', 'other'],
  ])('that ends with %s finishes with %s', (word, reason) => {
    expect(read(begin, content({ text: 'a' }), end(word)).finish).toMatchObject({ reason, rawReason: word });
  });

  it('counts what the model read, not what is billed, and nothing where only that is told', () => {
    const billed_units = { input_tokens: 1, output_tokens: 2 };
    const told = end('COMPLETE', {
      usage: { billed_units, tokens: { input_tokens: 30, output_tokens: 4 }, cached_tokens: 20 },
    });
    expect(read(begin, told).finish?.usage).toEqual({ input: 30, output: 4, total: 34, cachedInput: 20 });
    expect(read(begin, end('COMPLETE', { usage: { billed_units } })).finish).not.toHaveProperty('usage');
  });

  it('is interrupted when it ends without message-end', () => {
    expect(read(begin, content({ text: 'a' })).error).toMatchObject({ code: 'stream_interrupted', provider: 'cohere' });
  });

  it('fails with a time-out, and with a frame that is an error', () => {
    expect(read(begin, end('TIMEOUT')).error).toMatchObject({
      code: 'provider',
      providerCode: 'TIMEOUT',
      retryable: true,
    });
    expect(read({ message: 'no such model' }).error).toMatchObject({ code: 'provider', retryable: false });
  });

  it('keeps the plan and the thinking for the calls they came with, and shows no plan', () => {
    const call = (type: string, toolCalls: JsonObject) => said(type, { tool_calls: toolCalls });
    const { message, text } = read(
      begin,
      said('tool-plan-delta', { tool_plan: 'I will ' }),
      said('tool-plan-delta', { tool_plan: 'look.' }),
      content({ thinking: 'hm' }),
      call('tool-call-start', { id: 'a', function: { name: 'now', arguments: '' } }),
      { type: 'tool-call-end', index: 0 },
      end('TOOL_CALL'),
    );
    expect(text).toBe('');
    expect(message).toEqual({
      role: 'model',
      parts: [{ type: 'toolCall', id: 'a', name: 'now', arguments: {} }],
      metadata: { cohere: { tool_plan: 'I will look.', thinking: 'hm' } },
    });
  });

  it('exposes no call that the limit of tokens has cut', () => {
    const cut = read(
      begin,
      said('tool-call-start', { tool_calls: { id: 'a', function: { name: 'write', arguments: '' } } }),
      said('tool-call-delta', { tool_calls: { function: { arguments: '{"text":"on' } } }),
      { type: 'tool-call-end', index: 0 },
      end('MAX_TOKENS'),
    );
    expect(cut.calls).toEqual([]);
  });

  it('gives chunks, or an error of ours, for any frames', () => {
    const json = fc.jsonValue();
    const message = fc.record(
      { content: json, tool_plan: json, tool_calls: json, citations: json },
      { requiredKeys: [] },
    );
    const delta = fc.record(
      { message: fc.oneof(message, json), finish_reason: json, usage: json, error: json },
      { requiredKeys: [] },
    );
    const type = fc.constantFrom(
      ...[
        'message-start',
        'content-start',
        'content-delta',
        'tool-plan-delta',
        'tool-call-start',
        'tool-call-delta',
        'tool-call-end',
      ],
      ...['citation-start', 'message-end', 'toString', 'new'],
    );
    const frame = fc.record({ type, index: json, id: json, delta: fc.oneof(delta, json) }, { requiredKeys: ['type'] });
    fc.assert(
      fc.property(fc.array(fc.oneof(frame, fc.dictionary(fc.string(), json)), { maxLength: 10 }), (frames) => {
        const { error } = readAnswer(decodeChat, frames as unknown as readonly JsonObject[]);
        if (error !== undefined) expect(error).toBeInstanceOf(RivuletError);
      }),
      { numRuns: 500 },
    );
  });
});

describe('cohere: calls in the first event', () => {
  it('are calls, also beside others', () => {
    const calls = ['a', 'b'].map((id) => ({
      id,
      type: 'function',
      function: { name: 'f', arguments: `{"of":"${id}"}` },
    }));
    const { message } = read(
      { ...said('message-start', { role: 'assistant', tool_calls: calls }), id: 'co-1' },
      end('TOOL_CALL'),
    );
    expect(message?.parts).toMatchObject([
      { type: 'toolCall', id: 'a', arguments: { of: 'a' } },
      { type: 'toolCall', id: 'b', arguments: { of: 'b' } },
    ]);
  });
});
