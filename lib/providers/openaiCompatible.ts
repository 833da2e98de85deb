import { omitUndefined } from '../core/json/json.js';
import type { Model } from '../core/model.js';
import { chatCompletions } from './chatCompletions/chatCompletions.js';
import type { Dialect } from './chatCompletions/dialect.js';
import { httpModel } from './httpModel.js';
import type { ModelOptions } from './httpModel.js';

/** A server that implements the Chat Completions API. The options apply to all its models. */
export interface CompatibleServer extends ModelOptions, Omit<Dialect, 'provider'> {
  /** The provider's name: in errors, and as the key of its provider data and `providerOptions`. */
  readonly name: string;
  /** The URL of its API, without `/chat/completions`. */
  readonly baseUrl: string;
  /** The environment variable of its key. Default: none. Without a variable and an `apiKey`, no authorization is sent. */
  readonly apiKeyVariable?: string | undefined;
}

/**
 * Models of any server that implements the Chat Completions API: vLLM, llama.cpp, LM Studio, SGLang, Groq, DeepSeek, xAI, a
 * gateway.
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
 * Differences in responses need no setting. For differences in requests there are the fields of the dialect (`maxTokens`,
 * `streamUsage`, `fileUrls`, `thinking`, `file`, `callId`, `body`). By their documentation, all of these servers accept the
 * defaults; they mostly differ in the field for thinking, by default `reasoning_effort` (`'none'` switches thinking off):
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
 * | Groq | gpt-oss: `reasoning_effort`; qwen3: `'default'` | qwen3: `'none'`; gpt-oss cannot |
 * | DeepSeek | `reasoning_effort` (`low`, `high`, `max`); on by default | `{ thinking: { type: 'disabled' } }` |
 * | xAI | `reasoning_effort`, refused by models that always think | grok-4.3: `'none'` |
 * | Moonshot | on by default; kimi-k3: `reasoning_effort` | `{ thinking: { type: 'disabled' } }` |
 * | vLLM, llama.cpp | by the model's template | `{ chat_template_kwargs: { enable_thinking: false } }` |
 * | LM Studio | by the model's settings | by the model's settings |
 *
 * - Groq: gpt-oss always sends its reasoning; other models with `reasoning_format: 'parsed'`.
 * - DeepSeek: as output format only `json_object`.
 * - xAI: reasoning models refuse `stop`.
 * - Moonshot: a forced tool is refused while thinking; kimi models fix their own temperature.
 * - vLLM: tools need `--enable-auto-tool-choice` and a parser; without one, Llama writes calls as text: `textCalls: true`.
 * - llama.cpp: `toolChoice: { name }` is treated as `auto`; tools need `--jinja`.
 * - LM Studio: thinking may be sent as `<think>` text: `thinkTags: true`.
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
 * @returns A function that returns a model by name. A model's options override those of the server; headers are merged.
 */
export function openaiCompatible(server: CompatibleServer): (name: string, options?: ModelOptions) => Model {
  const { name: provider, baseUrl, apiKeyVariable, ...rest } = server;
  return (name, options = {}) => {
    const headers = { ...server.headers, ...options.headers };
    return httpModel(
      {
        provider,
        name,
        baseUrl,
        apiKey: apiKeyVariable === undefined ? undefined : { variable: apiKeyVariable },
        wire: chatCompletions(name, { ...rest, provider }),
        capabilities: server.capabilities,
      },
      { ...rest, ...omitUndefined(options), headers }, // an option that is undefined does not override the server's
    );
  };
}
