import { describe, expect, it } from '@jest/globals';
import { cohere } from '../../../lib/providers/cohere/cohere.js';
import { cohere as dialect } from '../../../lib/testing/server/dialects/cohere/cohere.js';
import { declaredTools, describeProviderContract, runTwoTurns } from '../../support/providerContract.js';
import type { ProviderUnderTest } from '../../support/providerContract.js';

const provider: ProviderUnderTest = {
  name: 'cohere',
  make: (baseUrl, options) =>
    cohere('command-a-reasoning-08-2025', { ...options, baseUrl: baseUrl.replace('/v1', '/v2') }),
  dialect,
  thinking: { budget: 500 },
  transientCode: 'ERROR',
};

describeProviderContract(provider);

describe('cohere in a run with tools', () => {
  it('cohere sends the thinking, the text as the plan, the calls, and a message for each result', async () => {
    const { bodies, headers, paths } = await runTwoTurns(provider);
    expect(paths).toEqual(['/v2/chat', '/v2/chat']);
    expect(headers[1]?.['authorization']).toMatch(/^Bearer /);
    const call = (id: string, name: string, args: string) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    });
    expect(bodies[1]).toEqual({
      model: 'command-a-reasoning-08-2025',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How warm is it in Oslo and in Lisbon?' },
        {
          role: 'assistant',
          content: [{ type: 'thinking', thinking: 'Two look-ups are needed.' }],
          tool_plan: 'Let me look.',
          tool_calls: [call('call_1_1', 'temperature', '{"city":"Oslo"}'), call('call_1_2', 'season', '{}')],
        },
        { role: 'tool', tool_call_id: 'call_1_1', content: '{"city":"Oslo","celsius":-3}' },
        { role: 'tool', tool_call_id: 'call_1_2', content: '{"error":"no calendar"}' },
      ],
      tools: declaredTools,
      thinking: { type: 'enabled', token_budget: 500 },
      stream: true,
    });
  });
});
