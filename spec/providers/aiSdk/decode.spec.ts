import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { TestScheduler } from 'rxjs/testing';
import { fromAiSdk } from 'rivulet/ai-sdk';
import { decodeParts } from '../../../lib/providers/aiSdk/decode.js';
import { acme, chunksOf, finish, question } from './acme.js';

const text: LanguageModelV4StreamPart = { type: 'text-delta', id: 't', delta: 'Hello.' };
const run = (test: Parameters<TestScheduler['run']>[0]) => new TestScheduler((a, b) => expect(a).toEqual(b)).run(test);

describe('decodeParts', () => {
  it('reads a stream to its end: a middleware that works in its flush is flushed, nothing is cancelled or aborted', async () => {
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

  it('takes no part and no error behind the finish', () => {
    run(({ cold, expectObservable }) => {
      const parts = { t: text, f: finish(), e: { type: 'error', error: 'late' } as const };
      const chunks = { t: { type: 'text', text: 'Hello.' }, f: expect.objectContaining({ type: 'finish' }) };
      for (const source of ['t-f-t-e-f-|', 't-f-t-e-f-#'])
        expectObservable(cold(source, parts).pipe(decodeParts('acme.chat', question))).toBe('t-f-------|', chunks);
    });
  });

  it('leaves a stream that does not end a second after its finish', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('tf', { t: text, f: finish() });
      const chunks = { t: { type: 'text', text: 'Hello.' }, f: expect.objectContaining({ type: 'finish' }) };
      expectObservable(source.pipe(decodeParts('acme.chat', question))).toBe('tf 999ms |', chunks);
      expectSubscriptions(source.subscriptions).toBe('^ 1000ms !');
    });
  });

  it('cancels a stream that is left behind its finish', async () => {
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
