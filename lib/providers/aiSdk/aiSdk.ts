import { defer, identity } from 'rxjs';
import { requireCapabilities } from '../../core/capabilities.js';
import { ConfigurationError } from '../../core/errors.js';
import { repairHistory } from '../../core/history.js';
import type { Capabilities, Model } from '../../core/model.js';
import { idleTimeout } from '../../protocol/idleTimeout.js';
import type { IdleTimeoutOptions } from '../../protocol/idleTimeout.js';
import { secretsOf } from '../../protocol/redact.js';
import { retryBeforeFirst } from '../../protocol/retry.js';
import type { RetryOptions } from '../../protocol/retry.js';
import { capabilityTable } from '../shared/capabilityTable.js';
import { decodeParts } from './decode.js';
import { encodeCall } from './encode.js';
import { openStream } from './openStream.js';
import type { SdkModel, SdkPart } from './openStream.js';

/**
 * The members of an AI SDK language model that are used here. Every `LanguageModelV4` and `LanguageModelV3` of
 * `@ai-sdk/provider` has them. The type imports nothing, so that it works with either version of that package, and
 * without it.
 */
export interface AiSdkModel {
  readonly specificationVersion: 'v4' | 'v3';
  /** The provider's id (`openai.chat`). */
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

/** The options of an adapted model. */
export interface AiSdkOptions {
  /**
   * The provider's name, and the key of the data that are sent back to it. Default: the model's own (`openai.chat`).
   */
  readonly provider?: string | undefined;
  /** Sent with each request, by providers that use HTTP. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * How long the model may be silent: `first`, until its response begins (default: no limit; `stream-start` and
   * `response-metadata` do not count); `each`, from then on (default: 120000 ms; false: no limit).
   */
  readonly timeout?: IdleTimeoutOptions | undefined;
  /**
   * How a call that failed before its first chunk is retried; false: not at all. Default: 3 times, after 1, 2 and 4 s
   * with jitter.
   */
  readonly retry?: RetryOptions | false | undefined;
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
 * Each subscription calls `doStream`; unsubscribing aborts its signal and cancels its stream, in the same tick. Each
 * part is emitted before the next is read. After the `finish`, the stream is read to its end, for a second at most, so
 * that a middleware can finish its work. What the provider requires again (`providerMetadata`, reasoning, calls that it
 * ran itself) is stored with the message and sent back in order.
 *
 * `providerOptions` are those of the AI SDK, under its names: `{ openai: { reasoningEffort: 'low' } }`. `thinking` is
 * sent as `reasoning` of V4; V3 has no field for it. Files by URL are passed on unchanged: nothing is downloaded.
 *
 * @param model A `LanguageModelV4` or `LanguageModelV3`.
 * @param options Name, headers, retry, timeout, capabilities.
 * @returns The model. Its streams error with ConfigurationError (`capability`, `history`, `options`, `apiKey`),
 * HttpError, ConnectionError, ProviderError, ProtocolError, StreamInterruptedError and TimeoutError. The AI SDK does
 * not reveal its keys: a key that a server repeats in an error is redacted only if it was passed in `headers`.
 * @throws ConfigurationError `options` for a model of another version of the specification.
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  const { specificationVersion: version, modelId } = model as { specificationVersion: string; modelId: string };
  if (version !== 'v3' && version !== 'v4')
    throw new ConfigurationError(
      'options',
      `This AI SDK model has specification ${version}, not v3 or v4.`,
      "Use a release of its provider for AI SDK 6 or later; a gateway's model id alone is not a model.",
    );
  const { headers = {}, capabilities = {} } = options;
  const description = { provider: options.provider ?? model.provider, name: modelId, capabilities };
  const { provider } = description;
  return {
    ...description,
    stream: (request) =>
      defer(() => {
        requireCapabilities(description, request, capabilityTable);
        const call = encodeCall(
          { ...request, messages: repairHistory(request.messages) },
          { provider, version, headers },
        );
        return openStream(provider, model as SdkModel, call).pipe(
          idleTimeout(options.timeout, beginsResponse),
          decodeParts(provider, request, secretsOf('', headers)),
          options.retry === false ? identity : retryBeforeFirst(options.retry),
        );
      }),
  };
}

/**
 * Some models announce themselves before the request is sent: a model that then thinks silently has not begun its
 * response.
 */
const beginsResponse = ({ type }: SdkPart): boolean => type !== 'stream-start' && type !== 'response-metadata';
