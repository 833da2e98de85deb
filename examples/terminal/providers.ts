import { openaiCompatible } from 'rivulet';
import type { Model } from 'rivulet';
import { modelByName, registeredProviders } from 'rivulet/registry';
import type { RegisteredProvider } from 'rivulet/registry';
import { serveOffline } from './offline.js';
import type { Options } from './options.js';

/** Somebody waits at the terminal: a failure is told soon. */
const retry = { count: 2, initialDelay: 500 };

/** A model to talk to, and what to tell the user of it. */
export interface Connection {
  readonly model: Model;
  readonly about: string;
  /** Frees what the connection holds. */
  readonly close: () => Promise<void>;
}

/**
 * The provider that a name or an alias means.
 *
 * @throws Error that lists the providers, for any other name.
 */
export function providerNamed(name: string): RegisteredProvider {
  const wanted = name.toLowerCase();
  const found = registeredProviders().find((provider) => provider.name === wanted || provider.aliases.includes(wanted));
  if (found) return found;
  throw new Error(
    `There is no provider "${name}". There are: ${registeredProviders()
      .map((provider) => provider.name)
      .join(', ')}.`,
  );
}

/**
 * With a key, the provider; with an address alone, a server there that needs no key; with neither, the stand-in of this program, which speaks the
 * provider's own wire format. So a provider that needs no key is asked where there is an address: whether Ollama runs here cannot be told.
 *
 * @param options The command line.
 * @param environment Where the key may stand.
 */
export async function connect(
  options: Pick<Options, 'provider' | 'model' | 'baseUrl'>,
  environment: NodeJS.ProcessEnv,
): Promise<Connection> {
  const { baseUrl, provider } = options;
  const found = providerNamed(provider);
  const { name, keyVariable, defaultModel = '' } = found;
  const model = options.model ?? defaultModel;
  const apiKey = keyVariable && environment[keyVariable]?.trim();
  const close = () => Promise.resolve();
  if (apiKey)
    return {
      model: modelByName(`${name}:${model}`, { apiKey, baseUrl, retry }),
      about: aboutReal(name, model, baseUrl),
      close,
    };
  if (baseUrl)
    return { model: withoutKey(found, model, baseUrl), about: `${model} at ${baseUrl}, without a key`, close };
  const server = await serveOffline();
  const url = server.urlFor(name);
  return {
    model: modelByName(`${name}:${model}`, { apiKey: 'none', baseUrl: url }),
    about: `offline, a scripted stand-in answers at ${url}; ${howToBeReal(keyVariable)} for a real model of ${name}.`,
    close: () => server.close(),
  };
}

const aboutReal = (provider: string, model: string, baseUrl: string | undefined) =>
  `${model} ${baseUrl ? `at ${baseUrl}` : `of ${provider}`}`;

const howToBeReal = (keyVariable: string | undefined) =>
  keyVariable === undefined ? 'pass --base-url http://localhost:11434' : `set ${keyVariable}`;

/** Servers with OpenAI's API differ in what they can do; those with another's are that provider's, or stand in for it. */
function withoutKey({ name: provider, keyVariable }: RegisteredProvider, model: string, baseUrl: string): Model {
  if (provider === 'openai') return openaiCompatible({ name: 'server', baseUrl, retry })(model);
  return modelByName(`${provider}:${model}`, {
    ...(keyVariable === undefined ? {} : { apiKey: 'none' }),
    baseUrl,
    retry,
  });
}
