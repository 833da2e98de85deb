import type { Model } from '../../core/model.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { sse } from '../../protocol/sse.js';
import { geminiServer } from '../shared/googleModels.js';
import { httpModel, type ModelOptions } from '../httpModel.js';
import { acceptsInResult } from './content.js';
import { decodeInteraction } from './decode.js';
import { encodeInteraction } from './encode.js';
import { provider } from './providerData.js';

/**
 * A Gemini model over Google's Interactions API.
 *
 * Each request contains the whole conversation, and `store` is false: Google keeps no interaction, and the history of
 * any run is accepted. Thoughts are sent back with their signatures.
 *
 * ```ts
 * const agent = createAgent({ model: googleInteractions('gemini-3.8-flash') });
 * ```
 *
 * @param name The name of the model.
 * @param options How requests are sent. Default: the key of the variable `GEMINI_API_KEY`. Fields of the API that have
 * no setting (`tools` that Google runs, `safety_settings`, `service_tier`) are `providerOptions` under the key
 * `google-interactions`.
 * @returns A model, whose provider is `google-interactions`.
 */
export function googleInteractions(name: string, options: ModelOptions = {}): Model {
  return httpModel(
    {
      provider,
      ...geminiServer(name),
      wire: {
        framing: sse,
        contextLengthPatterns,
        encode: (request) => encodeInteraction(name, request),
        decode: decodeInteraction,
        resultFile: (file) => (acceptsInResult(file) ? 'result' : 'message'),
      },
    },
    options,
  );
}
