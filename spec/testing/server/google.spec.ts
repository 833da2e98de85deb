import { describe, expect, it } from '@jest/globals';
import type { Chunk } from '../../../lib/core/chunk.js';
import { ProviderError } from '../../../lib/core/errors.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { google } from '../../../lib/testing/server/dialects/google/google.js';

const path = '/v1/models/gemini-x:streamGenerateContent';
const written = (...chunks: readonly Chunk[]) => {
  const writer = google.writer({ turn: 1, path, body: {} });
  return [...chunks.flatMap((chunk) => writer.next(chunk)), ...writer.end()].map(
    ({ data }) => JSON.parse(data) as JsonObject,
  );
};
const parts = (...chunks: readonly Chunk[]) =>
  written(...chunks).flatMap(
    (frame) => (frame as unknown as { candidates: { content: { parts: unknown[] } }[] }).candidates[0]?.content.parts,
  );
const user = (...some: JsonObject[]): JsonObject => ({ role: 'user', parts: some });
const model = (...some: JsonObject[]): JsonObject => ({ role: 'model', parts: some });
const call = (name: string, id?: string): JsonObject => ({
  functionCall: { name, args: {}, ...(id === undefined ? {} : { id }) },
});
const response = (name: string, id?: string): JsonObject => ({
  functionResponse: { name, response: { result: 1 }, ...(id === undefined ? {} : { id }) },
});

describe('Gemini dialect of the loopback server', () => {
  it('the writer sends one part per frame, and reason and usage in the last frame', () => {
    const envelope = { modelVersion: 'gemini-x', responseId: 'response-1' };
    const usage = { input: 5, output: 7, reasoning: 4 };
    expect(
      written(
        { type: 'thinking', text: 'Hm' },
        { type: 'text', text: 'Hi' },
        { type: 'finish', reason: 'stop', usage },
      ),
    ).toEqual([
      { candidates: [{ content: { parts: [{ text: 'Hm', thought: true }], role: 'model' }, index: 0 }], ...envelope },
      { candidates: [{ content: { parts: [{ text: 'Hi' }], role: 'model' }, index: 0 }], ...envelope },
      {
        candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 12, thoughtsTokenCount: 4 },
        ...envelope,
      },
    ]);
  });

  it('the writer sends complete calls, also from fragments, and signs the first one', () => {
    expect(
      parts(
        { type: 'toolCallFragment', index: 0, name: 'f', arguments: '{"a"' },
        { type: 'toolCallFragment', index: 0, arguments: ':1}' },
        { type: 'toolCallFragment', id: 'x', name: 'g', arguments: { b: 2 }, done: true },
        { type: 'toolCallFragment', id: '', name: 'h', arguments: {}, done: true },
      ),
    ).toEqual([
      { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'c2lnbmF0dXJl1' },
      { functionCall: { id: 'x', name: 'g', args: { b: 2 } } },
      { functionCall: { name: 'h', args: {} } },
    ]);
  });

  it.each<[Chunk]>([[{ type: 'retract' }], [{ type: 'metadata', metadata: {} }]])(
    'the writer throws for %j',
    (chunk) => {
      expect(() => written(chunk)).toThrow(/cannot express a/);
    },
  );

  it('the writer reports an error with the status name of its code', () => {
    const error = new ProviderError('google', 'Busy.', { retryable: true, providerCode: 'UNAVAILABLE' });
    expect(google.writer({ turn: 1, path, body: {} }).error(error)).toEqual([
      { data: '{"error":{"code":503,"message":"Busy.","status":"UNAVAILABLE"}}' },
    ]);
    expect(google.errorBody({ status: 429, type: 'x', message: 'Slow.' })).toEqual({
      error: { code: 429, message: 'Slow.', status: 'RESOURCE_EXHAUSTED' },
    });
  });

  it.each<[string, unknown, string]>([
    ['no object', [], 'Invalid JSON'],
    ['a field that is not known', { contents: [user({ text: 'a' })], stream: true }, 'Unknown name "stream"'],
    ['no contents', {}, 'contents is not specified'],
    ['a content without parts', { contents: [user()] }, 'must not be empty'],
    ['another role', { contents: [{ role: 'assistant', parts: [{ text: 'a' }] }] }, 'valid role'],
    [
      'a call without its result',
      { contents: [model(call('f'), call('g')), user(response('f'))] },
      'number of function response parts',
    ],
    [
      'text among the results',
      { contents: [model(call('f')), user(response('f'), { text: 'a' })] },
      'number of function response parts',
    ],
    ['an id that was not given', { contents: [model(call('f')), user(response('f', 'x'))] }, 'matches a function call'],
    ['an id that is missing', { contents: [model(call('f', 'x')), user(response('f'))] }, 'matches a function call'],
  ])('refuses a body with %s', (_, body, why) => {
    expect(google.refusal(body)).toMatchObject({ status: 400, message: expect.stringContaining(why) as unknown });
  });

  it('refusal accepts a valid request', () => {
    const contents = [
      user({ text: 'a' }),
      model(call('f', 'x'), call('f')),
      user(response('f', 'x'), response('f')),
      user({ text: 'b' }),
    ];
    expect(google.refusal({ contents })).toBeUndefined();
    expect(google.keyIn?.({ 'x-goog-api-key': 'k' })).toBe('k');
  });
});
