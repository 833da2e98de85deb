import { describe, expect, it } from '@jest/globals';
import { openai } from '../../lib/providers/openai.js';
import { chatCompletions } from '../../lib/testing/server/dialects/chatCompletions/chatCompletions.js';
import { itKeepsTheProviderContract, runTwoTurns } from '../support/providerContract.js';
import type { ProviderUnderTest } from '../support/providerContract.js';

const provider: ProviderUnderTest = {
  name: 'openai',
  make: (baseUrl, options) => openai('gpt-5', { ...options, baseUrl }),
  dialect: chatCompletions,
  passingCode: 'rate_limit_exceeded',
};

itKeepsTheProviderContract(provider);

describe('openai: the second request of a run', () => {
  it('holds the calls as they came, text beside them, and a result for each', async () => {
    const { bodies } = await runTwoTurns(provider);
    const call = (id: string, name: string, args: string) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    });
    expect(bodies[1]).toEqual({
      model: 'gpt-5',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How warm is it in Oslo and in Lisbon?' },
        {
          role: 'assistant',
          content: 'Let me look.',
          reasoning_content: 'Two look-ups are needed.',
          tool_calls: [call('call_1_1', 'temperature', '{"city":"Oslo"}'), call('call_1_2', 'season', '{}')],
        },
        { role: 'tool', tool_call_id: 'call_1_1', content: '{"city":"Oslo","celsius":-3}' },
        { role: 'tool', tool_call_id: 'call_1_2', content: '{"error":"no calendar"}' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'temperature',
            description: 'The temperature of a city.',
            parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          },
        },
        {
          type: 'function',
          function: {
            name: 'season',
            description: 'The season now.',
            parameters: { type: 'object', properties: {}, additionalProperties: false },
          },
        },
      ],
      stream: true,
      stream_options: { include_usage: true },
    });
  });
});
