import { omitUndefined } from '../core/json/json.js';
import type { Model } from '../core/model.js';
import { chatCompletions } from './chatCompletions/chatCompletions.js';
import type { Dialect } from './chatCompletions/dialect.js';
import { httpModel } from './httpModel.js';
import type { ModelOptions } from './httpModel.js';

/** A server that speaks the Chat Completions API; the options hold for all its models. */
export interface CompatibleServer extends ModelOptions, Omit<Dialect, 'provider'> {
  /** What to call it: in errors, and as the key of its provider data and `providerOptions`. */
  readonly name: string;
  /** Where its API is, up to and without `/chat/completions`. */
  readonly baseUrl: string;
  /** The environment variable of its key. Default: none; without `apiKey` too, no authorization is sent. */
  readonly apiKeyVariable?: string | undefined;
}

/**
 * Models of any server that speaks the Chat Completions API: vLLM, llama.cpp, LM Studio, SGLang, Groq, DeepSeek, xAI, a gateway.
 *
 * ```ts
 * const groq = openaiCompatible({ name: 'groq', baseUrl: 'https://api.groq.com/openai/v1', apiKeyVariable: 'GROQ_API_KEY' });
 * groq('llama-3.3-70b-versatile').stream({ messages: [userMessage('Name a river.')] });
 * ```
 *
 * What such servers send differently needs no setting. For what they take differently there are the fields of the dialect (`maxTokens`,
 * `streamUsage`, `fileUrls`, `thinking`, `file`, `callId`, `body`). The defaults are what all of these take, as their documents have it; where they
 * differ is mostly how thinking is switched, which by default is `reasoning_effort`, `'none'` for off:
 *
 * | server | base URL | key | `thinking: true` and efforts | `thinking: false` | beside |
 * |---|---|---|---|---|---|
 * | Groq | https://api.groq.com/openai/v1 | GROQ_API_KEY | gpt-oss: `reasoning_effort`; qwen3: `'default'` | qwen3: `'none'`; gpt-oss cannot | gpt-oss shows its reasoning by itself; others with `reasoning_format: 'parsed'` |
 * | DeepSeek | https://api.deepseek.com | DEEPSEEK_API_KEY | `reasoning_effort` (`low`, `high`, `max`); on by default | `{ thinking: { type: 'disabled' } }` | output: `json_object` only |
 * | xAI | https://api.x.ai/v1 | XAI_API_KEY | `reasoning_effort`, refused by models that always think | grok-4.3: `'none'` | reasoning models refuse `stop` |
 * | Moonshot | https://api.moonshot.ai/v1 | MOONSHOT_API_KEY | on by default; kimi-k3: `reasoning_effort` | `{ thinking: { type: 'disabled' } }` | a forced tool is refused while thinking; kimi models fix their own temperature |
 * | vLLM | http://localhost:8000/v1 | none | by the model's template | `{ chat_template_kwargs: { enable_thinking: false } }` | tools need `--enable-auto-tool-choice` and a parser |
 * | llama.cpp | http://localhost:8080/v1 | none | by the model's template | `{ chat_template_kwargs: { enable_thinking: false } }` | `toolChoice: { name }` is taken for `auto`; tools need `--jinja` |
 * | LM Studio | http://localhost:1234/v1 | none | by the model's settings | the same | thinking may come as `<think>` text: `thinkTags: true` |
 *
 * ```ts
 * const deepseek = openaiCompatible({
 *   name: 'deepseek',
 *   baseUrl: 'https://api.deepseek.com',
 *   apiKeyVariable: 'DEEPSEEK_API_KEY',
 *   thinking: (wish) => ({ thinking: { type: wish === false ? 'disabled' : 'enabled' } }),
 * });
 * ```
 *
 * @param server Its name, base URL, key, and where it differs.
 * @returns A function that gives a model by name; options of a model go over those of the server, headers one by one.
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
      { ...rest, ...omitUndefined(options), headers }, // an option that is undefined leaves the server's
    );
  };
}
