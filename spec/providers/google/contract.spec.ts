import { describe, expect, it } from '@jest/globals';
import { google } from '../../../lib/providers/google/google.js';
import { google as dialect } from '../../../lib/testing/server/dialects/google/google.js';
import { itKeepsTheProviderContract, runTwoTurns } from '../../support/providerContract.js';
import type { ProviderUnderTest } from '../../support/providerContract.js';

const provider: ProviderUnderTest = {
  name: 'google',
  make: (baseUrl, options) => google('gemini-3-flash-preview', { ...options, baseUrl }),
  dialect,
  settings: { temperature: 0.5, maxOutputTokens: 500 },
  passingCode: 'UNAVAILABLE',
};

itKeepsTheProviderContract(provider);

describe('google: the second request of a run', () => {
  it('holds the calls with the signature and the ids that they came with, and their results as one content', async () => {
    const { bodies, headers, paths } = await runTwoTurns(provider);
    expect(paths[1]).toBe('/v1/models/gemini-3-flash-preview:streamGenerateContent?alt=sse');
    expect(headers[1]).toMatchObject({ 'x-goog-api-key': expect.any(String), accept: 'text/event-stream' });
    expect(headers[1]).not.toHaveProperty('authorization');
    expect(bodies[1]).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'How warm is it in Oslo and in Lisbon?' }] },
        {
          role: 'model',
          parts: [
            { text: 'Let me look.' },
            {
              functionCall: { id: 'call_1_1', name: 'temperature', args: { city: 'Oslo' } },
              thoughtSignature: 'c2lnbmF0dXJl1',
            },
            { functionCall: { id: 'call_1_2', name: 'season', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            {
              functionResponse: {
                id: 'call_1_1',
                name: 'temperature',
                response: { result: { city: 'Oslo', celsius: -3 } },
              },
            },
            { functionResponse: { id: 'call_1_2', name: 'season', response: { error: 'no calendar' } } },
          ],
        },
      ],
      tools: [
        {
          functionDeclarations: [
            {
              name: 'temperature',
              description: 'The temperature of a city.',
              parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
            },
            { name: 'season', description: 'The season now.' },
          ],
        },
      ],
      generationConfig: { temperature: 0.5, maxOutputTokens: 500, thinkingConfig: { includeThoughts: true } },
    });
  });
});
