import { ConfigurationError, modelError } from '../../core/errors.js';
import { omitUndefined } from '../../core/json/json.js';
import type { Capabilities, Model } from '../../core/model.js';
import type { OpenModelOptions } from '../httpModel.js';

/** Creates a model of a provider from the model's name. */
export type ModelFactory = (name: string, options?: OpenModelOptions) => Model;

/** The options of a registered provider, in addition to its factory. */
export interface ProviderOptions {
  /** Other names of the provider. Default: none. */
  readonly aliases?: readonly string[] | undefined;
  /**
   * The model's name if `modelByName` is called with only the provider's name. Default: none, so the model has to be
   * named.
   */
  readonly defaultModel?: string | undefined;
  /**
   * The environment variable from which the provider's models read their key. Informational only: the registry does not
   * read the variable. Default: none, which means that no key is required.
   */
  readonly keyVariable?: string | undefined;
}

/** A registered provider. */
export interface RegisteredProvider {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly defaultModel?: string;
  /** The environment variable of its key; absent if no key is required. */
  readonly keyVariable?: string;
  /** The capabilities of its default model, which docs/providers.md shows; empty if it has no default model. */
  readonly capabilities: Capabilities;
}

/** A registry of providers by name. */
export interface Registry {
  modelByName(name: string, options?: OpenModelOptions): Model;
  registerProvider(name: string, factory: ModelFactory, options?: ProviderOptions): void;
  providers(): readonly RegisteredProvider[];
}

interface Entry extends ProviderOptions {
  readonly factory: ModelFactory;
}

/** Creates an empty registry. `rivulet/registry` also contains a shared registry with all providers. */
export function createRegistry(): Registry {
  const entries = new Map<string, Entry>();
  const aliasTargets = new Map<string, string>();

  return {
    modelByName(name, options) {
      const { provider, model } = splitName(name);
      const entry = entries.get(aliasTargets.get(provider) ?? provider);
      if (!entry) throw unknownProviderError(name, provider, describeProviders(entries));
      const modelName = model === '' ? entry.defaultModel : model;
      if (modelName === undefined) throw missingModelError(name, provider);
      return entry.factory(modelName, options);
    },
    registerProvider(name, factory, options = {}) {
      const canonicalName = normalizeValidName(name);
      const aliases = (options.aliases ?? []).map(normalizeValidName);
      if (aliasTargets.has(canonicalName)) throw nameInUseError(canonicalName);
      const conflict = aliases.find(
        (alias) => entries.has(alias) || (aliasTargets.get(alias) ?? canonicalName) !== canonicalName,
      );
      if (conflict !== undefined) throw nameInUseError(conflict);
      for (const [alias, target] of aliasTargets) if (target === canonicalName) aliasTargets.delete(alias);
      for (const alias of aliases) aliasTargets.set(alias, canonicalName);
      entries.set(canonicalName, { ...options, aliases, factory });
    },
    providers: () => [...entries].map(([name, entry]) => toRegisteredProvider(name, entry)),
  };
}

function toRegisteredProvider(
  name: string,
  { factory, aliases = [], defaultModel, keyVariable }: Entry,
): RegisteredProvider {
  const capabilities = defaultModel === undefined ? {} : (factory(defaultModel).capabilities ?? {});
  return { name, aliases, ...omitUndefined({ defaultModel, keyVariable }), capabilities };
}

const normalize = (name: string): string => name.trim().toLowerCase();

function normalizeValidName(name: string): string {
  const normalized = normalize(name);
  if (/^[^\s:/]+$/.test(normalized)) return normalized;
  throw new ConfigurationError(
    'provider',
    `"${normalized}" is not a valid provider name.`,
    'Use a name without whitespace, colons and slashes.',
  );
}

/** At the first colon or slash; the model may contain further ones (`qwen3:8b`, `google/gemini`). */
function splitName(name: string): { readonly provider: string; readonly model: string } {
  const separator = name.search(/[:/]/);
  const provider = normalize(separator === -1 ? name : name.slice(0, separator));
  if (provider !== '') return { provider, model: separator === -1 ? '' : name.slice(separator + 1).trim() };
  throw modelError(
    `"${name}" does not name a provider.`,
    'Write "provider:model", for example "openai:gpt-6.1-terra".',
  );
}

const nameInUseError = (name: string) =>
  new ConfigurationError(
    'provider',
    `The name "${name}" is already used by another provider.`,
    'Choose another name or alias.',
  );

const missingModelError = (name: string, provider: string) =>
  modelError(
    `"${name}" does not name a model, and ${provider} has no default model.`,
    `Name a model: "${provider}:...".`,
  );

const unknownProviderError = (name: string, provider: string, knownProviders: string) =>
  modelError(
    `There is no provider "${provider}" ("${name}"). The registered providers are: ${knownProviders}.`,
    'Use one of these, or call registerProvider.',
  );

const describeProviders = (entries: ReadonlyMap<string, Entry>): string =>
  [...entries]
    .map(([name, { aliases = [] }]) => (aliases.length > 0 ? `${name} (${aliases.join(', ')})` : name))
    .join(', ') || 'none';
