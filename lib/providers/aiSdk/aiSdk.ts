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
 * A language model of the AI SDK, as far as it is used here. Every `LanguageModelV4` and `LanguageModelV3` of `@ai-sdk/provider` is one. The type
 * stands on its own, so that it serves with either version of that package, and without it.
 */
export interface AiSdkModel {
  readonly specificationVersion: 'v4' | 'v3';
  /** The provider's id (`openai.chat`). */
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

/** What an adapted model can be told. */
export interface AiSdkOptions {
  /** The name of the provider, on the model and for what has to go back to it. Default: the model's own (`openai.chat`). */
  readonly provider?: string | undefined;
  /** Sent with each request, by providers that use HTTP. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * How long the model may be silent: `first`, until its answer begins, for which an announcement (`stream-start`, `response-metadata`) does not count
   * (default: no limit); `each`, from then on (default: 120000 ms; false: no limit).
   */
  readonly timeout?: IdleTimeoutOptions | undefined;
  /** How a call that failed before its first chunk is made again; false: not at all. Default: 3 times, after 1, 2 and 4 s with jitter. */
  readonly retry?: RetryOptions | false | undefined;
  /** What the model can do: the AI SDK does not say. Default: nothing is known, and everything is tried. */
  readonly capabilities?: Capabilities | undefined;
}

/**
 * A language model of the AI SDK as one of ours.
 *
 * ```ts
 * import { createGroq } from '@ai-sdk/groq';
 *
 * const agent = createAgent({ model: fromAiSdk(createGroq()('llama-3.3-70b-versatile')), tools });
 * ```
 *
 * Each subscription calls `doStream`; unsubscribing aborts its signal and cancels its stream, in the same tick. One part is emitted before the next is
 * read. After the finish the stream is read to its end, for a second at most, so that a middleware can finish its work. What the provider wants back
 * (`providerMetadata`, reasoning, calls that it ran itself) is stored with the message and goes back to it in its order.
 *
 * `providerOptions` are the AI SDK's, under its names: `{ openai: { reasoningEffort: 'low' } }`. `thinking` is `reasoning` of V4; V3 has no field for it.
 * Files by URL are handed on as they are: nothing is downloaded.
 *
 * @param model A `LanguageModelV4` or `LanguageModelV3`.
 * @param options Name, headers, retry, timeout, capabilities.
 * @returns The model. Its streams error with ConfigurationError (`capability`, `history`, `options`, `apiKey`), HttpError, ConnectionError,
 * ProviderError, ProtocolError, StreamInterruptedError and TimeoutError. The AI SDK keeps its keys to itself: one that a server repeats in an error
 * is only hidden if it was given in `headers`.
 * @throws ConfigurationError `options` for a model of another version of the specification.
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  const { specificationVersion: version, modelId } = model as { specificationVersion: string; modelId: string };
  if (version !== 'v3' && version !== 'v4')
    throw new ConfigurationError(
      'options',
      `This AI SDK model is of specification ${version}, not v3 or v4.`,
      "Use a release of its provider for AI SDK 6 or later; a gateway's model id alone is no model.",
    );
  const { headers = {}, capabilities = {} } = options;
  const about = { provider: options.provider ?? model.provider, name: modelId, capabilities };
  const { provider } = about;
  return {
    ...about,
    stream: (request) =>
      defer(() => {
        requireCapabilities(about, request, capabilityTable);
        const call = encodeCall(
          { ...request, messages: repairHistory(request.messages) },
          { provider, version, headers },
        );
        return openStream(provider, model as SdkModel, call).pipe(
          idleTimeout(options.timeout, beginsAnswer),
          decodeParts(provider, request, secretsOf('', headers)),
          options.retry === false ? identity : retryBeforeFirst(options.retry),
        );
      }),
  };
}

/** Models announce themselves, some before they were even sent the request: one that then thinks in silence has not begun. */
const beginsAnswer = ({ type }: SdkPart): boolean => type !== 'stream-start' && type !== 'response-metadata';
