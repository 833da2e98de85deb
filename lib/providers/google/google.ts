import type { Model } from '../../core/model.js';
import { httpModel } from '../httpModel.js';
import type { ModelOptions } from '../httpModel.js';
import { decodeGoogle } from './decode.js';
import { encodeGoogle } from './encode.js';
import { generationOf, provider } from './providerData.js';
import type { GoogleTool } from './serverTools.js';

/** What a model of Google can be told beside the transport. */
export interface GoogleOptions extends ModelOptions {
  /** The tools that Google runs, made by `googleTools`. Default: none. */
  readonly serverTools?: readonly GoogleTool[] | undefined;
}

/**
 * A model of Google, over the Gemini API.
 *
 * ```ts
 * google('gemini-2.5-flash').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * Fields that have no place in a request go in its `providerOptions`, under `google`:
 * `{ google: { safetySettings: [...], generationConfig: { topK: 20 } } }`. What the tools do that Google runs itself (`serverTools`) comes as metadata,
 * as sources and as files, never as a call; it goes back with the conversation.
 *
 * @param name The model's name (`gemini-2.5-flash`), with or without `models/`; or a tuned model's, with `tunedModels/`.
 * @param options Key (default: GEMINI_API_KEY), base URL (default: https://generativelanguage.googleapis.com/v1beta), transport,
 * and the tools that Google runs.
 * @returns A cold model. Its streams error with what `httpModel` tells; with ConfigurationError also for `thinking: false` where the model always
 * thinks, for `parallelToolCalls: false`, and for Google's own tools beside others, or beside a JSON Schema, before Gemini 3.
 */
export function google(name: string, options: GoogleOptions = {}): Model {
  const { serverTools = [], ...transport } = options;
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
      wire: { framing: 'sse', encode: (request) => encodeGoogle(name, request, serverTools), decode: decodeGoogle },
      capabilities: {
        tools: true,
        multiToolCalls: true,
        typedOutput: true,
        ...(generation === undefined ? {} : { typedOutputWithTools, thinking: generation >= 2.5 }),
        vision: true,
        files: true,
      },
    },
    transport,
  );
}
