import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { begin, end, read, textBlock } from './frames.js';

describe('toFinishReason', () => {
  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'toolCalls'],
    ['pause_turn', 'paused'],
    ['compaction', 'paused'],
    ['refusal', 'contentFilter'],
    ['tool_calls', 'toolCalls'],
    ['length', 'length'],
    ['stop', 'stop'],
    ['something_new', 'other'],
  ])('toFinishReason maps %s to %s, and the finish keeps the word as rawReason', (word, reason) => {
    expect(read(begin(), ...textBlock(0, 'a'), ...end(word)).finish).toMatchObject({ reason, rawReason: word });
  });
});

describe('UsageCounter', () => {
  it('UsageCounter adds cached tokens to the input', () => {
    const input = { input_tokens: 5, cache_creation_input_tokens: 10, cache_read_input_tokens: 100 };
    const output = { output_tokens: 40, output_tokens_details: { thinking_tokens: 30 } };
    expect(read(begin({ usage: { ...input, output_tokens: 1 } }), ...end('end_turn', output)).finish?.usage).toEqual({
      input: 115,
      output: 40,
      total: 155,
      cachedInput: 100,
      cacheWriteInput: 10,
      reasoning: 30,
    });
  });

  it('UsageCounter replaces all input counts by those of a later report, and never mixes two reports', () => {
    const usage = (first: JsonObject, last: JsonObject) =>
      read(begin({ usage: { ...first, output_tokens: 1 } }), ...end('end_turn', { ...last, output_tokens: 40 })).finish
        ?.usage;
    const cached = { input_tokens: 100, cache_read_input_tokens: 55_096 };
    expect(usage(cached, { input_tokens: 181, cache_read_input_tokens: 0 })).toEqual({
      input: 181,
      output: 40,
      total: 221,
      cachedInput: 0,
    });
    expect(usage(cached, { input_tokens: 181 })).toEqual({ input: 181, output: 40, total: 221 });
    expect(usage(cached, {})).toEqual({ input: 55_196, output: 40, total: 55_236, cachedInput: 55_096 });
  });

  it('UsageCounter ignores zeros of a later report, and returns no usage if all counts are 0', () => {
    const zeros = { input_tokens: 0, output_tokens: 7 };
    expect(read(begin(), ...end('end_turn', zeros)).finish?.usage).toEqual({ input: 20, output: 7, total: 27 });
    const none = read(
      begin({ usage: { input_tokens: 0, output_tokens: 0 } }),
      ...end('end_turn', { output_tokens: 0 }),
    );
    expect(none.finish).not.toHaveProperty('usage');
  });

  it('UsageCounter tells the cache writes of one hour from those of five minutes', () => {
    const cache_creation = { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 30 };
    const input = { input_tokens: 5, cache_creation_input_tokens: 40, cache_creation };
    const { finish } = read(begin({ usage: { ...input, output_tokens: 1 } }), ...end('end_turn', { output_tokens: 2 }));
    expect(finish?.usage).toEqual({ input: 45, output: 2, total: 47, cacheWriteInput: 40, longCacheWriteInput: 30 });
  });

  it('UsageCounter adds the tokens of a compaction, which are billed and not in the totals', () => {
    const counts = (input: number, output: number) => ({
      input_tokens: input,
      output_tokens: output,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    });
    const iterations = [
      { type: 'compaction', ...counts(180_000, 3500), cache_read_input_tokens: 20_000 },
      { type: 'message', ...counts(23_000, 1000) },
      { type: 'advisor_message', model: 'claude-opus-5', ...counts(500, 50) },
    ];
    const last = { ...counts(23_000, 1000), iterations };
    expect(read(begin(), ...end('end_turn', last)).finish?.usage).toEqual({
      input: 223_000,
      output: 4500,
      total: 227_500,
      cachedInput: 20_000,
      cacheWriteInput: 0,
    });
  });
});
