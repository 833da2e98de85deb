import { describe, expect, it } from '@jest/globals';
import { requireCapabilities, requiredCapabilities } from '../../lib/core/capabilities.js';
import { filePart, modelMessage, userMessage } from '../../lib/core/message.js';
import type { Capabilities, ModelRequest } from '../../lib/core/model.js';

const tools = [{ name: 'f', description: '', parameters: { type: 'object' } }];
const asking = (request: Partial<ModelRequest>): ModelRequest => ({ messages: [userMessage('Hi')], ...request });
const withFile = (mediaType: string) => asking({ messages: [userMessage([filePart(new Uint8Array([1]), mediaType)])] });
const check = (capabilities: Capabilities, request: ModelRequest) => () =>
  requireCapabilities({ provider: 'p', name: 'm', capabilities }, request, { vision: ['openai', 'google'] });

describe('capabilities', () => {
  it.each<[Partial<ModelRequest>, readonly string[]]>([
    [{}, []],
    [{ tools: [] }, []],
    [{ tools }, ['tools']],
    [{ tools, parallelToolCalls: true }, ['tools', 'multiToolCalls']],
    [{ output: {} }, ['typedOutput']],
    [{ tools, output: {} }, ['tools', 'typedOutput', 'typedOutputWithTools']],
    [{ thinking: false }, []],
    [{ thinking: { effort: 'low' } }, ['thinking']],
    [withFile('image/png'), ['vision']],
    [withFile('application/pdf'), ['files']],
    [withFile('text/csv'), []],
    [withFile('audio/mpeg'), []],
    [{ messages: [modelMessage([filePart(new Uint8Array([1]), 'image/png')])] }, []],
  ])('requiredCapabilities of %j are %j', (request, capabilities) => {
    expect(requiredCapabilities(asking(request))).toEqual(capabilities);
  });

  it('requireCapabilities rejects what the model is known not to support, and names providers that support it', () => {
    expect(check({ vision: false }, withFile('image/png'))).toThrow(
      expect.objectContaining({
        code: 'configuration',
        subject: 'capability',
        message:
          'p:m cannot read images (capability vision). Providers with such models: openai, google. Use a model that has the capability. If this model has it, declare it: { capabilities: { vision: true } }.',
      }),
    );
  });

  it('requireCapabilities allows unknown capabilities, and capabilities that are not required', () => {
    expect(check({}, withFile('image/png'))).not.toThrow();
    expect(check({ vision: false, tools: false, typedOutputWithTools: false }, asking({ output: {} }))).not.toThrow();
    expect(() => requireCapabilities({ provider: 'p', name: 'm' }, asking({ tools, output: {} }))).not.toThrow();
  });
});
