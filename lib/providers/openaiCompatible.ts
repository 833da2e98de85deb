import { omitUndefined } from '../core/json/json.js';
import type { Model } from '../core/model.js';
import { mergeHeaders } from '../protocol/request.js';
import { chatCompletions } from './chatCompletions/chatCompletions.js';
import { compatible } from './chatCompletions/compatible.js';
import { createReplay } from './chatCompletions/replay.js';
import type { Dialect } from './chatCompletions/dialect.js';
import { httpModel, type OpenModelOptions } from './httpModel.js';
import { combineHeaders } from './shared/credentials.js';
import { readOpenText } from './shared/openText.js';

/** A server that implements the Chat Completions API. The options apply to all models of the server. */
export interface CompatibleServer extends OpenModelOptions, Omit<Dialect, 'provider' | keyof typeof compatible> {
  /** The provider's name, used in errors and as the key of its provider data and `providerOptions`. */
  readonly name: string;
  /** The URL of the server's API, without `/chat/completions`. */
  readonly baseUrl: string;
  /** The variable with the key, sent only to the server's own `baseUrl`. Default: none, no authorization. */
  readonly apiKeyVariable?: string | undefined;
  /** Which messages' reasoning is sent back, as it arrived; `'none'` where servers refuse it. Default: `'calls'`. */
  readonly replay?: 'calls' | 'all' | 'none' | undefined;
}

/**
 * Models of any server that implements the Chat Completions API: vLLM, llama.cpp, LM Studio, SGLang, Groq, DeepSeek,
 * xAI, or a gateway.
 *
 * ```ts
 * const groq = openaiCompatible({
 *   name: 'groq',
 *   baseUrl: 'https://api.groq.com/openai/v1',
 *   apiKeyVariable: 'GROQ_API_KEY',
 * });
 * groq('llama-3.3-70b-versatile').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * Differences in responses need no setting. Differences in requests are configured with the fields of the dialect
 * (`maxTokens`, `streamUsage`, `fileUrls`, `resultFiles`, `alternateRoles`, `thinking`, `file`, `callId`, `body`) and
 * `replay`. According to their
 * documentation, all of the servers below accept the defaults. Most differ only in the field for thinking, which is
 * `reasoning_effort` by default (`'none'` disables thinking):
 *
 * | server | base URL | key |
 * |---|---|---|
 * | Groq | https://api.groq.com/openai/v1 | GROQ_API_KEY |
 * | DeepSeek | https://api.deepseek.com | DEEPSEEK_API_KEY |
 * | xAI | https://api.x.ai/v1 | XAI_API_KEY |
 * | Moonshot | https://api.moonshot.ai/v1 | MOONSHOT_API_KEY |
 * | vLLM | http://localhost:8000/v1 | none |
 * | llama.cpp | http://localhost:8080/v1 | none |
 * | LM Studio | http://localhost:1234/v1 | none |
 *
 * | server | `thinking: true` and efforts | `thinking: false` |
 * |---|---|---|
 * | Groq | gpt-oss: `reasoning_effort`; qwen3: `'default'` | qwen3: `'none'`; gpt-oss: not possible |
 * | DeepSeek | `reasoning_effort` (`low`, `high`, `max`); on by default | `{ thinking: { type: 'disabled' } }` |
 * | xAI | `reasoning_effort`, rejected by models that always think | grok-4.3: `'none'` |
 * | Moonshot | on by default; kimi-k3: `reasoning_effort` | `{ thinking: { type: 'disabled' } }` |
 * | vLLM, llama.cpp | depends on the model's template | `{ chat_template_kwargs: { enable_thinking: false } }` |
 * | LM Studio | set in the model's settings | set in the model's settings |
 *
 * - Groq: gpt-oss always sends its reasoning; other models send it only with `reasoning_format: 'parsed'`.
 * - DeepSeek: the only output format is `json_object`.
 * - xAI: reasoning models reject `stop`.
 * - Moonshot: `toolChoice` cannot force a call while thinking is enabled; kimi models use a fixed temperature.
 * - vLLM: tools need `--enable-auto-tool-choice` and a parser; without a parser, Llama writes calls as text: set
 *   `textCalls: true`.
 * - llama.cpp: tools need `--jinja`; a template of Mistral needs `alternateRoles: true` and `callId: mistralCallId`
 *   (`rivulet/provider`), one of Gemma `alternateRoles: true`.
 * - LM Studio: thinking may be sent as text in `<think>` tags: set `thinkTags: true`.
 *
 * ```ts
 * const deepseek = openaiCompatible({
 *   name: 'deepseek',
 *   baseUrl: 'https://api.deepseek.com',
 *   apiKeyVariable: 'DEEPSEEK_API_KEY',
 *   thinking: (thinking) => ({ thinking: { type: thinking === false ? 'disabled' : 'enabled' } }),
 * });
 * ```
 *
 * @param server The server's name, base URL, key and dialect.
 * @returns A function that returns a model by name. The options of a model override the options of the server; headers
 * are merged.
 */
export function openaiCompatible(server: CompatibleServer): (name: string, options?: OpenModelOptions) => Model {
  const { name: provider, baseUrl, apiKeyVariable, replay = 'calls', ...serverOptions } = server;
  const parts = { ...compatible, replay: replay === 'none' ? undefined : createReplay(replay === 'all') };
  return (name, options = {}) => {
    const headers = combineHeaders(mergeHeaders, server.headers, options.headers);
    // An option of the model that is undefined does not override the server's option.
    const modelOptions = { ...serverOptions, ...omitUndefined(options), headers };
    return httpModel(
      {
        provider,
        name,
        baseUrl,
        apiKey: apiKeyVariable === undefined ? undefined : { variable: apiKeyVariable },
        wire: chatCompletions(name, { ...serverOptions, ...parts, provider }),
        readText: readOpenText(modelOptions, replay === 'none' ? undefined : provider),
        capabilities: server.capabilities,
      },
      modelOptions,
    );
  };
}
