import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { TestScheduler } from 'rxjs/testing';
import { fromAiSdk } from 'rivulet/ai-sdk';
import { decodeParts } from '../../../lib/providers/aiSdk/decode.js';
import { acme, chunksOf, finish, question } from './acme.js';

const text: LanguageModelV4StreamPart = { type: 'text-delta', id: 't', delta: 'Hello.' };
const run = (test: Parameters<TestScheduler['run']>[0]) => new TestScheduler((a, b) => expect(a).toEqual(b)).run(test);

describe('decodeParts', () => {
  it('decodeParts emits text, thinking, files, sources, metadata, and a finish with the complete usage', async () => {
    const { model } = acme([
      { type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'seed' }] },
      { type: 'response-metadata', id: 'r1', modelId: 'm1-2026', timestamp: new Date(0) },
      { type: 'raw', rawValue: {} },
      { type: 'ping' },
      { type: 'reasoning-start', id: 'a' },
      { type: 'reasoning-delta', id: 'a', delta: 'Hm.' },
      { type: 'reasoning-end', id: 'a' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2]) } },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://acme.example/a.png') } },
      { type: 'source', sourceType: 'url', id: 's1', url: 'https://acme.example', title: 'Acme' },
      {
        type: 'source',
        sourceType: 'document',
        id: 's2',
        mediaType: 'application/pdf',
        title: 'Paper',
        filename: 'p.pdf',
      },
      { type: 'text-start', id: 'b' },
      { type: 'text-delta', id: 'b', delta: 'Hello.' },
      { type: 'text-end', id: 'b' },
      finish('stop', 'end_turn'),
    ]);
    expect(await chunksOf(model)).toEqual([
      {
        type: 'metadata',
        metadata: { warnings: [{ type: 'unsupported', feature: 'seed' }], responseId: 'r1', model: 'm1-2026' },
      },
      { type: 'thinking', text: 'Hm.' },
      { type: 'provider', provider: 'acme.chat', data: { type: 'reasoning', text: 'Hm.' } },
      { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'AQI=' } },
      { type: 'file', file: { type: 'file', mediaType: 'image/png', url: 'https://acme.example/a.png' } },
      { type: 'source', source: { type: 'source', id: 's1', url: 'https://acme.example', title: 'Acme' } },
      {
        type: 'source',
        source: {
          type: 'source',
          id: 's2',
          title: 'Paper',
          providerData: { 'acme.chat': { mediaType: 'application/pdf', filename: 'p.pdf' } },
        },
      },
      { type: 'text', text: 'Hello.' },
      {
        type: 'finish',
        reason: 'stop',
        rawReason: 'end_turn',
        usage: { input: 30, output: 12, total: 42, cachedInput: 10, cacheWriteInput: 2, reasoning: 5 },
      },
    ]);
  });

  it('decodeParts reads the stream to its end: a middleware is flushed, nothing is cancelled or aborted', async () => {
    const { sdk, asked, seen } = acme([text, finish()]);
    let flushed = false;
    const wrapped: LanguageModelV4 = {
      ...sdk,
      async doStream(options) {
        const { stream } = await sdk.doStream(options);
        return { stream: stream.pipeThrough(new TransformStream({ flush: () => void (flushed = true) })) };
      },
    };
    expect(await chunksOf(fromAiSdk(wrapped))).toMatchObject([{ text: 'Hello.' }, { type: 'finish', reason: 'stop' }]);
    expect({ flushed, cancelled: seen.cancelled, aborted: asked[0]?.abortSignal?.aborted }).toEqual({
      flushed: true,
      cancelled: false,
      aborted: false,
    });
  });

  it('decodeParts ignores parts and errors after the finish', () => {
    run(({ cold, expectObservable }) => {
      const parts = { t: text, f: finish(), e: { type: 'error', error: 'late' } as const };
      const chunks = { t: { type: 'text', text: 'Hello.' }, f: expect.objectContaining({ type: 'finish' }) };
      for (const source of ['t-f-t-e-f-|', 't-f-t-e-f-#'])
        expectObservable(cold(source, parts).pipe(decodeParts('acme.chat', question))).toBe('t-f-------|', chunks);
    });
  });

  it('decodeParts unsubscribes from a stream that does not end within a second after its finish', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('tf', { t: text, f: finish() });
      const chunks = { t: { type: 'text', text: 'Hello.' }, f: expect.objectContaining({ type: 'finish' }) };
      expectObservable(source.pipe(decodeParts('acme.chat', question))).toBe('tf 999ms |', chunks);
      expectSubscriptions(source.subscriptions).toBe('^ 1000ms !');
    });
  });

  it('decodeParts cancels a stream when it is unsubscribed after the finish', async () => {
    const { model, asked, seen } = acme([text, finish()], 'hang');
    await new Promise<void>((resolve) => {
      const subscription = model.stream(question).subscribe(({ type }) => {
        if (type !== 'finish') return;
        subscription.unsubscribe();
        resolve();
      });
    });
    expect({ cancelled: seen.cancelled, aborted: asked[0]?.abortSignal?.aborted }).toEqual({
      cancelled: true,
      aborted: true,
    });
  });
});
