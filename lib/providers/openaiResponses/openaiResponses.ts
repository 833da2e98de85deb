import { omitUndefined } from '../../core/json/json.js';
import type { Model } from '../../core/model.js';
import { httpModel } from '../httpModel.js';
import type { ModelOptions } from '../httpModel.js';
import { decodeResponses } from './decode.js';
import { encodeResponses } from './encode.js';
import { provider, reasons } from './models.js';
import type { ResponsesTool } from './serverTools.js';
import { isResponse } from './session.js';

/** What a model of the Responses API can be told beside the transport. */
export interface ResponsesOptions extends ModelOptions {
  /**
   * Whether OpenAI keeps the responses (for 30 days). Default: not said, which is `true` at OpenAI and `false` in organisations with zero data
   * retention. With false, reasoning goes back in encrypted form only. `providerOptions: { 'openai-responses': { store } }` of a request says it
   * for that request.
   */
  readonly store?: boolean | undefined;
  /**
   * Whether a conversation goes on from the last response that the server keeps: only what is newer is sent, with `previous_response_id`. False: the
   * whole conversation each time, for servers that take the id and keep nothing, and for histories that were shortened on purpose (the server
   * remembers what was left out). Default: true.
   */
  readonly session?: boolean | undefined;
  /** The tools that OpenAI runs, made by `responsesTools`. Default: none. */
  readonly serverTools?: readonly ResponsesTool[] | undefined;
}

/**
 * A model of OpenAI, over the Responses API.
 *
 * ```ts
 * openaiResponses('gpt-5').stream({ messages: [userMessage('Name a river.')], thinking: true });
 * ```
 *
 * A message that this model made holds the id of its response under `metadata['openai-responses']`. A request sends only what is newer than the newest
 * one that OpenAI keeps, whoever made it, and that id; with `store: false`, or once OpenAI does not know the response any more, the whole
 * conversation: what the model made in earlier turns then goes back item by item in its order, reasoning included. Of `serverTools`, which OpenAI runs
 * itself, progress and results are metadata under `openai-responses`, files and sources are chunks.
 *
 * @param name The model's name.
 * @param options Key (default: OPENAI_API_KEY), base URL (default: https://api.openai.com/v1), transport, whether
 * responses are stored and gone on from, and the tools that OpenAI runs.
 * @returns A cold model. Its streams error with what `httpModel` tells; with ConfigurationError `options` also for what the API has no field for:
 * `stop`, `seed`, a budget for thinking, sound.
 */
export function openaiResponses(name: string, options: ResponsesOptions = {}): Model {
  const { store, session, serverTools, ...transport } = options;
  const thinking = options.capabilities?.thinking ?? reasons(name);
  return httpModel(
    {
      provider,
      name,
      baseUrl: 'https://api.openai.com/v1',
      apiKey: { variable: 'OPENAI_API_KEY' },
      wire: {
        framing: 'sse',
        encode: (request) => encodeResponses(name, request, { store, reasons: thinking, session, serverTools }),
        isUnmergeable: isResponse,
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
