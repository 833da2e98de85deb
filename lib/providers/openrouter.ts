import type { JsonObject } from '../core/json/json.js';
import type { FilePart } from '../core/message.js';
import type { Model, Thinking } from '../core/model.js';
import { chatCompletions } from './chatCompletions/chatCompletions.js';
import { compatible } from './chatCompletions/compatible.js';
import { httpModel, type OpenModelOptions } from './httpModel.js';
import { allCapabilities } from './shared/capabilityTable.js';
import { mistralCallId, shortCallId } from './shared/callIds.js';
import { dataUrl } from './shared/files.js';
import { readOpenText } from './shared/openText.js';

/**
 * A model of any vendor, used through OpenRouter.
 *
 * ```ts
 * openrouter('google/gemini-3.8-flash').stream({
 *   messages: [userMessage('Name a river.')],
 *   providerOptions: { openrouter: { plugins: [{ id: 'web' }], provider: { order: ['google-vertex'] } } },
 * });
 * ```
 *
 * Signed and encrypted reasoning (`reasoning_details`) is sent back unchanged, and so are documents that OpenRouter has
 * parsed. The metadata contains `upstreamProvider`, the provider that OpenRouter chose, and `cost`, the price in
 * credits (US dollars). Pass `plugins` (web search, the file parser), `provider`, `models` and `transforms` in
 * `providerOptions.openrouter`, and the headers `HTTP-Referer` and `X-Title` in `headers`.
 *
 * @param name The model's name, with its vendor before the slash.
 * @param options Key (default: OPENROUTER_API_KEY), base URL (default: https://openrouter.ai/api/v1) and transport.
 * @returns A model, whose streams are cold. Its streams fail with the errors of `httpModel`. The capabilities are those
 * of the service; OpenRouter rejects a request that a model does not support.
 */
export function openrouter(name: string, options: OpenModelOptions = {}): Model {
  return httpModel(
    {
      provider: 'openrouter',
      name,
      baseUrl: 'https://openrouter.ai/api/v1',
      apiKey: { variable: 'OPENROUTER_API_KEY' },
      wire: chatCompletions(name, {
        ...compatible,
        provider: 'openrouter',
        fileUrls: true,
        resultFiles: true,
        thinking: openrouterThinking,
        file: openrouterFile,
        // OpenRouter forwards ids to the vendor unchanged.
        callId: name.startsWith('mistralai/') ? mistralCallId : shortCallId,
      }),
      readText: readOpenText(options),
      capabilities: allCapabilities,
    },
    options,
  );
}

/** Guide "Reasoning tokens". Of effort and tokens, the effort is sent; `none` disables thinking. */
function openrouterThinking(thinking: Thinking): JsonObject {
  if (typeof thinking === 'boolean') return { reasoning: thinking ? { enabled: true } : { effort: 'none' } };
  if (thinking.effort !== undefined) return { reasoning: { effort: thinking.effort } };
  return { reasoning: thinking.budget === undefined ? { enabled: true } : { max_tokens: thinking.budget } };
}

/** Videos have a separate part type (guide "Video inputs"). */
function openrouterFile(file: FilePart): JsonObject | undefined {
  return /^video\//i.test(file.mediaType)
    ? { type: 'video_url', video_url: { url: file.url ?? dataUrl(file) } }
    : undefined;
}
