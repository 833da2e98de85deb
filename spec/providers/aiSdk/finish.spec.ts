import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { acme, chunksOf, endOf } from './acme.js';

const text: LanguageModelV4StreamPart = { type: 'text-delta', id: 't', delta: 'Hello.' };

describe('finishOf', () => {
  it.each([undefined, null, {}, { inputTokens: undefined, outputTokens: {} }])('takes a finish with the usage %j', async (usage) => {
    const ending = (finishReason: object) => acme([text, { type: 'finish', usage, finishReason } as LanguageModelV4StreamPart]).model;
    expect(await chunksOf(ending({ unified: 'stop', raw: 'end_turn' }))).toEqual([
      { type: 'text', text: 'Hello.' },
      { type: 'finish', reason: 'stop', rawReason: 'end_turn' },
    ]);
    expect(await endOf(ending({ unified: 'other', raw: undefined }))).toMatchObject([
      { kind: 'N', value: { text: 'Hello.' } },
      { kind: 'E', error: { code: 'stream_interrupted' } },
    ]);
  });
});
