import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, take } from 'rxjs';
import { fromAiSdk } from 'rivulet/ai-sdk';
import type { AiSdkModel } from 'rivulet/ai-sdk';
import { acme, endOf, finish, question, start } from './acme.js';

const text: LanguageModelV4StreamPart = { type: 'text-delta', id: 't', delta: 'Half' };

const fail = (): never => {
  throw new Error('no');
};
const hostile: ProxyHandler<Error> = { get: fail, getPrototypeOf: fail, ownKeys: fail };

function lockedStream(): ReadableStream<unknown> {
  const stream = new ReadableStream<unknown>();
  stream.getReader();
  return stream;
}

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

  it.each([
    ['nothing', () => undefined],
    ['a text', () => 'stream'],
    ['an object without a stream', () => ({})],
    ['an array as stream', () => ({ stream: [text] })],
    ['a stream that is read already', () => ({ stream: lockedStream() })],
    [
      'an object whose getter throws',
      () => ({
        get stream(): never {
          throw new Error('no');
        },
      }),
    ],
    ['a rejection with a Proxy that throws', () => Promise.reject(new Proxy(new Error('x'), hostile))],
  ])('openStream reports a doStream that returns %s as a ProviderError', async (_, doStream) => {
    const sdk = { specificationVersion: 'v4', provider: 'acme', modelId: 'm', doStream } as unknown as AiSdkModel;
    expect(await endOf(fromAiSdk(sdk, { retry: false }))).toMatchObject([{ kind: 'E', error: { code: 'provider' } }]);
  });
});
