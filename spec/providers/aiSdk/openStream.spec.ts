import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, take } from 'rxjs';
import { acme, finish, question, start } from './acme.js';

const text: LanguageModelV4StreamPart = { type: 'text-delta', id: 't', delta: 'Half' };

describe('openStream', () => {
  it('openStream aborts the signal and cancels the stream in the tick of the unsubscription', async () => {
    const { model, asked, seen } = acme([start, text], 'hang');
    const half = new Promise<void>((resolve) => {
      const subscription = model.stream(question).subscribe(() => {
        subscription.unsubscribe();
        expect({ aborted: asked[0]?.abortSignal?.aborted, cancelled: seen.cancelled }).toEqual({
          aborted: true,
          cancelled: true,
        });
        resolve();
      });
    });
    await half;
  });

  it('openStream cancels a stream that arrives after the unsubscription', async () => {
    const { model, asked, seen, cancellation } = acme([start, text]);
    model.stream(question).subscribe().unsubscribe();
    expect(asked[0]?.abortSignal?.aborted).toBe(true);
    await cancellation;
    expect(seen.pulled).toBe(0);
  });

  it('openStream does not read ahead of its subscriber', async () => {
    const { model, seen } = acme([start, text, text, text, finish()]);
    await firstValueFrom(
      model.stream(question).pipe(
        filter(({ type }) => type === 'text'),
        take(1),
      ),
    );
    expect(seen.pulled).toBe(2);
  });
});
