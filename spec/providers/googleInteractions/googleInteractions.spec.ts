import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { filePart } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { tool } from '../../../lib/core/tool.js';
import { googleInteractions } from '../../../lib/providers/googleInteractions/googleInteractions.js';
import { toolCall } from '../../../lib/testing/script.js';
import { googleInteractions as dialect } from '../../../lib/testing/server/dialects/googleInteractions/googleInteractions.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import { describeProviderContract, runTwoTurns } from '../../support/providerContract.js';
import type { ProviderUnderTest } from '../../support/providerContract.js';

const provider: ProviderUnderTest = {
  name: 'google-interactions',
  make: (baseUrl, options) => googleInteractions('gemini-3.8-flash', { ...options, baseUrl }),
  dialect,
  settings: { temperature: 0.5, maxOutputTokens: 500 },
  transientCode: 'unavailable',
};

describeProviderContract(provider);

describe('googleInteractions over a socket', () => {
  it('googleInteractions sends the steps of the first turn back, and nothing is stored', async () => {
    const { bodies, headers, paths } = await runTwoTurns(provider);
    expect(paths).toEqual(['/v1/interactions', '/v1/interactions']);
    expect(headers[1]).toMatchObject({ 'x-goog-api-key': expect.any(String), accept: 'text/event-stream' });
    expect(bodies[1]).toMatchObject({
      model: 'gemini-3.8-flash',
      store: false,
      stream: true,
      system_instruction: 'Be brief.',
      generation_config: { temperature: 0.5, max_output_tokens: 500, thinking_summaries: 'auto' },
      input: [
        { type: 'user_input', content: [{ type: 'text', text: 'How warm is it in Oslo and in Lisbon?' }] },
        {
          type: 'thought',
          signature: 'c2lnbmF0dXJl0',
          summary: [
            { type: 'text', text: 'Two look-ups ' },
            { type: 'text', text: 'are needed.' },
          ],
        },
        { type: 'model_output', content: [{ type: 'text', text: 'Let me look.' }] },
        { type: 'function_call', id: 'call_1_1', name: 'temperature', arguments: { city: 'Oslo' } },
        { type: 'function_call', id: 'call_1_2', name: 'season', arguments: {} },
        {
          type: 'function_result',
          call_id: 'call_1_1',
          name: 'temperature',
          result: [{ type: 'text', text: '{"city":"Oslo","celsius":-3}' }],
        },
        {
          type: 'function_result',
          call_id: 'call_1_2',
          name: 'season',
          is_error: true,
          result: [{ type: 'text', text: 'no calendar' }],
        },
      ],
    });
  });

  it('googleInteractions sends the files of a tool result, which the server reads as files', async () => {
    let history: readonly Message[] = [];
    const look = tool({
      name: 'look',
      description: 'Takes a picture.',
      execute: () => ['The harbour:', filePart(new Uint8Array([1, 2, 3]), 'image/png')],
    });
    const server = await serveModel([
      [toolCall('look')],
      (turn) => {
        history = turn.history;
        return 'A harbour.';
      },
    ]);
    try {
      const model = googleInteractions('gemini-3.8-flash', {
        apiKey: 'k',
        baseUrl: server.urlFor('google-interactions'),
      });
      const { text } = await lastValueFrom(createAgent({ model, tools: [look] }).run('What do you see?'));
      expect(text).toContain('A harbour.');
      expect(history.at(-1)?.parts).toMatchObject([
        {
          type: 'toolResult',
          name: 'look',
          result: [
            { type: 'text', text: 'The harbour:' },
            { type: 'file', mediaType: 'image/png', data: 'AQID' },
          ],
        },
      ]);
    } finally {
      await server.close();
    }
  });
});
