import { anthropic } from '../anthropic/anthropic.js';
import { compatible } from '../chatCompletions/compatible.js';
import { cohere } from '../cohere/cohere.js';
import { google } from '../google/google.js';
import { mistral } from '../mistral.js';
import { ollama } from '../ollama/ollama.js';
import { openai } from '../openai.js';
import { createOpenaiChat } from '../openaiChat.js';
import { openrouter } from '../openrouter.js';
import { together } from '../together.js';
import { modelError } from '../../core/errors.js';
import type { Model } from '../../core/model.js';
import type { OpenModelOptions } from '../httpModel.js';
import { createRegistry } from './registry.js';
import type { ModelFactory, ProviderOptions, RegisteredProvider, Registry } from './registry.js';

export { createRegistry };
export type { ModelFactory, ProviderOptions, RegisteredProvider, Registry };

const builtInProviders: readonly (readonly [string, ModelFactory, ProviderOptions])[] = [
  ['openai', openai, { aliases: ['responses'], defaultModel: 'gpt-6.1-terra', keyVariable: 'OPENAI_API_KEY' }],
  ['openai-chat', chatAnywhere, { defaultModel: 'gpt-6.1-terra', keyVariable: 'OPENAI_API_KEY' }],
  [
    'openrouter',
    openrouter,
    { aliases: ['open-router'], defaultModel: 'openrouter/auto', keyVariable: 'OPENROUTER_API_KEY' },
  ],
  [
    'together',
    together,
    {
      aliases: ['togetherai', 'together-ai'],
      defaultModel: 'meta-llama/Llama-3.3-70B-Instruct-Turbo',
      keyVariable: 'TOGETHER_API_KEY',
    },
  ],
  [
    'anthropic',
    anthropic,
    { aliases: ['claude'], defaultModel: 'claude-sonnet-5-5', keyVariable: 'ANTHROPIC_API_KEY' },
  ],
  [
    'google',
    google,
    { aliases: ['gemini', 'googleai', 'google-ai'], defaultModel: 'gemini-3.8-flash', keyVariable: 'GEMINI_API_KEY' },
  ],
  // Ollama's default model has to support thinking and tools: models without thinking reject a request for it (status
  // 400).
  ['ollama', ollama, { defaultModel: 'qwen3' }],
  [
    'mistral',
    mistral,
    { aliases: ['mistralai', 'mistral-ai'], defaultModel: 'mistral-small-latest', keyVariable: 'MISTRAL_API_KEY' },
  ],
  ['cohere', cohere, { defaultModel: 'command-a-plus-05-2026', keyVariable: 'COHERE_API_KEY' }],
];

/** Another server may expect its reasoning back, and has other messages of a context that is too long. */
function chatAnywhere(name: string, options: OpenModelOptions = {}): Model {
  return createOpenaiChat(name, options, options.baseUrl === undefined ? {} : compatible);
}

/** Only this file imports all providers; importing a single provider bundles no other provider. */
const registry: Registry = /* @__PURE__ */ createBuiltInRegistry();

function createBuiltInRegistry(): Registry {
  const builtInRegistry = createRegistry();
  for (const [name, factory, options] of builtInProviders) builtInRegistry.registerProvider(name, factory, options);
  return builtInRegistry;
}

/**
 * Creates a model from its name: `provider:model`, or only the provider's name for its default model.
 *
 * ```ts
 * modelByName('anthropic:claude-sonnet-5-5');
 * modelByName('openrouter:google/gemini-3.8-flash');
 * modelByName('ollama:qwen3:8b', { baseUrl: 'http://gpu:11434' });
 * modelByName('gemini'); // an alias, and its default model
 * ```
 *
 * The part before the first colon or slash is the provider's name (case-insensitive); the text after it is the model's
 * name. A key is not required until the model is used.
 *
 * @param name The provider's name, or the names of the provider and the model.
 * @param options The model's options: key, base URL, transport, capabilities.
 * @returns The model, as the provider's own function returns it.
 * @throws ConfigurationError `model` for an unknown provider (the message lists the registered providers), and for a
 * name without a model if the provider has no default model.
 */
export function modelByName(name: string, options?: OpenModelOptions): Model {
  if (/^\s*openai-responses\s*([:/]|$)/i.test(name)) {
    throw modelError(
      `The provider "openai-responses" (${JSON.stringify(name)}) is called "openai" now.`,
      'Write "openai:gpt-6.1-terra". OpenAI\'s Chat Completions are "openai-chat".',
    );
  }
  return registry.modelByName(name, options);
}

/**
 * Registers a provider under a name, so that `modelByName` finds its models.
 *
 * ```ts
 * const groq = openaiCompatible({
 *   name: 'groq',
 *   baseUrl: 'https://api.groq.com/openai/v1',
 *   apiKeyVariable: 'GROQ_API_KEY',
 * });
 * registerProvider('groq', groq, {
 *   aliases: ['groqcloud'],
 *   defaultModel: 'llama-3.3-70b-versatile',
 *   keyVariable: 'GROQ_API_KEY',
 * });
 * modelByName('groq');
 * ```
 *
 * @param name The name (case-insensitive), without whitespace, colons and slashes. A provider that is already
 * registered under this name is replaced.
 * @param factory Creates a model from its name and options.
 * @param options The aliases, the default model, and the environment variable of the key. Default of each: none.
 * @throws ConfigurationError `provider` for an invalid name, and for a name or alias that another provider uses.
 */
export function registerProvider(name: string, factory: ModelFactory, options?: ProviderOptions): void {
  registry.registerProvider(name, factory, options);
}

/** Returns the registered providers with their aliases, default models, environment variables and capabilities. */
export function registeredProviders(): readonly RegisteredProvider[] {
  return registry.providers();
}
