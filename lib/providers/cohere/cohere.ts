import type { Model } from '../../core/model.js';
import { httpModel } from '../httpModel.js';
import type { ModelOptions } from '../httpModel.js';
import { decodeCohere } from './decode.js';
import { encodeCohere } from './encode.js';

/**
 * A model of Cohere, over its Chat API, version 2.
 *
 * ```ts
 * cohere('command-a-03-2025').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * The plan that a model writes before it calls tools (`tool_plan`) is not emitted; it is sent back with the calls. Citations
 * are emitted as sources. Usage counts what the model read and wrote (`tokens`), not what is billed. Fields that a request
 * does not have go into its `providerOptions`, under `cohere` (`documents`, `safety_mode`, `citation_options`).
 *
 * @param name The model's name.
 * @param options Key (default: COHERE_API_KEY), base URL (default: https://api.cohere.com/v2) and transport.
 * @returns A cold model. Its streams error like those of `httpModel`; also with ConfigurationError `capability` for a schema
 * together with tools, and `options` for one call at a time and for files that are neither images nor text.
 */
export function cohere(name: string, options: ModelOptions = {}): Model {
  const vision = name.includes('vision');
  return httpModel(
    {
      provider: 'cohere',
      name,
      baseUrl: 'https://api.cohere.com/v2',
      apiKey: { variable: 'COHERE_API_KEY' },
      wire: { framing: 'sse', encode: (request) => encodeCohere(name, request), decode: decodeCohere },
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
