import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { userMessage } from '../../../lib/core/message.js';
import { google } from '../../../lib/providers/google/google.js';
import { answering } from '../answering.js';

const messages = [userMessage('Name a river.')];
const answer = {
  candidates: [{ content: { parts: [{ text: 'Loire' }] }, finishReason: 'STOP' }],
  modelVersion: 'gemini-2.5-flash',
};

describe('google', () => {
  it('streams an answer of the Gemini API, with the key in its own header', async () => {
    const { fetch, seen } = answering(answer);
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
    expect(seen[0]?.url).toBe(
      'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    );
    expect(seen[0]?.headers.get('x-goog-api-key')).toBe('k');
    expect(seen[0]?.headers.has('authorization')).toBe(false);
    expect(seen[0]?.body).toMatchObject({ generationConfig: { temperature: 1, topK: 5 }, safetySettings: [] });
  });

  it('reads an error that Google wraps in a list, in the stream and in place of it', async () => {
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
});
