import type { LanguageModelV3, LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { concatMap, delay, from, lastValueFrom, materialize, of, Subscription, toArray } from 'rxjs';
import { fromAiSdk } from 'rivulet/ai-sdk';
import type { OptionsOf } from 'rivulet';
import { acme, finish, question, start } from './acme.js';

describe('fromAiSdk', () => {
  it('fromAiSdk refuses a model of another version', () => {
    const v2 = { specificationVersion: 'v2', provider: 'acme', modelId: 'm1' } as unknown as LanguageModelV3;
    expect(() => fromAiSdk(v2)).toThrow(/specification v2, not v3 or v4/);
    // @ts-expect-error: a model's id is not a model
    expect(() => fromAiSdk('acme/m1')).toThrow(/not v3 or v4/);
  });
});

// The model is called through promises, which RxJS's virtual time does not wait for.
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] }));
afterEach(() => void jest.useRealTimers());

/**
 * The notifications of a model that announces itself, thinks for five minutes, and is silent for `silentFor` ms during
 * its response.
 */
async function notifications(timeout: OptionsOf<typeof fromAiSdk>['timeout'], silentFor: number) {
  const parts: [after: number, part: LanguageModelV4StreamPart][] = [
    [0, start],
    [0, { type: 'response-metadata', id: 'r1' }],
    [300_000, { type: 'text-delta', id: 't', delta: 'Well' }],
    [silentFor, finish()],
  ];
  const model: LanguageModelV4 = {
    ...acme([]).sdk,
    doStream() {
      const sending = new Subscription();
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        start(controller) {
          const sent = from(parts).pipe(concatMap(([after, part]) => of(part).pipe(delay(after))));
          sending.add(sent.subscribe({ next: (part) => controller.enqueue(part), complete: () => controller.close() }));
        },
        cancel: () => sending.unsubscribe(),
      });
      return Promise.resolve({ stream });
    },
  };
  const seen = lastValueFrom(
    fromAiSdk(model, { retry: false, timeout }).stream(question).pipe(materialize(), toArray()),
  );
  await jest.advanceTimersByTimeAsync(600_000);
  return seen;
}

describe('fromAiSdk: timeout', () => {
  it('fromAiSdk waits for a model that has announced itself and thinks', async () => {
    expect((await notifications(undefined, 119_000)).at(-1)).toMatchObject({ kind: 'C' });
  });

  it('fromAiSdk errors when the response does not begin in time, and when it falls silent', async () => {
    expect(await notifications({ first: 60_000 }, 0)).toMatchObject([
      { kind: 'E', error: { code: 'timeout', phase: 'first' } },
    ]);
    expect((await notifications(undefined, 121_000)).slice(1)).toMatchObject([
      { kind: 'N', value: { text: 'Well' } },
      { kind: 'E', error: { code: 'timeout', phase: 'each' } },
    ]);
  });
});
