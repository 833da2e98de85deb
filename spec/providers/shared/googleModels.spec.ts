import { describe, expect, it } from '@jest/globals';
import { encodeGoogle } from '../../../lib/providers/google/encode.js';
import { encodeThinking, modelGeneration } from '../../../lib/providers/shared/googleModels.js';

describe('encodeThinking', () => {
  it('encodeThinking sends a level or a budget, as the model supports it', () => {
    expect(encodeGoogle('gemini-2.5-flash', { messages: [] }).body).not.toHaveProperty('generationConfig');
    expect(encodeThinking('gemini-2.5-flash', true)).toEqual({ includeThoughts: true, thinkingBudget: -1 });
    expect(encodeThinking('gemini-2.5-flash', false)).toEqual({ thinkingBudget: 0 });
    expect(encodeThinking('gemini-2.5-flash', { effort: 'medium' })).toEqual({
      includeThoughts: true,
      thinkingBudget: 8192,
    });
    expect(encodeThinking('gemini-2.5-flash', { effort: 'low', budget: 99 })).toEqual({
      includeThoughts: true,
      thinkingBudget: 99,
    });
    expect(encodeThinking('gemini-3-flash-preview', true)).toEqual({ includeThoughts: true });
    expect(encodeThinking('gemini-3-flash-preview', false)).toEqual({ thinkingLevel: 'minimal' });
    expect(encodeThinking('gemini-3-pro-preview', { effort: 'low', budget: 99 })).toEqual({
      includeThoughts: true,
      thinkingLevel: 'low',
    });
    expect(encodeThinking('gemini-3-pro-preview', { budget: 99 })).toEqual({
      includeThoughts: true,
      thinkingBudget: 99,
    });
    expect(() => encodeThinking('gemini-2.5-pro', false)).toThrow(/gemini-2.5-pro always thinks.*Flash/);
  });

  it.each(['gemini-4-hydrogen', 'gemini-4-argon'])('encodeThinking cannot turn off the thinking of %s', (model) => {
    expect(() => encodeThinking(model, false)).toThrow(
      expect.objectContaining({ subject: 'capability', message: expect.stringMatching(/always thinks/) as unknown }),
    );
  });
});

describe('encodeThinking: levels', () => {
  it.each([
    ['gemini-3-pro-preview', ['low', 'high']],
    ['gemini-3.1-pro-preview', ['low', 'medium', 'high']],
    ['gemini-3.8-flash', ['minimal', 'low', 'medium', 'high']],
    ['gemini-3.1-flash-lite', ['minimal', 'low', 'medium', 'high']],
    ['gemini-2.5-flash', ['minimal', 'low', 'medium', 'high']],
    ['gemini-4-argon', ['low', 'medium', 'high']],
    ['models/gemini-4-hydrogen', ['low', 'medium', 'high', 'xhigh']],
  ])('encodeThinking knows the levels of %s: %j', (model, levels) => {
    for (const effort of ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const)
      if (levels.includes(effort)) expect(encodeThinking(model, { effort })).toMatchObject({ includeThoughts: true });
      else
        expect(() => encodeThinking(model, { effort })).toThrow(`google:${model} has no thinking effort "${effort}"`);
  });
});

describe('modelGeneration', () => {
  it.each([
    ['gemini-2.5-flash', 2.5],
    ['models/gemini-3-pro-preview', 3],
    ['gemini-3.1-pro', 3.1],
    ['gemini-3.8-flash', 3.8],
    ['gemini-4-argon', 4],
    ['gemini-flash-latest', undefined],
    ['tunedModels/mine', undefined],
  ])('modelGeneration finds in %s the generation %s', (name, generation) => {
    expect(modelGeneration(name)).toBe(generation);
  });
});
