import { ConfigurationError } from '../core/errors.js';
import { omitUndefined } from '../core/json/json.js';
import type { Capabilities, Model } from '../core/model.js';
import type { ModelOptions } from '../providers/httpModel.js';

/** Makes a provider's model. */
export type ModelFactory = (name: string, options?: ModelOptions) => Model;

/** What is registered of a provider besides its factory. */
export interface ProviderOptions {
  /** Other names of the provider. Default: none. */
  readonly aliases?: readonly string[] | undefined;
  /** The model for a name without one. Default: a model has to be named. */
  readonly defaultModel?: string | undefined;
  /**
   * The environment variable from which the provider's models read their key. Informational only: the registry does not
   * read it. Default: none, no key is required.
   */
  readonly keyVariable?: string | undefined;
}

/** A registered provider. */
export interface RegisteredProvider {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly defaultModel?: string;
  /** The environment variable of its key; absent where none is required. */
  readonly keyVariable?: string;
  /** The capabilities of its default model; empty where it has none. The README shows them in a table. */
  readonly capabilities: Capabilities;
}

/** Providers by name. */
export interface Registry {
  modelByName(name: string, options?: ModelOptions): Model;
  registerProvider(name: string, factory: ModelFactory, options?: ProviderOptions): void;
  providers(): readonly RegisteredProvider[];
}

interface Entry extends ProviderOptions {
  readonly factory: ModelFactory;
}

/** Makes an empty registry. `rivulet/registry` has one with all providers; this is for a registry of your own. */
export function createRegistry(): Registry {
  const entries = new Map<string, Entry>();
  const aliasTargets = new Map<string, string>();

  return {
    modelByName(name, options) {
      const { provider, model } = splitName(name);
      const entry = entries.get(aliasTargets.get(provider) ?? provider);
      if (!entry) throw unknownProvider(name, provider, describe(entries));
      const modelName = model === '' ? entry.defaultModel : model;
      if (modelName === undefined) throw missingModel(name, provider);
      return entry.factory(modelName, options);
    },
    registerProvider(name, factory, options = {}) {
      const canonicalName = validName(name);
      const aliases = (options.aliases ?? []).map(validName);
      if (aliasTargets.has(canonicalName)) throw nameInUse(canonicalName);
      const conflict = aliases.find(
        (alias) => entries.has(alias) || (aliasTargets.get(alias) ?? canonicalName) !== canonicalName,
      );
      if (conflict !== undefined) throw nameInUse(conflict);
      for (const [alias, target] of aliasTargets) if (target === canonicalName) aliasTargets.delete(alias);
      for (const alias of aliases) aliasTargets.set(alias, canonicalName);
      entries.set(canonicalName, { ...options, aliases, factory });
    },
    providers: () => [...entries].map(([name, entry]) => registeredProvider(name, entry)),
  };
}

function registeredProvider(
  name: string,
  { factory, aliases = [], defaultModel, keyVariable }: Entry,
): RegisteredProvider {
  const capabilities = defaultModel === undefined ? {} : (factory(defaultModel).capabilities ?? {});
  return { name, aliases, ...omitUndefined({ defaultModel, keyVariable }), capabilities };
}

const normalize = (name: string): string => name.trim().toLowerCase();

function validName(name: string): string {
  const normalized = normalize(name);
  if (/^[^\s:/]+$/.test(normalized)) return normalized;
  throw new ConfigurationError(
    'provider',
    `"${normalized}" is not a valid provider name.`,
    'Use a name without white space, colons and slashes.',
  );
}

/**
 * The provider is before the first colon or slash; what follows is the model, with any further ones (`qwen2.5:7b`,
 * `google/gemini`).
 */
function splitName(name: string): { readonly provider: string; readonly model: string } {
  const separator = name.search(/[:/]/);
  const provider = normalize(separator === -1 ? name : name.slice(0, separator));
  if (provider !== '') return { provider, model: separator === -1 ? '' : name.slice(separator + 1).trim() };
  throw new ConfigurationError(
    'model',
    `"${name}" names no provider.`,
    'Write "provider:model", for example "openai:gpt-5".',
  );
}

const nameInUse = (name: string) =>
  new ConfigurationError('provider', `"${name}" is in use for another provider.`, 'Choose another name or alias.');

const missingModel = (name: string, provider: string) =>
  new ConfigurationError(
    'model',
    `"${name}" names no model, and ${provider} has no default model.`,
    `Name one: "${provider}:...".`,
  );

const unknownProvider = (name: string, provider: string, knownProviders: string) =>
  new ConfigurationError(
    'model',
    `There is no provider "${provider}" ("${name}"). The registered providers are: ${knownProviders}.`,
    'Use one of these, or call registerProvider.',
  );

const describe = (entries: ReadonlyMap<string, Entry>): string =>
  [...entries]
    .map(([name, { aliases = [] }]) => (aliases.length > 0 ? `${name} (${aliases.join(', ')})` : name))
    .join(', ') || 'none';
