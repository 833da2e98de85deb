import { describe, expect, it } from '@jest/globals';
import { ollama } from '../../../lib/providers/ollama/ollama.js';
import { ollama as dialect } from '../../../lib/testing/server/dialects/ollama/ollama.js';
import { itKeepsTheProviderContract, runTwoTurns } from '../../support/providerContract.js';
import type { ProviderUnderTest } from '../../support/providerContract.js';

const provider: ProviderUnderTest = {
  name: 'ollama',
  make: (baseUrl, options) => ollama('qwen3:8b', { ...options, baseUrl: `${baseUrl}/api/` }),
  dialect,
  settings: { temperature: 0.5, maxOutputTokens: 500 },
};

itKeepsTheProviderContract(provider);

describe('ollama: the second request of a run', () => {
  it('holds the calls, what was thought and said before them, and a result for each by name', async () => {
    const { bodies, headers, paths } = await runTwoTurns(provider);
    expect(paths[1]).toBe('/v1/api/chat');
    expect(headers[1]).toMatchObject({ accept: 'application/x-ndjson' });
    const declared = (name: string, description: string, parameters: object) => ({
      type: 'function',
      function: { name, description, parameters },
    });
    expect(bodies[1]).toEqual({
      model: 'qwen3:8b',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How warm is it in Oslo and in Lisbon?' },
        {
          role: 'assistant',
          content: 'Let me look.',
          thinking: 'Two look-ups are needed.',
          tool_calls: [
            { function: { name: 'temperature', arguments: { city: 'Oslo' } } },
            { function: { name: 'season', arguments: {} } },
          ],
        },
        { role: 'tool', tool_name: 'temperature', content: '{"city":"Oslo","celsius":-3}' },
        { role: 'tool', tool_name: 'season', content: '{"error":"no calendar"}' },
      ],
      tools: [
        declared('temperature', 'The temperature of a city.', {
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
        }),
        declared('season', 'The season now.', { type: 'object', properties: {}, additionalProperties: false }),
      ],
      think: true,
      options: { temperature: 0.5, num_predict: 500 },
      stream: true,
    });
  });
});
