import type { Model } from '../../core/model.js';
import { httpModel } from '../httpModel.js';
import type { ModelOptions } from '../httpModel.js';
import { decodeGoogle } from './decode.js';
import { encodeGoogle } from './encode.js';
import { generationOf, provider } from './own.js';

/**
 * A model of Google, over the Gemini API.
 *
 * ```ts
 * google('gemini-2.5-flash').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * Fields that have no place in a request go in its `providerOptions`, under `google`:
 * `{ google: { safetySettings: [...], generationConfig: { topK: 20 } } }`; tools of the API's own (`{ google: { tools: [{ googleSearch: {} }] } }`)
 * stand in place of the request's.
 *
 * @param name The model's name (`gemini-2.5-flash`), with or without `models/`; or a tuned model's, with `tunedModels/`.
 * @param options Key (default: GEMINI_API_KEY), base URL (default: https://generativelanguage.googleapis.com/v1beta) and transport.
 * @returns A cold model. Its streams error with what `httpModel` tells; with ConfigurationError also for `thinking: false` where the model always
 * thinks, and for `parallelToolCalls: false`.
 */
export function google(name: string, options: ModelOptions = {}): Model {
  const generation = generationOf(name);
  // Before Gemini 3 a request with both is refused: "Function calling with a response mime type: 'application/json' is unsupported".
  const typedOutputWithTools = generation !== undefined && generation >= 3;
  return httpModel(
    {
      provider,
      name,
      baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
      apiKey: { variable: 'GEMINI_API_KEY' },
      authorize: (key) => ({ 'x-goog-api-key': key }),
      wire: { framing: 'sse', encode: (request) => encodeGoogle(name, request), decode: decodeGoogle },
      capabilities: {
        tools: true,
        multiToolCalls: true,
        typedOutput: true,
        ...(generation === undefined ? {} : { typedOutputWithTools, thinking: generation >= 2.5 }),
        vision: true,
        files: true,
      },
    },
    options,
  );
}
