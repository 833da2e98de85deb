import { describe, expect, it } from '@jest/globals';
import { requireModel } from '../../lib/core/requireModel.js';
import { scriptedModel } from '../../lib/testing/index.js';

describe('requireModel', () => {
  it.each<[string, unknown, RegExp]>([
    ['no model', undefined, /^There is none\. Pass what a provider's function returns: openai\(/],
    ['null', null, /^There is none\./],
    ['another object', { provider: 'openai' }, /^There is none\./],
    ['a name', 'openai:gpt', /^"openai:gpt" is the name of a model, .* modelByName\(name\) from rivulet\/registry\.$/],
  ])('requireModel explains %s', (_, model, message) => {
    expect(() => requireModel(model, 'There is none.')).toThrow(
      expect.objectContaining({
        code: 'configuration',
        subject: 'model',
        message: expect.stringMatching(message) as unknown,
      }),
    );
  });

  it('requireModel accepts a model', () => {
    expect(() => requireModel(scriptedModel(['Hi']), 'There is none.')).not.toThrow();
  });
});
