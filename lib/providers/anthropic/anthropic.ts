import type { Model } from '../../core/model.js';
import { httpModel } from '../httpModel.js';
import type { ModelOptions } from '../httpModel.js';
import { decodeMessages } from './decode.js';
import { encodeRequest } from './encode.js';
import { familyOf } from './families.js';

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
 * Tools that Anthropic runs itself (web search, code execution), caching, and anything else that has no place in a request go in its
 * `providerOptions`, under `anthropic`; beta features also in the `headers` (`anthropic-beta`). What such tools do comes as metadata (`serverTool`:
 * the block as it came), never as a call; it goes back with the conversation. A turn that ends `paused` goes on when the same conversation is sent
 * again.
 *
 * @param name The model's name.
 * @param options Key (default: ANTHROPIC_API_KEY), base URL (default: https://api.anthropic.com/v1) and transport.
 * @returns A cold model. Its streams error with what `httpModel` tells; with ConfigurationError `options` also for a seed, for files that the API
 * does not take, and for a wish about thinking that the model cannot be told.
 */
export function anthropic(name: string, options: ModelOptions = {}): Model {
  return httpModel(
    {
      provider: 'anthropic',
      name,
      baseUrl: 'https://api.anthropic.com/v1',
      apiKey: { variable: 'ANTHROPIC_API_KEY' },
      authorize: (key) => ({ 'x-api-key': key }),
      wire: {
        framing: 'sse',
        encode: (request) => encodeRequest(name, request),
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
    options,
  );
}
