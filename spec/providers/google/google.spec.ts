import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { filePart, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { tool } from '../../../lib/core/tool.js';
import { google } from '../../../lib/providers/google/google.js';
import type { ModelOptions } from '../../../lib/providers/httpModel.js';
import { toolCall } from '../../../lib/testing/script.js';
import { google as dialect } from '../../../lib/testing/server/dialects/google/google.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import { describeProviderContract, runTwoTurns } from '../../support/providerContract.js';
import type { ProviderUnderTest } from '../../support/providerContract.js';
import { answering } from '../answering.js';

const messages = [userMessage('Name a river.')];
const tools = [{ name: 'f', description: 'F.', parameters: { type: 'object', properties: { a: { type: 'number' } } } }];
const output = { type: 'object', properties: {} };
const answer = {
  candidates: [{ content: { parts: [{ text: 'Loire' }] }, finishReason: 'STOP' }],
  modelVersion: 'gemini-2.5-flash',
};

const provider: ProviderUnderTest = {
  name: 'google',
  make: (baseUrl, options) => google('gemini-3-flash-preview', { ...options, baseUrl }),
  dialect,
  settings: { temperature: 0.5, maxOutputTokens: 500 },
  transientCode: 'UNAVAILABLE',
};

describeProviderContract(provider);

describe('google: the second request of a run', () => {
  it('google sends the calls with their signatures and ids, and their results as one content', async () => {
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

describe('google', () => {
  it('google streams a response of the Gemini API, with the key in its own header', async () => {
    const { fetch, requests } = answering(answer);
    const options = { generationConfig: { topK: 5 }, safetySettings: [] };
    const stream = google('gemini-2.5-flash', { apiKey: 'k', fetch }).stream({
      messages,
      temperature: 1,
      providerOptions: { google: options },
    });
    expect(await lastValueFrom(stream.pipe(toArray()))).toEqual([
      { type: 'metadata', metadata: { model: 'gemini-2.5-flash' } },
      { type: 'text', text: 'Loire' },
      { type: 'finish', reason: 'stop', rawReason: 'STOP' },
    ]);
    expect(requests[0]?.url).toBe(
      'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    );
    expect(requests[0]?.headers.get('x-goog-api-key')).toBe('k');
    expect(requests[0]?.headers.has('authorization')).toBe(false);
    expect(requests[0]?.body).toMatchObject({ generationConfig: { temperature: 1, topK: 5 }, safetySettings: [] });
  });

  it('google reads an error that Google wraps in a list, inside the stream and instead of it', async () => {
    const error = [{ error: { code: 400, message: 'API key not valid: k-secret.', status: 'INVALID_ARGUMENT' } }];
    const { fetch } = answering(answer, JSON.stringify(error));
    const inStream = google('m', { apiKey: 'k-secret', fetch }).stream({ messages });
    await expect(lastValueFrom(inStream)).rejects.toMatchObject({
      code: 'provider',
      providerCode: 'INVALID_ARGUMENT',
      message: expect.stringContaining('API key not valid: [key].') as unknown,
    });
    const refused = () =>
      Promise.resolve(
        new Response(JSON.stringify(error), { status: 400, headers: { 'content-type': 'application/json' } }),
      );
    await expect(
      lastValueFrom(google('m', { apiKey: 'k-secret', fetch: refused }).stream({ messages })),
    ).rejects.toMatchObject({
      code: 'http',
      status: 400,
      message: expect.stringContaining('API key not valid: [key]') as unknown,
    });
  });

  it('google refuses tools together with a schema before Gemini 3, unless the capabilities allow it', async () => {
    const { fetch, requests } = answering({ candidates: [{ finishReason: 'STOP' }] });
    const both = (name: string, options: ModelOptions = {}) =>
      lastValueFrom(google(name, { apiKey: 'k', fetch, ...options }).stream({ messages, tools, output }));
    await expect(both('gemini-2.5-flash')).rejects.toMatchObject({ code: 'configuration', subject: 'capability' });
    expect(requests).toEqual([]);
    await both('gemini-3-pro-preview');
    await both('gemini-2.5-flash', { capabilities: { typedOutputWithTools: true } });
    expect(requests.map(({ body: sent }) => sent)).toMatchObject(
      [0, 1].map(() => ({ tools: [{}], generationConfig: { responseJsonSchema: output } })),
    );
    expect(google('gemini-2.5-flash').capabilities).toMatchObject({ typedOutputWithTools: false, thinking: true });
    expect(google('models/gemini-3.1-pro').capabilities).toMatchObject({ typedOutputWithTools: true });
    expect(google('gemini-flash-latest').capabilities).not.toHaveProperty('typedOutputWithTools');
  });
});

describe('google over a socket', () => {
  it('google sends the files of a tool result, which the server reads as files', async () => {
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
      const model = google('gemini-3.8-flash', { apiKey: 'k', baseUrl: server.urlFor('google') });
      const { text } = await lastValueFrom(createAgent({ model, tools: [look] }).run('What do you see?'));
      expect(text).toContain('A harbour.');
      expect(history.at(-1)?.parts).toEqual([
        {
          type: 'toolResult',
          id: 'call_1_1',
          name: 'look',
          result: ['The harbour:', { type: 'file', mediaType: 'image/png', data: 'AQID' }],
        },
      ]);
    } finally {
      await server.close();
    }
  });
});
