import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { lastValueFrom, materialize, toArray } from 'rxjs';
import { accumulateToolCalls, consolidate, userMessage } from 'rivulet';
import type { Message, Model, ModelRequest, OptionsOf } from 'rivulet';
import { fromAiSdk } from 'rivulet/ai-sdk';

export const question: ModelRequest = { messages: [userMessage('Hello?')] };
const usage = {
  inputTokens: { total: 30, noCache: 18, cacheRead: 10, cacheWrite: 2 },
  outputTokens: { total: 12, text: 7, reasoning: 5 },
};
export const finish = (
  unified: 'stop' | 'tool-calls' | 'length' | 'error' | 'other' | 'interrupted' = 'stop',
  raw?: string,
): LanguageModelV4StreamPart => ({
  type: 'finish',
  usage,
  finishReason: { unified, raw },
});
export const signed = (signature: string) => ({ providerMetadata: { acme: { signature } } });

/** A model of specification V4: it streams these parts, one at each read, and records its calls. */
export function acme(
  parts: readonly LanguageModelV4StreamPart[],
  end: 'close' | 'hang' | Error = 'close',
  options: OptionsOf<typeof fromAiSdk> = {},
) {
  const asked: LanguageModelV4CallOptions[] = [];
  const seen = { cancelled: false, pulled: 0 };
  let cancelled: () => void;
  const cancellation = new Promise<void>((resolve) => (cancelled = resolve));
  const sdk: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'acme.chat',
    modelId: 'm1',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('not used')),
    doStream(options) {
      asked.push(options);
      const left = parts[Symbol.iterator]();
      const stream = new ReadableStream<LanguageModelV4StreamPart>(
        {
          pull(controller) {
            const { done, value } = left.next();
            seen.pulled += 1;
            if (!done) controller.enqueue(value);
            else if (end instanceof Error) controller.error(end);
            else if (end === 'close') controller.close();
          },
          cancel() {
            seen.cancelled = true;
            cancelled();
          },
        },
        { highWaterMark: 0 },
      );
      return Promise.resolve({ stream });
    },
  };
  return { model: fromAiSdk(sdk, { retry: false, ...options }), sdk, asked, seen, cancellation };
}

export const chunksOf = (model: Model, request = question) => lastValueFrom(model.stream(request).pipe(toArray()));
export const endOf = async (model: Model, request = question) =>
  lastValueFrom(model.stream(request).pipe(materialize(), toArray()));
export const messageOf = async (model: Model, request = question): Promise<Message> => {
  const events = await lastValueFrom(model.stream(request).pipe(accumulateToolCalls(), consolidate(), toArray()));
  return events.find((event) => event.type === 'message')!.message;
};
export const season = { name: 'season', description: 'Now.', parameters: { type: 'object', properties: {} } };
export const start: LanguageModelV4StreamPart = { type: 'stream-start', warnings: [] };
