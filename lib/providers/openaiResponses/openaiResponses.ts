import type { Model } from '../../core/model.js';
import { httpModel } from '../httpModel.js';
import type { ModelOptions } from '../httpModel.js';
import { decodeResponses } from './decode.js';
import { encodeResponses } from './encode.js';
import { provider } from './name.js';
import { reasons } from './reasons.js';

/** What a model of the Responses API can be told beside the transport. */
export interface ResponsesOptions extends ModelOptions {
  /**
   * Whether OpenAI keeps the responses (for 30 days). Default: not said, which is `true` at OpenAI and `false` in organisations with zero data
   * retention. With false, reasoning goes back in encrypted form only. `providerOptions: { 'openai-responses': { store } }` of a request says it
   * for that request.
   */
  readonly store?: boolean | undefined;
}

/**
 * A model of OpenAI, over the Responses API.
 *
 * ```ts
 * openaiResponses('gpt-5').stream({ messages: [userMessage('Name a river.')], thinking: true });
 * ```
 *
 * The whole conversation is sent each time. What the model made in earlier turns goes back item by item in its order, reasoning included: each
 * message holds the ids and what is no part of it under `metadata['openai-responses']`, with the id of the response. Of tools that OpenAI runs
 * itself (asked for with `providerOptions`), progress and results are metadata under `openai-responses`, files and sources are chunks.
 *
 * @param name The model's name.
 * @param options Key (default: OPENAI_API_KEY), base URL (default: https://api.openai.com/v1), transport, and whether responses are stored.
 * @returns A cold model. Its streams error with what `httpModel` tells; with ConfigurationError `options` also for what the API has no field for:
 * `stop`, `seed`, a budget for thinking, sound.
 */
export function openaiResponses(name: string, options: ResponsesOptions = {}): Model {
  const { store, ...transport } = options;
  const thinking = options.capabilities?.thinking ?? reasons(name);
  return httpModel(
    {
      provider,
      name,
      baseUrl: 'https://api.openai.com/v1',
      apiKey: { variable: 'OPENAI_API_KEY' },
      wire: {
        framing: 'sse',
        encode: (request) => encodeResponses(name, request, { store, reasons: thinking }),
        decode: decodeResponses,
      },
      capabilities: {
        tools: true,
        multiToolCalls: true,
        typedOutput: true,
        typedOutputWithTools: true,
        ...(thinking === undefined ? {} : { thinking }),
        vision: true,
        files: true,
      },
    },
    transport,
  );
}
