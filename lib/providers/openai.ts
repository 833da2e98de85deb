import { omitUndefined } from '../core/json/json.js';
import type { Model } from '../core/model.js';
import { contextLengthPatterns } from '../protocol/contextLengthPatterns.js';
import { sse } from '../protocol/sse.js';
import { httpModel, type ModelOptions } from './httpModel.js';
import type { Background } from './openaiResponses/background.js';
import { decodeResponses } from './openaiResponses/decode.js';
import { encodeResponses, type EncodeOptions } from './openaiResponses/encode.js';
import { isAudioOrVideo } from './openaiResponses/files.js';
import { isReasoningModel, provider } from './openaiResponses/models.js';
import type { ResponsesTool } from './openaiResponses/serverTools.js';
import { allCapabilities } from './shared/capabilityTable.js';

/** The options of a model of the Responses API, in addition to the transport's options. */
export interface ResponsesOptions extends ModelOptions {
  /**
   * Whether OpenAI stores the responses (for 30 days). If it is false, reasoning is sent back in encrypted form.
   * `background` responses and steering require true. To set it for one request, use
   * `providerOptions: { openai: { store } }`. Default: the value of `session`.
   */
  readonly store?: boolean | undefined;
  /**
   * Whether a request continues the last response that the server stores. Such a request contains
   * `previous_response_id` and only the messages after that response. If it is false, each request contains the
   * complete conversation. A stored response still includes messages that were removed from the history. Default:
   * false.
   */
  readonly session?: boolean | undefined;
  /** The tools that OpenAI runs, created by `responsesTools`. Default: none. */
  readonly serverTools?: readonly ResponsesTool[] | undefined;
  /** `background()`: OpenAI produces the responses without a connection. Default: only with one. */
  readonly background?: Background | undefined;
}

/**
 * An OpenAI model, used through the Responses API.
 *
 * ```ts
 * openai('gpt-6.1-terra').stream({ messages: [userMessage('Name a river.')], thinking: true });
 * ```
 *
 * A request contains the complete conversation: the items of earlier responses are sent back one by one, in their
 * order, including the encrypted reasoning, and OpenAI stores nothing. With `session: true`, it stores the responses,
 * and a request contains the id of the newest one and only the messages after it, including messages of other models;
 * if OpenAI no longer has that response, the request contains the complete conversation. OpenAI runs the `serverTools`
 * itself: each change of their calls is emitted as metadata under `serverTools`, and their files and
 * sources as chunks. Other items (those of a tool that is not among `serverTools`, too), and parts and events that are
 * not known, are the metadata `unknown`; a response with a call of an unknown type ends with `other`, and the type as
 * `rawReason`.
 *
 * With `store: true` and `background: background()`, OpenAI produces the response without a connection. If the
 * connection is lost, the rest is requested after a `retry` chunk: nothing is emitted or paid twice.
 *
 * A free-form tool, a shell, patches, a computer and a search for tools, which your own functions answer, are tools of
 * the agent: see `responsesTools`.
 *
 * @param name The model's name.
 * @param options Key (default: OPENAI_API_KEY), base URL (default: https://api.openai.com/v1), transport, whether
 * responses are stored and continued, and the tools that OpenAI runs.
 * @returns A model, whose streams are cold. In addition to the errors of `httpModel`, its streams fail with
 * ConfigurationError `options` for settings that the API does not support (`stopSequences`, `seed`, a thinking budget,
 * an effort that the model is known not to have, audio and video files), and for `background` without `store`.
 */
export function openai(name: string, options: ResponsesOptions = {}): Model {
  const { store, session, serverTools, background } = options;
  const thinking = options.capabilities?.thinking ?? isReasoningModel(name);
  const encoding: EncodeOptions = { store, reasoning: thinking, session, serverTools, background, refused: {} };
  return httpModel(
    {
      provider,
      name,
      baseUrl: 'https://api.openai.com/v1',
      apiKey: { variable: 'OPENAI_API_KEY' },
      wire: {
        framing: sse,
        contextLengthPatterns,
        encode: (request) => encodeResponses(name, request, encoding),
        decode: (emit, body) => decodeResponses(emit, body, serverTools?.[0]?.support),
        resume: (body) => (body['background'] === true ? background?.join : undefined),
        resultFile: (file) => (isAudioOrVideo(file) ? 'none' : 'result'),
      },
      capabilities: omitUndefined({ ...allCapabilities, thinking }),
      ownOptions: { store: 'boolean', session: 'boolean', serverTools: 'array', background: 'object' },
    },
    options,
  );
}
