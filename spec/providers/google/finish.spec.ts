import { describe, expect, it } from '@jest/globals';
import { createUsage, toFinishReason } from '../../../lib/providers/google/finish.js';
import { frame, read } from './frames.js';

describe('toFinishReason', () => {
  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'contentFilter'],
    ['LANGUAGE', 'contentFilter'],
    ['RECITATION', 'contentFilter'],
    ['BLOCKLIST', 'contentFilter'],
    ['PROHIBITED_CONTENT', 'contentFilter'],
    ['SPII', 'contentFilter'],
    ['IMAGE_SAFETY', 'contentFilter'],
    ['IMAGE_PROHIBITED_CONTENT', 'contentFilter'],
    ['OTHER', 'other'],
    ['NO_IMAGE', 'other'],
    ['MALFORMED_FUNCTION_CALL', 'error'],
    ['UNEXPECTED_TOOL_CALL', 'error'],
    ['IMAGE_RECITATION', 'contentFilter'],
    ['IMAGE_OTHER', 'other'],
    ['TOO_MANY_TOOL_CALLS', 'error'],
    ['MALFORMED_RESPONSE', 'error'],
    ['CONTINUATION', 'paused'],
    ['SOMETHING_NEW', 'other'],
    ['max_tokens', 'length'],
    ['content_filter', 'contentFilter'],
  ])('toFinishReason maps %s to %s', (word, reason) => {
    expect(toFinishReason(word)).toBe(reason);
  });

  it('toFinishReason leaves the word of the wire in rawReason', () => {
    expect(read(frame([], { finishReason: 'SOMETHING_NEW' })).finish).toEqual({
      type: 'finish',
      reason: 'other',
      rawReason: 'SOMETHING_NEW',
    });
  });
});

describe('createUsage', () => {
  const total = (...reports: readonly Record<string, unknown>[]) => {
    const usage = createUsage();
    reports.forEach((report) => usage.add(report));
    return usage.total();
  };

  it('createUsage replaces the input counts and the output counts each as a whole', () => {
    const full = {
      promptTokenCount: 3,
      cachedContentTokenCount: 2,
      candidatesTokenCount: 2,
      thoughtsTokenCount: 4,
      totalTokenCount: 9,
    };
    expect(total(full, { promptTokenCount: 5 })).toEqual({ input: 5, output: 6, total: 11, reasoning: 4 });
    expect(total(full, { candidatesTokenCount: 8 })).toEqual({ input: 3, output: 8, total: 11, cachedInput: 2 });
    expect(total(full, { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 })).toEqual(total(full));
  });

  it('createUsage counts thoughts as output, and the results of server tools as input', () => {
    expect(
      total({
        promptTokenCount: 10,
        toolUsePromptTokenCount: 5,
        cachedContentTokenCount: 4,
        candidatesTokenCount: 7,
        thoughtsTokenCount: 20,
        totalTokenCount: 42,
      }),
    ).toEqual({ input: 15, output: 27, total: 42, cachedInput: 4, reasoning: 20 });
  });

  it('createUsage returns no count that is not a number', () => {
    expect(total({ promptTokenCount: null, candidatesTokenCount: '3' })).toEqual({});
  });
});
