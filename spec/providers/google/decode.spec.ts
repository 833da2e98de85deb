import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { decodeGoogle } from '../../../lib/providers/google/decode.js';
import { encodeGoogle } from '../../../lib/providers/google/encode.js';
import { recordings } from '../../support/recordings.js';
import { expectQuirk, expectRecorded, quirksOf, wholeAnswer } from '../wholeAnswer.js';
import { call, frame, read, stop } from './frames.js';

describe('decodeGoogle: recordings', () => {
  it.each([...recordings('spec/recordings/google'), ...recordings('../shared/recordings/google')])(
    'decodeGoogle reads $name as recorded',
    (recording) => expectRecorded(recording, wholeAnswer(decodeGoogle, recording.frames)),
  );

  const quirks = quirksOf('google');
  if (quirks.length > 0)
    it.each(quirks)('decodeGoogle handles quirk $id: $title', (quirk) => expectQuirk(quirk, decodeGoogle));
});

describe('decodeGoogle', () => {
  it('decodeGoogle emits metadata once, before the first other chunk, and the finish last, with the last usage', () => {
    const usage = (candidatesTokenCount: number): JsonObject => ({
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount },
    });
    const { chunks } = read(
      { usageMetadata: { promptTokenCount: 3 }, responseId: 'r1' },
      frame([{ text: 'Hm', thought: true }, { text: 'Hi' }], {}, usage(1)),
      frame([{ text: '!' }], { finishReason: 'STOP' }, usage(2)),
      frame([], { finishReason: 'MAX_TOKENS' }, { usageMetadata: {} }),
    );
    expect(chunks).toEqual([
      { type: 'metadata', metadata: { responseId: 'r1', model: 'gemini-x' } },
      { type: 'thinking', text: 'Hm' },
      { type: 'text', text: 'Hi' },
      { type: 'text', text: '!' },
      { type: 'finish', reason: 'stop', rawReason: 'STOP', usage: { input: 3, output: 2, total: 5 } },
    ]);
  });

  it('decodeGoogle takes the last finish reason if the response continued after the first', () => {
    const rhine = frame([{ text: 'Rhine' }]);
    const { finish, text } = read(
      stop,
      rhine,
      call({ name: 'f', args: { a: 1 } }),
      frame([], { finishReason: 'MAX_TOKENS' }),
    );
    expect(text).toBe('Rhine');
    expect(finish).toMatchObject({ reason: 'length', rawReason: 'MAX_TOKENS' });
    expect(read(rhine, stop, frame([], { finishReason: 'OTHER' })).finish).toMatchObject({ reason: 'stop' });
  });

  it('decodeGoogle ignores FINISH_REASON_UNSPECIFIED', () => {
    const unspecified = frame([{ text: 'Rhi' }], { finishReason: 'FINISH_REASON_UNSPECIFIED' });
    expect(read(unspecified, frame([], { finishReason: 'MAX_TOKENS' })).finish).toMatchObject({ reason: 'length' });
    expect(read(unspecified).error).toMatchObject({ code: 'stream_interrupted' });
  });

  it('decodeGoogle emits finishMessage and safetyRatings as metadata, except after STOP', () => {
    const why = { finishMessage: 'Bad call', safetyRatings: [{ category: 'X' }] };
    expect(read(frame([], { finishReason: 'MALFORMED_FUNCTION_CALL', ...why })).chunks).toContainEqual({
      type: 'metadata',
      metadata: why,
    });
    expect(read(frame([], { finishReason: 'STOP', ...why })).chunks).not.toContainEqual({
      type: 'metadata',
      metadata: why,
    });
  });

  it('decodeGoogle finishes a refused prompt with contentFilter', () => {
    const { finish, error } = read({ promptFeedback: { blockReason: 'SAFETY' } });
    expect(error).toBeUndefined();
    expect(finish).toEqual({ type: 'finish', reason: 'contentFilter', rawReason: 'SAFETY' });
  });

  it('decodeGoogle throws an interruption without a finish reason, after the text that arrived', () => {
    const { text, error, finish } = read(frame([{ text: 'Half' }]));
    expect(text).toBe('Half');
    expect(finish).toBeUndefined();
    expect(error).toMatchObject({ code: 'stream_interrupted', provider: 'google', retryable: true });
  });

  it.each([
    [503, 'UNAVAILABLE', true],
    [429, 'RESOURCE_EXHAUSTED', true],
    [400, 'INVALID_ARGUMENT', false],
  ])('decodeGoogle throws error %i of a stream, %s, retryable: %s', (code, status, retryable) => {
    const { text, error } = read(frame([{ text: 'Half' }]), { error: { code, message: 'No.', status } });
    expect(text).toBe('Half');
    expect(error).toMatchObject({
      code: 'provider',
      providerCode: status,
      retryable,
      message: expect.stringContaining('No.') as unknown,
    });
  });
});

describe('decodeGoogle: any frames', () => {
  const odd = fc.oneof(fc.jsonValue(), fc.constant(null), fc.constant(''), fc.constant([]));
  const functionCall = fc.record(
    {
      name: odd,
      id: odd,
      args: odd,
      willContinue: odd,
      partialArgs: fc.array(fc.record({ jsonPath: odd, stringValue: odd }), { maxLength: 3 }),
    },
    { requiredKeys: [] },
  );
  const part = fc.record(
    { text: odd, thought: odd, thoughtSignature: odd, functionCall, inlineData: odd, executableCode: odd },
    { requiredKeys: [] },
  );
  const candidate = fc.record(
    {
      content: fc.oneof(odd, fc.record({ parts: fc.oneof(odd, fc.array(part)) })),
      finishReason: odd,
      groundingMetadata: odd,
      index: odd,
    },
    { requiredKeys: [] },
  );
  const anyFrame = fc.record(
    {
      candidates: fc.oneof(odd, fc.array(candidate)),
      usageMetadata: odd,
      promptFeedback: odd,
      error: odd,
      responseId: odd,
    },
    { requiredKeys: [] },
  );

  it('decodeGoogle ends with one finish or with a RivuletError, and its message can be encoded', () => {
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 5 }), (frames) => {
        const { chunks, error, message } = wholeAnswer(decodeGoogle, frames as JsonObject[]);
        const finishes = chunks.filter(({ type }) => type === 'finish').length;
        if (error === undefined) expect(finishes).toBe(1);
        else expect(['stream_interrupted', 'provider']).toContain((error as { code?: string }).code);
        if (message) expect(() => encodeGoogle('gemini-3', { messages: [userMessage('a'), message] })).not.toThrow();
      }),
    );
  });
});
