import { describe, expect, it } from '@jest/globals';
import { anthropic } from '../../../lib/providers/anthropic/anthropic.js';
import { anthropic as dialect } from '../../../lib/testing/server/dialects/anthropic/anthropic.js';
import { itKeepsTheProviderContract, runTwoTurns } from '../../support/providerContract.js';
import type { ProviderUnderTest } from '../../support/providerContract.js';

const provider: ProviderUnderTest = {
  name: 'anthropic',
  make: (baseUrl, options) => anthropic('claude-sonnet-4-5', { ...options, baseUrl }),
  dialect,
  thinking: { budget: 2048 },
  passingCode: 'overloaded_error',
};

itKeepsTheProviderContract(provider);

describe('anthropic: the second request of a run', () => {
  it('holds the signed thinking, the text and the calls in their order, and the results first, an error marked as one', async () => {
    const { bodies, headers, paths } = await runTwoTurns(provider);
    expect(paths).toEqual(['/v1/messages', '/v1/messages']);
    expect(headers[1]).toMatchObject({ 'anthropic-version': '2023-06-01', 'content-type': 'application/json' });
    expect(headers[1]).not.toHaveProperty('authorization');
    expect(bodies[1]).toEqual({
      model: 'claude-sonnet-4-5',
      max_tokens: 64_000,
      system: 'Be brief.',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'How warm is it in Oslo and in Lisbon?' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Two look-ups are needed.', signature: 'sig_1_0' },
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', id: 'call_1_1', name: 'temperature', input: { city: 'Oslo' } },
            { type: 'tool_use', id: 'call_1_2', name: 'season', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1_1', content: '{"city":"Oslo","celsius":-3}' },
            { type: 'tool_result', tool_use_id: 'call_1_2', content: 'no calendar', is_error: true },
          ],
        },
      ],
      tools: [
        {
          name: 'temperature',
          description: 'The temperature of a city.',
          input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
        {
          name: 'season',
          description: 'The season now.',
          input_schema: { type: 'object', properties: {}, additionalProperties: false },
        },
      ],
      thinking: { type: 'enabled', budget_tokens: 2048 },
      stream: true,
    });
  });
});
