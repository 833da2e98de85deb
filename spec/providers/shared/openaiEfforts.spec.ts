import { describe, expect, it } from '@jest/globals';
import type { ThinkingEffort } from '../../../lib/core/model.js';
import { checkOpenAiEffort, checkOpenAiNoThinking } from '../../../lib/providers/shared/openaiEfforts.js';

const all: readonly ThinkingEffort[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** The levels that a model accepts. */
const accepted = (model: string, provider = 'openai') =>
  all.filter((effort) => {
    try {
      return checkOpenAiEffort(provider, model, effort) === effort;
    } catch {
      return false;
    }
  });

describe('checkOpenAiEffort', () => {
  it.each([
    ['o3', 'low medium high'],
    ['ft:o4-mini:us:x', 'low medium high'],
    ['gpt-5-2025-08-07', 'minimal low medium high'],
    ['openai/gpt-5-nano', 'minimal low medium high'],
    ['gpt-5-pro', 'high'],
    ['gpt-5.1', 'low medium high'],
    ['gpt-5.1-codex', 'low medium high'],
    ['gpt-5.4-mini-2026-03-17', 'low medium high xhigh'],
    ['gpt-5.6-luna', 'low medium high xhigh max'],
    ['gpt-6-astra', 'low medium high xhigh max'],
    ['gpt-6-sol', 'low medium high xhigh max'],
    ['gpt-6-luna', 'low medium high xhigh max'],
    ['gpt-6.1-sol', 'low medium high xhigh max'],
    ['gpt-6.1-terra-2026-10-26', 'low medium high xhigh max'],
    ['gpt-7', all.join(' ')],
    ['our-deployment', all.join(' ')],
  ])('checkOpenAiEffort accepts for %s: %s', (model, efforts) => {
    expect(accepted(model).join(' ')).toBe(efforts);
  });

  it('checkOpenAiEffort accepts max only for the Responses API', () => {
    for (const model of ['gpt-6-astra', 'gpt-6-luna', 'gpt-6.1-terra', 'gpt-5.6-sol'])
      expect(accepted(model, 'openai-chat').join(' ')).toBe('low medium high xhigh');
  });

  it('checkOpenAiNoThinking throws for a model that always thinks', () => {
    for (const model of ['gpt-6-astra', 'openai/gpt-6.1-sol'])
      expect(() => checkOpenAiNoThinking('openai-chat', model)).toThrow(
        expect.objectContaining({ subject: 'capability' }),
      );
    for (const model of ['gpt-6.1-terra', 'gpt-6-luna', 'ours'])
      expect(() => checkOpenAiNoThinking('openai-chat', model)).not.toThrow();
  });

  it('checkOpenAiEffort names the levels that the model has', () => {
    expect(() => checkOpenAiEffort('openai-chat', 'gpt-5.1', 'max')).toThrow(
      expect.objectContaining({
        subject: 'options',
        message: expect.stringMatching(
          /openai-chat:gpt-5\.1 has no thinking effort "max".*low, medium, high/s,
        ) as unknown,
      }),
    );
  });
});
