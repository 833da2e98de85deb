import type { Model } from '../../core/model.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { sse } from '../../protocol/sse.js';
import { allCapabilities } from '../shared/capabilityTable.js';
import { combineHeaders } from '../shared/credentials.js';
import { httpModel, type ModelOptions } from '../httpModel.js';
import { decodeAnthropic } from './decode.js';
import { encodeAnthropic } from './encode.js';
import { isSupported } from './files.js';
import { findFamily } from './models.js';
import { withBetas, type AnthropicTool } from './serverTools.js';

/** The options of an Anthropic model, in addition to the transport's options. */
export interface AnthropicOptions extends ModelOptions {
  /** The tools that Anthropic runs (`anthropicTools`). Of two with one name, the later is used. Default: none. */
  readonly serverTools?: readonly AnthropicTool[] | undefined;
}

/**
 * Creates an Anthropic model over the Messages API (version 2023-06-01).
 *
 * ```ts
 * anthropic('claude-sonnet-5-5').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * The API requires a limit for the length of the response. The default of `maxOutputTokens` is the maximum response
 * length of the model's family, according to Anthropic's overview of models, and 4096 for unknown models. Thinking
 * counts towards the limit.
 *
 * Anthropic runs the `serverTools` itself. Their calls and results arrive as metadata (`serverTools`, see
 * `ServerTool`), sources and files, never as tool calls. They are sent back with the conversation, and so are
 * compactions, fallbacks to another model and listings of MCP tools, which are reported as metadata (`compaction`,
 * `fallback`, `mcpToolListing`). Content of an unknown type is reported as `unknown`. If a turn ends with `paused`,
 * send the same conversation again to continue the turn. Code runs in the container of the previous response
 * (`metadata.anthropic.container` of that response's message). To choose another container, to enable caching, or to
 * set any other field that `ModelRequest` does not have, use `providerOptions.anthropic`. To enable beta features, set
 * the header `anthropic-beta` in `headers`; the betas that the tools require are added to it.
 *
 * @param name The model's name.
 * @param options Key (default: ANTHROPIC_API_KEY), base URL (default: https://api.anthropic.com/v1), transport, and the
 * tools that Anthropic runs.
 * @returns A model, whose streams are cold. In addition to the errors of `httpModel`, its streams fail with
 * ConfigurationError `options` for a `seed`, for a file that the API does not accept, for a setting that the model does
 * not support (`thinking`, a forced `toolChoice`, `temperature` and `topP` since the 5 family), and for a tool that has
 * the same name as one of the `serverTools`.
 */
export function anthropic(name: string, options: AnthropicOptions = {}): Model {
  const { serverTools = [], ...transport } = options;
  const family = findFamily(name);
  return httpModel(
    {
      provider: 'anthropic',
      name,
      baseUrl: 'https://api.anthropic.com/v1',
      apiKey: { variable: 'ANTHROPIC_API_KEY' },
      authorize: (key) => ({ 'x-api-key': key }),
      wire: {
        framing: sse,
        contextLengthPatterns,
        encode: (request) => encodeAnthropic(name, request, serverTools),
        decode: decodeAnthropic,
        resultFile: (file) => (isSupported(file) ? 'result' : 'none'),
      },
      capabilities: {
        ...allCapabilities,
        typedOutput: family.typedOutput,
        typedOutputWithTools: family.typedOutput,
        thinking: family.thinking !== 'none',
      },
    },
    { ...transport, headers: combineHeaders((headers) => withBetas(headers, serverTools), transport.headers) },
  );
}
