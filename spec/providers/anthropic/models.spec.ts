import { describe, expect, it } from '@jest/globals';
import { modelMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { anthropic } from '../../../lib/providers/anthropic/anthropic.js';
import { encodeAnthropic } from '../../../lib/providers/anthropic/encode.js';

const messages = [userMessage('Name a river.')];
const body = (request: Partial<ModelRequest> = {}, model = 'claude-sonnet-4-5') =>
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
    ['claude-haiku-5-5', 128_000],
    ['claude-fable-5-2', 128_000],
    ['claude-mythos-preview', 128_000],
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
  const thinking = (setting: NonNullable<ModelRequest['thinking']>, model?: string, more: Partial<ModelRequest> = {}) =>
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

  it.each(['xhigh', 'max'] as const)('encodeThinking sends the effort %s, about which the server decides', (effort) => {
    const model = 'deepseek-v4-pro';
    const expected = { thinking: { type: 'enabled', budget_tokens: 32_000 }, output_config: { effort } };
    expect(thinking({ effort }, model)).toMatchObject(expected);
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

  it.each([
    ['claude-opus-4-6', 'max', 'xhigh'],
    ['claude-sonnet-4-6', 'max', 'xhigh'],
    ['claude-mythos-preview', 'max', 'xhigh'],
    ['claude-sonnet-4-5', 'high', 'max'],
  ] as const)('encodeThinking knows the efforts of %s: it has %s, but not %s', (model, known, unknown) => {
    expect(() => thinking({ effort: known }, model)).not.toThrow();
    expect(() => thinking({ effort: unknown }, model)).toThrow(`${model} has no thinking effort "${unknown}"`);
  });

  it.each(['claude-opus-4-8', 'claude-opus-5', 'claude-opus-5-5', 'claude-sonnet-5-5', 'claude-fable-5-2'])(
    'encodeThinking sends the efforts xhigh and max to %s',
    (model) => {
      for (const effort of ['low', 'medium', 'high', 'xhigh', 'max'] as const)
        expect(thinking({ effort }, model)).toMatchObject({
          thinking: { type: 'adaptive' },
          output_config: { effort },
        });
    },
  );

  it.each([
    ['claude-opus-5', 'disabled'],
    ['claude-haiku-5-5', 'disabled'],
    ['claude-sonnet-5-5', 'between_tools'],
  ])('encodeThinking switches thinking off for %s with %s', (model, type) => {
    expect(thinking(false, model)['thinking']).toEqual({ type });
  });

  it.each(['claude-opus-5-5', 'claude-fable-5', 'claude-fable-5-1', 'claude-mythos-preview'])(
    'encodeThinking refuses to switch thinking off for %s, and refuses a budget',
    (model) => {
      expect(() => thinking(false, model)).toThrow(`${model} always thinks`);
      expect(() => thinking({ budget: 2000 }, model)).toThrow(/does not support a thinking budget/);
    },
  );

  it('encodeThinking refuses thinking for models that do not think, and sends nothing to switch it off', () => {
    expect(() => thinking(true, 'claude-3-5-haiku-20241022')).toThrow(/does not think/);
    expect(thinking(false, 'claude-3-5-haiku-20241022')).not.toHaveProperty('thinking');
  });
});

describe('rejectRefusedSettings', () => {
  const tools = [{ name: 'add', description: 'Adds.', parameters: { type: 'object' } }];

  it('rejectRefusedSettings refuses a forced tool choice for the models that refuse it', () => {
    for (const model of ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-fable-5-2']) {
      expect(() => body({ tools, toolChoice: 'required' }, model)).toThrow(
        `${model} does not accept a forced tool choice`,
      );
      expect(() => body({ tools, toolChoice: { name: 'add' } }, model)).toThrow(/toolChoice: 'auto'/);
      expect(body({ tools, toolChoice: 'auto' }, model)['tool_choice']).toEqual({ type: 'auto' });
    }
    expect(body({ tools, toolChoice: 'required' }, 'claude-opus-5')['tool_choice']).toEqual({ type: 'any' });
  });

  it('rejectRefusedSettings refuses sampling for the models that refuse it, except for the default', () => {
    const opus = ['claude-opus-4-7', 'claude-opus-4-8', 'claude-opus-5', 'claude-opus-5-5'];
    const others = [
      'claude-fable-5',
      'claude-mythos-5',
      'claude-mythos-preview',
      'claude-sonnet-5',
      'claude-haiku-5-5',
    ];
    for (const model of [...opus, ...others]) {
      expect(() => body({ temperature: 0 }, model)).toThrow(
        `${model} does not accept temperature (0). Omit temperature.`,
      );
      expect(() => body({ topP: 0.9 }, model)).toThrow(`${model} does not accept topP (0.9)`);
      expect(body({ temperature: 1 }, model)['temperature']).toBe(1);
    }
    expect(body({ temperature: 0 }, 'claude-opus-4-6')['temperature']).toBe(0);
  });
});

describe('withoutRejectedThinking', () => {
  const call: Message = { role: 'model', parts: [{ type: 'toolCall', id: 'a', name: 'x', arguments: {} }] };
  const block = { type: 'thinking', thinking: 'Hm', signature: 's' };
  const thought: Message = {
    role: 'model',
    parts: [{ type: 'provider', provider: 'anthropic', data: block }, ...call.parts],
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
