import type { JsonObject } from '../core/json/json.js';
import type { FilePart } from '../core/message.js';
import type { Model, Thinking } from '../core/model.js';
import { chatCompletions } from './chatCompletions/chatCompletions.js';
import { httpModel } from './httpModel.js';
import type { ModelOptions } from './httpModel.js';
import { mistralCallId, shortCallId } from './shared/callIds.js';
import { dataUrl } from './shared/files.js';

/**
 * A model of any vendor, through OpenRouter.
 *
 * ```ts
 * openrouter('google/gemini-2.5-flash').stream({
 *   messages: [userMessage('Name a river.')],
 *   providerOptions: { openrouter: { plugins: [{ id: 'web' }], provider: { order: ['google-vertex'] } } },
 * });
 * ```
 *
 * Signed and encrypted reasoning (`reasoning_details`) is sent back unchanged, and so are documents that OpenRouter has parsed.
 * The metadata contain the provider that OpenRouter chose as `upstreamProvider`, and the price as `cost` (in credits, which are
 * US dollars). `plugins` (web search, the file parser), `provider`, `models` and `transforms` go into the request's
 * `providerOptions`, under `openrouter`; the headers `HTTP-Referer` and `X-Title` into `headers`.
 *
 * @param name The model's name, with its vendor before the slash.
 * @param options Key (default: OPENROUTER_API_KEY), base URL (default: https://openrouter.ai/api/v1) and transport.
 * @returns A cold model. Its streams error like those of `httpModel`. The capabilities are those of the service; OpenRouter
 * itself refuses what a model does not support.
 */
export function openrouter(name: string, options: ModelOptions = {}): Model {
  return httpModel(
    {
      provider: 'openrouter',
      name,
      baseUrl: 'https://openrouter.ai/api/v1',
      apiKey: { variable: 'OPENROUTER_API_KEY' },
      wire: chatCompletions(name, {
        provider: 'openrouter',
        fileUrls: true,
        thinking: openrouterThinking,
        file: openrouterFile,
        callId: name.startsWith('mistralai/') ? mistralCallId : shortCallId, // OpenRouter passes ids on to the vendor unchanged
      }),
      capabilities: {
        tools: true,
        multiToolCalls: true,
        typedOutput: true,
        typedOutputWithTools: true,
        thinking: true,
        vision: true,
        files: true,
      },
    },
    options,
  );
}

/** `reasoning` accepts either an effort or a number of tokens ("Reasoning tokens"): the effort takes precedence. `none` switches it off. */
function openrouterThinking(thinking: Thinking): JsonObject {
  if (typeof thinking === 'boolean') return { reasoning: thinking ? { enabled: true } : { effort: 'none' } };
  if (thinking.effort !== undefined) return { reasoning: { effort: thinking.effort } };
  return { reasoning: thinking.budget === undefined ? { enabled: true } : { max_tokens: thinking.budget } };
}

/** Videos have a part type of their own ("Video inputs"). */
function openrouterFile(file: FilePart): JsonObject | undefined {
  return /^video\//i.test(file.mediaType)
    ? { type: 'video_url', video_url: { url: file.url ?? dataUrl(file) } }
    : undefined;
}
