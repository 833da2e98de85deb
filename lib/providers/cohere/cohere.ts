import type { Model } from '../../core/model.js';
import { httpModel } from '../httpModel.js';
import type { ModelOptions } from '../httpModel.js';
import { decodeChat } from './decode.js';
import { encodeChat } from './encode.js';

/**
 * A model of Cohere, over its Chat API, version 2.
 *
 * ```ts
 * cohere('command-a-03-2025').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * What a model plans before it calls tools (`tool_plan`) is not shown; it goes back with the calls. Citations are sources. Usage is what the model
 * read and wrote (`tokens`), not what is billed. Fields that have no place in a request go in its `providerOptions`, under `cohere` (`documents`,
 * `safety_mode`, `citation_options`).
 *
 * @param name The model's name.
 * @param options Key (default: COHERE_API_KEY), base URL (default: https://api.cohere.com/v2) and transport.
 * @returns A cold model. Its streams error with what `httpModel` tells; with ConfigurationError also for a schema together with tools
 * (`capability`), for one call at a time, and for files that are neither image nor text (`options`).
 */
export function cohere(name: string, options: ModelOptions = {}): Model {
  const vision = name.includes('vision');
  return httpModel(
    {
      provider: 'cohere',
      name,
      baseUrl: 'https://api.cohere.com/v2',
      apiKey: { variable: 'COHERE_API_KEY' },
      wire: { framing: 'sse', encode: (request) => encodeChat(name, request), decode: decodeChat },
      capabilities: {
        tools: !vision, // its page: Command A Vision has no tool use
        multiToolCalls: !vision,
        typedOutput: true,
        typedOutputWithTools: false,
        thinking: name.includes('reasoning'),
        vision,
        files: false,
      },
    },
    options,
  );
}
