import { anthropic } from '../providers/anthropic/anthropic.js';
import { cohere } from '../providers/cohere/cohere.js';
import { google } from '../providers/google/google.js';
import { mistral } from '../providers/mistral.js';
import { ollama } from '../providers/ollama/ollama.js';
import { openai } from '../providers/openai.js';
import { openaiResponses } from '../providers/openaiResponses/openaiResponses.js';
import { openrouter } from '../providers/openrouter.js';
import { together } from '../providers/together.js';
import type { Model } from '../core/model.js';
import type { ModelOptions } from '../providers/httpModel.js';
import { createRegistry } from './registry.js';
import type { ModelFactory, ProviderOptions, RegisteredProvider, Registry } from './registry.js';

export { createRegistry };
export type { ModelFactory, ProviderOptions, RegisteredProvider, Registry };

const builtIn: readonly (readonly [string, ModelFactory, ProviderOptions])[] = [
  ['openai', openai, { defaultModel: 'gpt-5', keyVariable: 'OPENAI_API_KEY' }],
  [
    'openai-responses',
    openaiResponses,
    { aliases: ['responses'], defaultModel: 'gpt-5', keyVariable: 'OPENAI_API_KEY' },
  ],
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
    { aliases: ['claude'], defaultModel: 'claude-sonnet-4-5', keyVariable: 'ANTHROPIC_API_KEY' },
  ],
  [
    'google',
    google,
    { aliases: ['gemini', 'googleai', 'google-ai'], defaultModel: 'gemini-2.5-flash', keyVariable: 'GEMINI_API_KEY' },
  ],
  ['ollama', ollama, { defaultModel: 'qwen3' }], // one that can think and call tools; a model that cannot think refuses to be asked (400)
  [
    'mistral',
    mistral,
    { aliases: ['mistralai', 'mistral-ai'], defaultModel: 'mistral-small-latest', keyVariable: 'MISTRAL_API_KEY' },
  ],
  ['cohere', cohere, { defaultModel: 'command-a-03-2025', keyVariable: 'COHERE_API_KEY' }],
];

/** The registry that all share. Only this file imports every provider: who imports one of them bundles no other. */
const registry: Registry = /* @__PURE__ */ filled();

function filled(): Registry {
  const made = createRegistry();
  for (const [name, factory, options] of builtIn) made.registerProvider(name, factory, options);
  return made;
}

/**
 * A model by its name: `provider:model`, or the provider alone for its default model.
 *
 * ```ts
 * modelByName('anthropic:claude-sonnet-4-5');
 * modelByName('openrouter:google/gemini-2.5-flash');
 * modelByName('ollama:qwen2.5:7b', { baseUrl: 'http://gpu:11434' });
 * modelByName('gemini'); // an alias, and its default model
 * ```
 *
 * The provider stands before the first colon (or slash), in any case; the rest is the model's name as it is. No key is asked for before the model is used.
 *
 * @param name The name.
 * @param options The model's options: key, base URL, transport, capabilities.
 * @returns The model, as the provider's own function gives it.
 * @throws ConfigurationError `model` for a provider that is not there (it lists those that are), and where no model is named and the provider has no
 * default.
 */
export function modelByName(name: string, options?: ModelOptions): Model {
  return registry.modelByName(name, options);
}

/**
 * Gives a provider a name, so that `modelByName` finds its models.
 *
 * ```ts
 * const groq = openaiCompatible({ name: 'groq', baseUrl: 'https://api.groq.com/openai/v1', apiKeyVariable: 'GROQ_API_KEY' });
 * registerProvider('groq', groq, { aliases: ['groqcloud'], defaultModel: 'llama-3.3-70b-versatile', keyVariable: 'GROQ_API_KEY' });
 * modelByName('groq');
 * ```
 *
 * @param name The name, without colons and slashes; its case does not matter. A provider of that name is replaced.
 * @param factory Makes a model by name and options.
 * @param options Aliases, the default model, and the variable of the key (default of each: none).
 * @throws ConfigurationError `provider` for a name that is none, and for a name or alias that means another provider.
 */
export function registerProvider(name: string, factory: ModelFactory, options?: ProviderOptions): void {
  registry.registerProvider(name, factory, options);
}

/** The providers that `modelByName` knows, with their aliases, default models, the variables of their keys, and capabilities. */
export function registeredProviders(): readonly RegisteredProvider[] {
  return registry.providers();
}
