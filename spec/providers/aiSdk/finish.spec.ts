import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { createAgent } from 'rivulet';
import { fromAiSdk } from 'rivulet/ai-sdk';
import { acme, chunksOf, endOf, finish } from './acme.js';

const text: LanguageModelV4StreamPart = { type: 'text-delta', id: 't', delta: 'Hello.' };

describe('toFinish', () => {
  it.each([undefined, null, {}, { inputTokens: undefined, outputTokens: {} }])(
    'toFinish accepts a finish with the usage %j',
    async (usage) => {
      const ending = (finishReason: object) =>
        acme([text, { type: 'finish', usage, finishReason } as LanguageModelV4StreamPart]).model;
      expect(await chunksOf(ending({ unified: 'stop', raw: 'end_turn' }))).toEqual([
        { type: 'text', text: 'Hello.' },
        { type: 'finish', reason: 'stop', rawReason: 'end_turn' },
      ]);
      expect(await endOf(ending({ unified: 'other', raw: undefined }))).toMatchObject([
        { kind: 'N', value: { text: 'Hello.' } },
        { kind: 'E', error: { code: 'stream_interrupted' } },
      ]);
    },
  );

  it.each([
    ['stop', 'pause_turn'],
    ['other', 'compaction'],
  ] as const)('toFinish makes %s a pause if the raw reason is %s', async (unified, raw) => {
    expect((await chunksOf(acme([text, finish(unified, raw)]).model)).at(-1)).toMatchObject({
      reason: 'paused',
      rawReason: raw,
    });
  });

  it.each([[[text]], [[]]])(
    'toFinish lets a run continue after a pause, with the content so far in order: %j',
    async (before) => {
      const search = { toolCallId: 'w1', toolName: 'web_search' };
      const turns = [
        acme([
          ...before,
          { type: 'tool-call', ...search, input: '{"q":"x"}', providerExecuted: true },
          finish('stop', 'pause_turn'),
        ]),
        acme([
          { type: 'tool-result', ...search, result: [1] },
          { ...text, delta: 'Found.' },
          finish('stop', 'pause_turn'),
        ]),
        acme([{ ...text, delta: 'Done.' }, finish()]),
      ];
      const left = turns[Symbol.iterator]();
      const model = fromAiSdk({ ...turns[0]!.sdk, doStream: (options) => left.next().value!.sdk.doStream(options) });
      const result = await lastValueFrom(createAgent({ model }).run('Search.'));
      expect(result).toMatchObject({ turns: 3, finishReason: 'stop' });
      expect(turns[2]?.asked[0]?.prompt.slice(1)).toEqual([
        {
          role: 'assistant',
          content: [
            ...before.map(() => ({ type: 'text', text: 'Hello.' })),
            { type: 'tool-call', ...search, input: { q: 'x' }, providerExecuted: true },
            { type: 'tool-result', ...search, output: { type: 'json', value: [1] } },
            { type: 'text', text: 'Found.' },
          ],
        },
      ]);
    },
  );

  it('toFinish returns unspecified for a finish without a raw reason, if there is usage', async () => {
    expect((await chunksOf(acme([text, finish('other')]).model)).at(-1)).toMatchObject({
      type: 'finish',
      reason: 'unspecified',
    });
    expect((await chunksOf(acme([text, finish('other', 'odd')]).model)).at(-1)).toMatchObject({
      reason: 'other',
      rawReason: 'odd',
    });
  });
});
