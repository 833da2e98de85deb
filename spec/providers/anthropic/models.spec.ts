import { describe, expect, it } from '@jest/globals';
import { modelMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import type { Request } from '../../../lib/core/model.js';
import { anthropic } from '../../../lib/providers/anthropic/anthropic.js';
import { encodeAnthropic } from '../../../lib/providers/anthropic/encode.js';

const messages = [userMessage('Name a river.')];
const body = (request: Partial<Request> = {}, model = 'claude-sonnet-4-5') =>
  encodeAnthropic(model, { messages, ...request }).body;

describe('findFamily', () => {
  it.each([
    ['claude-3-haiku-20240307', 4096],
    ['claude-3-5-sonnet-20241022', 8192],
    ['claude-3-7-sonnet-20250219', 64_000],
    ['claude-opus-4-20250514', 32_000],
    ['claude-opus-4-1-20250805', 32_000],
    ['anthropic/claude-sonnet-4.5', 64_000],
    ['claude-opus-4-6', 128_000],
    ['claude-opus-5', 128_000],
    ['kimi-k2', 4096],
  ])('findFamily limits the answers of %s to %d tokens', (model, limit) => {
    expect(body({}, model)['max_tokens']).toBe(limit);
  });

  it('findFamily decides the capabilities of a model', () => {
    expect(anthropic('claude-3-5-haiku-20241022').capabilities).toMatchObject({
      thinking: false,
      typedOutput: false,
      vision: true,
    });
    expect(anthropic('claude-opus-5').capabilities).toMatchObject({ thinking: true, typedOutputWithTools: true });
  });
});

describe('encodeThinking', () => {
  const thinking = (setting: NonNullable<Request['thinking']>, model?: string, more: Partial<Request> = {}) =>
    body({ thinking: setting, ...more }, model);

  it('encodeThinking sends a budget between 1024 and the limit to models that accept one', () => {
    expect(thinking(true)['thinking']).toEqual({ type: 'enabled', budget_tokens: 10_000 });
    expect(thinking({ effort: 'low' })['thinking']).toEqual({ type: 'enabled', budget_tokens: 4096 });
    expect(thinking({ budget: 2000 })['thinking']).toEqual({ type: 'enabled', budget_tokens: 2000 });
    expect(thinking(false)['thinking']).toEqual({ type: 'disabled' });
    expect(thinking({ budget: 70_000 })).toMatchObject({ max_tokens: 71_024, thinking: { budget_tokens: 70_000 } });
    expect(thinking(true, undefined, { maxOutputTokens: 4000 })).toMatchObject({
      max_tokens: 4000,
      thinking: { budget_tokens: 2000 },
    });
    expect(() => thinking({ budget: 500 })).toThrow(/at least 1024/);
    expect(() => thinking({ budget: 2000 }, undefined, { maxOutputTokens: 2000 })).toThrow(
      /less than the response's limit/,
    );
    expect(() => thinking(true, undefined, { maxOutputTokens: 1000 })).toThrow(/maxOutputTokens/);
  });

  it('encodeThinking sends adaptive thinking and an effort to newer models', () => {
    expect(thinking(true, 'claude-opus-4-7')['thinking']).toEqual({ type: 'adaptive', display: 'summarized' });
    expect(thinking({ effort: 'minimal' }, 'claude-opus-5')).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'low' },
    });
    expect(thinking({ budget: 2000 }, 'claude-opus-4-6')['thinking']).toEqual({ type: 'enabled', budget_tokens: 2000 });
    expect(() => thinking({ budget: 2000 }, 'claude-opus-4-7')).toThrow(/does not support a thinking budget.*effort/);
    expect(() => thinking(false, 'claude-mythos-5')).toThrow(/always thinks/);
  });

  it('encodeThinking refuses thinking for models that do not think, and sends nothing to switch it off', () => {
    expect(() => thinking(true, 'claude-3-5-haiku-20241022')).toThrow(/does not think/);
    expect(thinking(false, 'claude-3-5-haiku-20241022')).not.toHaveProperty('thinking');
  });
});

describe('withoutRejectedThinking', () => {
  const call: Message = { role: 'model', parts: [{ type: 'toolCall', id: 'a', name: 'x', arguments: {} }] };
  const block = { type: 'thinking', thinking: 'Hm', signature: 's' };
  const thought: Message = {
    role: 'model',
    parts: [{ type: 'text', text: '', providerData: { anthropic: { after: [block] } } }, ...call.parts],
  };
  const result = userMessage([{ type: 'toolResult', id: 'a', name: 'x', result: 1 }]);
  const thinkingAfter = (history: readonly Message[], model?: string) =>
    body({ thinking: true, messages: [...messages, ...history] }, model)['thinking'];

  it('withoutRejectedThinking drops the budget after calls that were made without thinking', () => {
    expect(thinkingAfter([call, result])).toBeUndefined();
    expect(thinkingAfter([call, result, call, result])).toBeUndefined();
  });

  it('withoutRejectedThinking keeps the budget after signed thinking, and from the next question on', () => {
    const enabled = { type: 'enabled', budget_tokens: 10_000 };
    expect(thinkingAfter([thought, result])).toEqual(enabled);
    expect(thinkingAfter([thought, result, call, result])).toEqual(enabled);
    expect(thinkingAfter([call, result, modelMessage('Loire'), userMessage('And?')])).toEqual(enabled);
  });

  it('withoutRejectedThinking keeps adaptive thinking, which is accepted with any history', () => {
    expect(thinkingAfter([call, result], 'claude-opus-4-7')).toMatchObject({ type: 'adaptive' });
  });
});
