import type { Model } from '../../core/model.js';
import { httpModel } from '../httpModel.js';
import type { ModelOptions } from '../httpModel.js';
import { decodeAnthropic } from './decode.js';
import { encodeAnthropic } from './encode.js';
import { findFamily } from './models.js';
import { withBetas } from './serverTools.js';
import type { AnthropicTool } from './serverTools.js';

/** The options of an Anthropic model, besides those of the transport. */
export interface AnthropicOptions extends ModelOptions {
  /** The tools that Anthropic runs, made by `anthropicTools`. If two share a name, the later one is used. Default: none. */
  readonly serverTools?: readonly AnthropicTool[] | undefined;
}

/**
 * Creates an Anthropic model over the Messages API (version 2023-06-01).
 *
 * ```ts
 * anthropic('claude-sonnet-4-5').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * The API requires a limit for the answer. Without `maxOutputTokens` it is the longest answer that the model's family
 * can write, as Anthropic's overview of models documents it, and 4096 for unknown models. Thinking counts towards it.
 *
 * Anthropic runs `serverTools` itself. What they do arrives as metadata (`serverTool`: the unchanged block), sources and
 * files, never as a tool call, and is sent back with the conversation. A turn that ends with `paused` goes on when the
 * same conversation is sent again. Code goes on in the container of the previous answer
 * (`metadata.anthropic.container` of its message). Another container, caching, and any other field that a request has no
 * place for go in its `providerOptions`, under `anthropic`; beta features go in the `headers` (`anthropic-beta`, to which
 * the betas of the tools are added).
 *
 * @param name The model's name.
 * @param options Key (default: ANTHROPIC_API_KEY), base URL (default: https://api.anthropic.com/v1), transport, and the
 * tools that Anthropic runs.
 * @returns A cold model. Its streams error as those of `httpModel` do; also with ConfigurationError `options` for a
 * seed, for a file that the API does not accept, for a `thinking` setting that the model does not support, and for a
 * tool that has the name of one of the `serverTools`.
 */
export function anthropic(name: string, options: AnthropicOptions = {}): Model {
  const { serverTools = [], ...transport } = options;
  const family = findFamily(name);
  return httpModel(
    {
      provider: 'anthropic',
      name,
      baseUrl: 'https://api.anthropic.com/v1',
      apiKey: { variable: 'ANTHROPIC_API_KEY' },
      authorize: (key) => ({ 'x-api-key': key }),
      wire: {
        framing: 'sse',
        encode: (request) => encodeAnthropic(name, request, serverTools),
        decode: decodeAnthropic,
      },
      capabilities: {
        tools: true,
        multiToolCalls: true,
        typedOutput: family.typedOutput,
        typedOutputWithTools: family.typedOutput,
        thinking: family.thinking !== 'none',
        vision: true,
        files: true,
      },
    },
    { ...transport, headers: withBetas(transport.headers, serverTools) },
  );
}
