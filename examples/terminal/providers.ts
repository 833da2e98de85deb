import { fallback, openaiCompatible } from 'rivulet';
import type { Model } from 'rivulet';
import { modelByName, registeredProviders } from 'rivulet/registry';
import type { RegisteredProvider } from 'rivulet/registry';
import { serveOffline } from './offline.js';
import type { Pace } from './offline.js';
import type { Options } from './options.js';

/** A person waits at the terminal: a failure is reported early. */
const retry = { count: 2, initialDelay: 500 };

/** A model, and how to describe it to the user. */
export interface Connection {
  readonly model: Model;
  readonly about: string;
  /** Releases the connection's resources. */
  readonly close: () => Promise<void>;
}

/**
 * Finds a provider by its name or an alias.
 *
 * @throws Error that lists the providers, for any other name.
 */
export function findProvider(name: string): RegisteredProvider {
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
 * Connects to a model: with a key, to the provider; with only a base URL, to the server there, without a key; with
 * neither, to the offline stand-in, which speaks the provider's wire format. A provider that needs no key (Ollama) is
 * used only with a base URL, since whether it runs here is unknown.
 *
 * @param options The command line.
 * @param environment May hold the key.
 * @param pace How fast the stand-in answers.
 */
export async function connect(
  options: Pick<Options, 'provider' | 'model' | 'baseUrl'>,
  environment: NodeJS.ProcessEnv,
  pace?: Pace,
): Promise<Connection> {
  const { baseUrl, provider } = options;
  const registered = findProvider(provider);
  const { name, keyVariable, defaultModel = '' } = registered;
  const model = options.model ?? defaultModel;
  const apiKey = keyVariable && environment[keyVariable]?.trim();
  const close = () => Promise.resolve();
  if (apiKey)
    return {
      model: modelByName(`${name}:${model}`, { apiKey, baseUrl, retry }),
      about: describeModel(name, model, baseUrl),
      close,
    };
  if (baseUrl)
    return {
      model: modelWithoutKey(registered, model, baseUrl),
      about: `${model} at ${baseUrl}, without a key`,
      close,
    };
  const server = await serveOffline(pace);
  const url = server.urlFor(name);
  return {
    model: modelByName(`${name}:${model}`, { apiKey: 'none', baseUrl: url }),
    about: `offline: a scripted stand-in answers at ${url}; ${howToConnect(keyVariable)} for a real model of ${name}.`,
    close: () => server.close(),
  };
}

/** Connects to the model of the command line, and to its fallback if there is one. */
export async function connectAll(options: Options, environment: NodeJS.ProcessEnv, pace?: Pace): Promise<Connection> {
  const first = await connect(options, environment, pace);
  if (options.fallback === undefined) return first;
  const other = { provider: options.fallback, model: undefined, baseUrl: undefined };
  const second = await connect(other, environment, pace);
  return {
    model: fallback([first.model, second.model]),
    about: `${first.about}\nFallback: ${second.about}`,
    close: () => Promise.all([first.close(), second.close()]).then(() => undefined),
  };
}

const describeModel = (provider: string, model: string, baseUrl: string | undefined) =>
  `${model} ${baseUrl ? `at ${baseUrl}` : `of ${provider}`}`;

const howToConnect = (keyVariable: string | undefined) =>
  keyVariable === undefined ? 'pass --base-url http://localhost:11434' : `set ${keyVariable}`;

/** A server with Chat Completions may have any capabilities; a server with another API is taken for that provider. */
function modelWithoutKey({ name: provider, keyVariable }: RegisteredProvider, model: string, baseUrl: string): Model {
  if (provider === 'openai-chat') return openaiCompatible({ name: 'server', baseUrl, retry })(model);
  return modelByName(`${provider}:${model}`, {
    ...(keyVariable === undefined ? {} : { apiKey: 'none' }),
    baseUrl,
    retry,
  });
}
