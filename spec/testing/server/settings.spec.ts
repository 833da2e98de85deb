import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { modelByName } from '../../../lib/providers/registry/index.js';
import { serveModel } from '../../../lib/testing/server/index.js';

const tools = (name: string) => [{ name, description: '', parameters: { type: 'object' } }];
/** The models refuse such a temperature before they send it. */
const hot = (provider: string, fields: JsonObject) => ({ providerOptions: { [provider]: fields } });

/** What a loopback server answers to a request with these settings. */
async function ask(model: string, settings: Partial<ModelRequest>): Promise<unknown> {
  const server = await serveModel(['Hi']);
  try {
    const [provider = ''] = model.split(':');
    const served = modelByName(model, { apiKey: 'k', baseUrl: server.urlFor(provider) });
    return await lastValueFrom(served.stream({ messages: [userMessage('Hi')], ...settings }));
  } catch (thrown) {
    return thrown;
  } finally {
    await server.close();
  }
}

describe('the settings that the loopback server refuses', () => {
  it.each<[string, Partial<ModelRequest>, RegExp]>([
    [
      'openai-chat:gpt-4o',
      hot('openai-chat', { temperature: 'hot' }),
      /Invalid type for 'temperature': expected a decimal, but got a string/,
    ],
    ['openai-chat:gpt-4o', { temperature: 2.5 }, /decimal above maximum value\. Expected a value <= 2, but got 2\.5/],
    ['openai-chat:gpt-4o', { temperature: -1 }, /decimal below minimum value\. Expected a value >= 0, but got -1/],
    ['openai-chat:gpt-4o', { tools: tools('my tool') }, /'tools\[0\]\.function\.name': string does not match pattern/],
    ['openai:gpt-4o', { tools: tools('my.tool') }, /'tools\[0\]\.name': string does not match pattern/],
    ['openai:gpt-4o', { temperature: 3 }, /Expected a value <= 2, but got 3/],
    ['together:m', { tools: tools('x'.repeat(65)) }, /string does not match pattern/],
    [
      'anthropic:claude-haiku-4-5',
      hot('anthropic', { temperature: 'hot' }),
      /temperature: Input should be a valid number/,
    ],
    ['anthropic:claude-haiku-4-5', { temperature: 1.5 }, /temperature: Input should be less than or equal to 1/],
    ['anthropic:claude-haiku-4-5', { temperature: -1 }, /temperature: Input should be greater than or equal to 0/],
    ['anthropic:claude-haiku-4-5', { tools: tools('my tool') }, /tools\.0\.custom\.name: String should match pattern/],
    [
      'google:gemini-2.5-flash',
      hot('google', { generationConfig: { temperature: 'hot' } }),
      /Invalid value at 'generation_config\.temperature'/,
    ],
    ['google:gemini-2.5-flash', { temperature: 3 }, /temperature must be in the range \[0\.0, 2\.0\]/],
    ['google:gemini-2.5-flash', { tools: tools('1st') }, /function_declarations\[0\]\.name: Invalid function name/],
  ])('the server refuses for %s %j', async (model, settings, message) => {
    expect(await ask(model, settings)).toMatchObject({
      code: 'http',
      status: 400,
      message: expect.stringMatching(message) as unknown,
    });
  });

  it.each(['openai-chat:gpt-4o', 'openai:gpt-4o', 'anthropic:claude-haiku-4-5', 'google:gemini-2.5-flash'])(
    'the server accepts valid settings for %s',
    async (model) => {
      const settings = { temperature: 1, tools: tools('my_tool-2') };
      expect(await ask(model, settings)).toMatchObject({ type: 'finish', reason: 'stop' });
    },
  );
});
