import type { Capabilities, Model } from '../core/model.js';
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
  /** What its models can do. Default: not known. */
  readonly capabilities?: Capabilities | undefined;
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
 * `streamUsage`, `fileUrls`, `thinking`, `file`, `body`).
 *
 * @param server Its name, base URL, key, and where it differs.
 * @returns A function that gives a model by name; options of a model go over those of the server, headers one by one.
 */
export function openaiCompatible(server: CompatibleServer): (name: string, options?: ModelOptions) => Model {
  const { name: provider, baseUrl, apiKeyVariable, capabilities, ...rest } = server;
  return (name, options = {}) => {
    const headers = { ...server.headers, ...options.headers };
    return httpModel(
      {
        provider,
        name,
        baseUrl,
        apiKey: apiKeyVariable === undefined ? undefined : { variable: apiKeyVariable },
        wire: chatCompletions(name, { ...rest, provider }),
        capabilities,
      },
      { ...rest, ...given(options), headers },
    );
  };
}

/** The options that say something: `{ apiKey: undefined }` leaves the server's. */
function given(options: ModelOptions): ModelOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
