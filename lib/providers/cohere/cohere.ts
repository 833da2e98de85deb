import type { Model } from '../../core/model.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { sse } from '../../protocol/sse.js';
import { httpModel, type ModelOptions } from '../httpModel.js';
import { decodeCohere } from './decode.js';
import { encodeCohere } from './encode.js';
import { placeResultFile } from './messages.js';

/**
 * A Cohere model, used through version 2 of Cohere's Chat API.
 *
 * ```ts
 * cohere('command-a-plus-05-2026').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * The plan that a model writes before it calls tools (`tool_plan`) is not emitted; it is sent back with the calls.
 * Citations are emitted as sources. Usage counts the tokens that the model read and wrote (`tokens`), not the billed
 * units. Pass other fields of the API (`documents`, `safety_mode`, `citation_options`) in `providerOptions.cohere`.
 *
 * @param name The model's name.
 * @param options Key (default: COHERE_API_KEY), base URL (default: https://api.cohere.com/v2) and transport.
 * @returns A model, whose streams are cold. In addition to the errors of `httpModel`, its streams fail with
 * ConfigurationError `capability` for an output schema together with tools, and `options` for
 * `parallelToolCalls: false` and for files that are neither images nor text.
 */
export function cohere(name: string, options: ModelOptions = {}): Model {
  const vision = name.includes('vision');
  return httpModel(
    {
      provider: 'cohere',
      name,
      baseUrl: 'https://api.cohere.com/v2',
      apiKey: { variable: 'COHERE_API_KEY', domains: ['api.cohere.ai'] },
      wire: {
        framing: sse,
        contextLengthPatterns,
        encode: (request) => encodeCohere(name, request),
        decode: decodeCohere,
        resultFile: placeResultFile,
      },
      capabilities: {
        tools: !vision, // Cohere's page on Command A Vision: no tool use
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
