import { defer, identity } from 'rxjs';
import { requireCapabilities } from '../../core/capabilities.js';
import { optionsError } from '../../core/errors.js';
import type { Chunk } from '../../core/chunk.js';
import type { Capabilities, Model } from '../../core/model.js';
import { idleTimeout, type IdleTimeoutOptions } from '../../protocol/idleTimeout.js';
import { secretsOf } from '../../protocol/secrets.js';
import { retryRequest, type RetryOptions } from '../../protocol/retryRequest.js';
import { capabilityTable } from '../shared/capabilityTable.js';
import { conversationTexts } from '../../protocol/conversationTexts.js';
import { decodeParts } from './decode.js';
import { createPromptEncoder, encodeCall } from './encode.js';
import { pickStrings } from './errors.js';
import { openStream, type SdkModel, type SdkPart } from './openStream.js';
import { createSendable } from '../shared/sendable.js';

/**
 * The members of an AI SDK language model that `fromAiSdk` uses. Every `LanguageModelV4` and `LanguageModelV3` of
 * `@ai-sdk/provider` has them. The type imports nothing, so it works with either version of that package, and without
 * the package.
 */
export interface AiSdkModel {
  readonly specificationVersion: 'v4' | 'v3';
  /** The provider's id (`openai.chat`). */
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

interface AiSdkOptions {
  /** The provider's name, which is also the key of its provider data. Default: `model.provider` (`openai.chat`). */
  readonly provider?: string | undefined;
  /** Headers that are sent with each request, if the provider uses HTTP. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * How long the model may send nothing: `first` is the limit until its response begins (default: no limit;
   * `stream-start` and `response-metadata` do not begin the response), `each` is the limit after that (default: 120000
   * ms; false: no limit).
   */
  readonly timeout?: IdleTimeoutOptions | undefined;
  /**
   * How a call that fails before its first chunk is retried; false disables retries. A `retry` chunk announces each
   * one. Default: 3 retries, after 1, 2 and 4 s with jitter.
   */
  readonly retry?: RetryOptions | false | undefined;
  /**
   * Whether errors contain what the provider sent and the AI SDK's own error as `cause`, which holds the request.
   * Without it they have the provider's message and code. Default: false.
   */
  readonly debug?: boolean | undefined;
  /** The model's capabilities, which the AI SDK does not provide. Default: unknown; every request is sent. */
  readonly capabilities?: Capabilities | undefined;
}

/**
 * Adapts a language model of the AI SDK.
 *
 * ```ts
 * import { createGroq } from '@ai-sdk/groq';
 *
 * const agent = createAgent({ model: fromAiSdk(createGroq()('llama-3.3-70b-versatile')), tools });
 * ```
 *
 * Each subscription calls `doStream`; unsubscribing aborts its signal and cancels its stream synchronously. Each part
 * is emitted before the next part is read. After the `finish`, the stream is read to its end, for at most one second,
 * so that middleware can finish its work. Only a `tool-call` is a call, as in the AI SDK: the input that is streamed
 * before it is shown. Data that must be sent back (`providerMetadata`, reasoning, calls that the provider ran) is
 * stored with the message and sent back in order.
 *
 * `providerOptions` uses the names of the AI SDK: `{ openai: { reasoningEffort: 'low' } }`. `thinking` is sent as V4's
 * `reasoning`; V3 has no field for it. Files by URL are passed to the model unchanged: nothing is downloaded.
 *
 * @param model A `LanguageModelV4` or `LanguageModelV3`.
 * @param options Provider name, headers, retry, timeout and capabilities.
 * @returns The model. Its streams fail with ConfigurationError (`capability`, `history`, `options`, `apiKey`),
 * HttpError, ConnectionError, ProviderError, ProtocolError, StreamInterruptedError and TimeoutError. An error contains
 * neither the conversation nor a key that a server repeats, as far as the key is known: from `headers`, from the
 * headers of the AI SDK provider, or by its shape (`sk-...`).
 * @throws ConfigurationError `options` for a model of another version of the specification.
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  const { specificationVersion: version, modelId } = model as { specificationVersion: string; modelId: string };
  if (version !== 'v3' && version !== 'v4')
    throw optionsError(
      `This AI SDK model has specification ${version}, not v3 or v4.`,
      "Use a release of its provider for AI SDK 6 or later; a gateway's model id alone is not a model.",
    );
  const { headers = {}, capabilities = {} } = options;
  const description = { provider: options.provider ?? model.provider, name: modelId, capabilities };
  const { provider } = description;
  const toSendable = createSendable(() => false, identity);
  const encodePrompt = createPromptEncoder(provider, version);
  return {
    ...description,
    stream: (request) =>
      defer(() => {
        requireCapabilities(description, request, capabilityTable);
        const call = encodeCall(
          { ...request, messages: toSendable(request.messages, request.tools) },
          { version, headers, encodePrompt },
        );
        return openStream(provider, model as SdkModel, call).pipe(
          idleTimeout(options.timeout, beginsResponse),
          decodeParts(provider, request, () => ({
            provider,
            secrets: [...secretsOf('', headers), ...secretsOfModel(model)],
            conversation: () => conversationTexts(request),
            debug: options.debug,
          })),
          options.retry === false ? identity : retryRequest<Chunk>(options.retry, request.stop),
        );
      }),
  };
}

/** The models of the AI SDK keep their headers in `config`: where there is no such field, no key is found. */
function secretsOfModel(model: AiSdkModel): readonly string[] {
  try {
    const { headers } = (model as { readonly config?: { readonly headers?: unknown } }).config ?? {};
    const found: unknown = typeof headers === 'function' ? (headers as () => unknown)() : headers;
    if (found instanceof Promise) found.catch(() => undefined); // a token that has to be fetched
    return secretsOf('', pickStrings(found));
  } catch {
    return []; // no key is set
  }
}

/** Some models emit these two parts before the request is sent, so they do not show that the response has begun. */
const beginsResponse = ({ type }: SdkPart): boolean => type !== 'stream-start' && type !== 'response-metadata';
