import { omitUndefined } from '../../core/json/json.js';
import type { Model } from '../../core/model.js';
import { httpModel } from '../httpModel.js';
import type { ModelOptions } from '../httpModel.js';
import { decodeResponses } from './decode.js';
import { encodeResponses } from './encode.js';
import { isReasoningModel, provider } from './models.js';
import type { ResponsesTool } from './serverTools.js';
import { isResponseMessage } from './session.js';

/** The options of a model of the Responses API, besides those of the transport. */
export interface ResponsesOptions extends ModelOptions {
  /**
   * Whether OpenAI keeps the responses (for 30 days). Default: not sent, which means `true` at OpenAI and `false` in
   * organisations with zero data retention. With false, reasoning is only sent back in encrypted form.
   * `providerOptions: { 'openai-responses': { store } }` sets it for one request.
   */
  readonly store?: boolean | undefined;
  /**
   * Whether a request continues the last response that the server keeps: it holds only what is newer, and
   * `previous_response_id`. False: each request holds the complete conversation, for servers that accept the id and keep
   * nothing, and for histories that were shortened on purpose (the server remembers what was removed). Default: true.
   */
  readonly session?: boolean | undefined;
  /** The tools that OpenAI runs, made by `responsesTools`. Default: none. */
  readonly serverTools?: readonly ResponsesTool[] | undefined;
}

/**
 * Creates an OpenAI model over the Responses API.
 *
 * ```ts
 * openaiResponses('gpt-5').stream({ messages: [userMessage('Name a river.')], thinking: true });
 * ```
 *
 * A message of this model holds the id of its response under `metadata['openai-responses']`. A request holds that id and
 * only what is newer than the newest response that OpenAI keeps, whoever made it. With `store: false`, or once OpenAI no
 * longer has the response, it holds the complete conversation: what the model made in earlier turns is sent back item by
 * item in its order, reasoning included. OpenAI runs `serverTools` itself: their progress and results are metadata under
 * `openai-responses`, their files and sources are chunks.
 *
 * @param name The model's name.
 * @param options Key (default: OPENAI_API_KEY), base URL (default: https://api.openai.com/v1), transport, whether
 * responses are stored and continued, and the tools that OpenAI runs.
 * @returns A cold model. Its streams error as those of `httpModel` do; also with ConfigurationError `options` for what the
 * API does not support: `stopSequences`, `seed`, a budget for thinking, audio and video files.
 */
export function openaiResponses(name: string, options: ResponsesOptions = {}): Model {
  const { store, session, serverTools, ...transport } = options;
  const thinking = options.capabilities?.thinking ?? isReasoningModel(name);
  return httpModel(
    {
      provider,
      name,
      baseUrl: 'https://api.openai.com/v1',
      apiKey: { variable: 'OPENAI_API_KEY' },
      wire: {
        framing: 'sse',
        encode: (request) => encodeResponses(name, request, { store, reasoning: thinking, session, serverTools }),
        isUnmergeable: isResponseMessage,
        decode: decodeResponses,
      },
      capabilities: {
        tools: true,
        multiToolCalls: true,
        typedOutput: true,
        typedOutputWithTools: true,
        ...omitUndefined({ thinking }),
        vision: true,
        files: true,
      },
    },
    transport,
  );
}
