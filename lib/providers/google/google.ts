import type { Model } from '../../core/model.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { sse } from '../../protocol/sse.js';
import { httpModel, type ModelOptions } from '../httpModel.js';
import { decodeGoogle } from './decode.js';
import { encodeGoogle } from './encode.js';
import { acceptsInResult } from './messages.js';
import { geminiServer } from '../shared/googleModels.js';
import { provider } from './providerData.js';
import type { GoogleTool } from './serverTools.js';

/** The options of a Google model, in addition to the transport's options. */
export interface GoogleOptions extends ModelOptions {
  /** The tools that Google runs, created by `googleTools`. Default: none. */
  readonly serverTools?: readonly GoogleTool[] | undefined;
}

/**
 * Creates a Google model over the Gemini API.
 *
 * ```ts
 * google('gemini-3.8-flash').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * Google runs the `serverTools` itself. Their calls and results arrive as metadata, sources and files, never as tool
 * calls. They are sent back with the conversation. To set a field of the API that `ModelRequest` does not have, use
 * `providerOptions`: `{ google: { safetySettings: [...], generationConfig: { topK: 20 } } }`.
 *
 * @param name The model's name (`gemini-3.8-flash`), with or without `models/`; for a tuned model, with `tunedModels/`.
 * @param options `apiKey` (default: the environment variable GEMINI_API_KEY), `baseUrl` (default:
 * https://generativelanguage.googleapis.com/v1beta), `serverTools` (default: none), and the options of the transport.
 * @returns A model, whose streams are cold. In addition to the errors of `httpModel`, its streams fail with
 * ConfigurationError for `thinking: false` on a model that always thinks, for `parallelToolCalls: false`, and, before
 * Gemini 3, for Google's own tools in combination with other tools or with a JSON Schema.
 */
export function google(name: string, options: GoogleOptions = {}): Model {
  const { serverTools = [], ...transport } = options;
  return httpModel(
    {
      provider,
      ...geminiServer(name),
      wire: {
        framing: sse,
        contextLengthPatterns,
        encode: (request) => encodeGoogle(name, request, serverTools),
        decode: decodeGoogle,
        resultFile: (file) => (acceptsInResult(name, file) ? 'result' : 'message'),
      },
    },
    transport,
  );
}
