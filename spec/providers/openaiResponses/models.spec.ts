import { describe, expect, it } from '@jest/globals';
import { isReasoningModel } from '../../../lib/providers/openaiResponses/models.js';

describe('isReasoningModel', () => {
  it.each([
    ['o3', true],
    ['gpt-5-mini', true],
    ['gpt-5.2-pro', true],
    ['ft:o4-mini:us:x', true],
    ['openai/gpt-5', true],
    ['gpt-5-chat-latest', false],
    ['gpt-5.2-chat-latest', false],
    ['gpt-4.1', false],
    ['chatgpt-4o-latest', false],
    ['gpt-6-astra', true],
    ['gpt-6.1-terra', true],
    ['gpt-5.6-luna', true],
    ['gpt-audio-mini', false],
    ['mine', undefined],
  ])('isReasoningModel(%j) is %j', (model, expected) => {
    expect(isReasoningModel(model)).toBe(expected);
  });
});
