import type { Model } from '../../core/model.js';
import { httpModel } from '../httpModel.js';
import type { ModelOptions } from '../httpModel.js';
import { decodeMessages } from './decode.js';
import { encodeRequest } from './encode.js';
import { familyOf } from './models.js';
import { withBetas } from './serverTools.js';
import type { AnthropicTool } from './serverTools.js';

/** What a model of Anthropic can be told beside the transport. */
export interface AnthropicOptions extends ModelOptions {
  /** The tools that Anthropic runs, made by `anthropicTools`; of two with a name the later one counts. Default: none. */
  readonly serverTools?: readonly AnthropicTool[] | undefined;
}

/**
 * A model of Anthropic, over the Messages API (version 2023-06-01).
 *
 * ```ts
 * anthropic('claude-sonnet-4-5').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * The API wants a limit for the answer: where the request has none (`maxOutputTokens`), it is the longest that the model's family can write, as
 * its overview of models documents, and 4096 for models that are not known. Thinking counts towards it.
 *
 * What the tools do that Anthropic runs itself (`serverTools`) comes as metadata (`serverTool`: the block as it came), as sources and as files, never
 * as a call; it goes back with the conversation. A turn that ends `paused` goes on when the same conversation is sent again. Code goes on in the
 * container of the answer before (`metadata.anthropic.container` of its message); another one, caching, and anything else that has no place in a
 * request go in its `providerOptions`, under `anthropic`; beta features in the `headers` (`anthropic-beta`, to which the betas of the tools are
 * added).
 *
 * @param name The model's name.
 * @param options Key (default: ANTHROPIC_API_KEY), base URL (default: https://api.anthropic.com/v1) transport, and the tools
 * that Anthropic runs.
 * @returns A cold model. Its streams error with what `httpModel` tells; with ConfigurationError `options` also for a seed, for files that the API
 * does not take, for a wish about thinking that the model cannot be told, and for a tool of a name that one of Anthropic's has.
 */
export function anthropic(name: string, options: AnthropicOptions = {}): Model {
  const { serverTools = [], ...transport } = options;
  return httpModel(
    {
      provider: 'anthropic',
      name,
      baseUrl: 'https://api.anthropic.com/v1',
      apiKey: { variable: 'ANTHROPIC_API_KEY' },
      authorize: (key) => ({ 'x-api-key': key }),
      wire: {
        framing: 'sse',
        encode: (request) => encodeRequest(name, request, serverTools),
        decode: decodeMessages,
      },
      capabilities: {
        tools: true,
        multiToolCalls: true,
        typedOutput: familyOf(name).typedOutput,
        typedOutputWithTools: familyOf(name).typedOutput,
        thinking: familyOf(name).thinking !== 'none',
        vision: true,
        files: true,
      },
    },
    { ...transport, headers: withBetas(transport.headers, serverTools) },
  );
}
