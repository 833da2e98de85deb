import { ConfigurationError } from '../core/errors.js';
import type { Capabilities, Model } from '../core/model.js';
import type { ModelOptions } from '../providers/httpModel.js';

/** Makes a model of a provider. */
export type ModelFactory = (name: string, options?: ModelOptions) => Model;

/** What may be said of a provider beside its factory. */
export interface ProviderOptions {
  /** Other names for it. Default: none. */
  readonly aliases?: readonly string[] | undefined;
  /** The model that is meant when none is named. Default: a model has to be named. */
  readonly defaultModel?: string | undefined;
  /** The environment variable that its models read their key from. Default: none, they need no key. It is told to who asks; nothing reads it here. */
  readonly keyVariable?: string | undefined;
}

/** A provider that can be named. */
export interface RegisteredProvider {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly defaultModel?: string;
  /** The environment variable of its key; absent where none is needed. */
  readonly keyVariable?: string;
  /** What its models can do, by what its default model says; empty where there is none. A table in the README shows them. */
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

/** A registry that knows nothing yet. `rivulet/registry` has one that knows all providers; this is for those who want their own. */
export function createRegistry(): Registry {
  const entries = new Map<string, Entry>();
  const aliases = new Map<string, string>();

  return {
    modelByName(name, options) {
      const { provider, model } = parts(name);
      const entry = entries.get(aliases.get(provider) ?? provider);
      if (!entry) throw unknownProvider(name, provider, describe(entries));
      const named = model === '' ? entry.defaultModel : model;
      if (named === undefined)
        throw new ConfigurationError(
          'model',
          `"${name}" names no model, and ${provider} has no default.`,
          `Name one: "${provider}:...".`,
        );
      return entry.factory(named, options);
    },
    registerProvider(name, factory, options = {}) {
      const [own, ...others] = [name, ...(options.aliases ?? [])].map(normalised);
      const taken = others.find((alias) => entries.has(alias) || (aliases.has(alias) && aliases.get(alias) !== own));
      const bad = [own, ...others].find((one) => one === undefined || !/^[^\s:/]+$/.test(one));
      if (own === undefined || bad !== undefined)
        throw new ConfigurationError(
          'provider',
          `"${bad}" is no name for a provider.`,
          'Use one without white space, colons and slashes.',
        );
      if (taken !== undefined || aliases.has(own))
        throw new ConfigurationError(
          'provider',
          `"${taken ?? own}" means another provider already.`,
          'Choose another name or alias.',
        );
      for (const [alias, target] of aliases) if (target === own) aliases.delete(alias);
      for (const alias of others) aliases.set(alias, own);
      entries.set(own, { ...options, aliases: others, factory });
    },
    providers: () =>
      [...entries].map(([name, { factory, aliases: others = [], defaultModel, keyVariable }]) => ({
        name,
        aliases: others,
        ...(defaultModel === undefined ? {} : { defaultModel }),
        ...(keyVariable === undefined ? {} : { keyVariable }),
        capabilities: defaultModel === undefined ? {} : (factory(defaultModel).capabilities ?? {}),
      })),
  };
}

const normalised = (name: string): string => name.trim().toLowerCase();

/** The provider stands before the first colon or slash; what follows is the model, colons and slashes and all (`qwen2.5:7b`, `google/gemini`). */
function parts(name: string): { readonly provider: string; readonly model: string } {
  const at = name.search(/[:/]/);
  const provider = normalised(at === -1 ? name : name.slice(0, at));
  if (provider === '')
    throw new ConfigurationError(
      'model',
      `"${name}" names no provider.`,
      'Write "provider:model", for example "openai:gpt-5".',
    );
  return { provider, model: at === -1 ? '' : name.slice(at + 1).trim() };
}

function unknownProvider(name: string, provider: string, known: string): ConfigurationError {
  return new ConfigurationError(
    'model',
    `There is no provider "${provider}" ("${name}"). There are: ${known}.`,
    'Use one of these, or registerProvider.',
  );
}

const describe = (entries: ReadonlyMap<string, Entry>): string =>
  [...entries]
    .map(([name, { aliases = [] }]) => (aliases.length > 0 ? `${name} (${aliases.join(', ')})` : name))
    .join(', ') || 'none';
