import { openai, openaiCompatible } from 'rivulet';
import type { Model } from 'rivulet';
import { serveOffline } from './offline.js';
import type { Options } from './options.js';

/** Who can be asked: the variable with the key, a model to begin with, and how to make one. */
export const providers = {
  openai: { variable: 'OPENAI_API_KEY', model: 'gpt-5-mini', make: openai },
} as const;

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
 * With a key, the provider; with an address alone, a server there that needs no key; with neither, the stand-in of this program.
 *
 * @param options The command line.
 * @param environment Where the key may stand.
 */
export async function connect(options: Pick<Options, 'model' | 'baseUrl'>, environment: NodeJS.ProcessEnv): Promise<Connection> {
  const { variable, make, ...provider } = providers.openai;
  const { baseUrl, model: name = provider.model } = options;
  const apiKey = environment[variable]?.trim();
  const close = () => Promise.resolve();
  if (apiKey) return { model: make(name, { apiKey, baseUrl, retry }), about: `${name}${baseUrl ? ` at ${baseUrl}` : ' of OpenAI'}`, close };
  if (baseUrl)
    return { model: openaiCompatible({ name: 'server', baseUrl, retry })(name), about: `${name} at ${baseUrl}, without a key`, close };
  const server = await serveOffline();
  return {
    model: make('stand-in', { apiKey: 'none', baseUrl: server.url }),
    about: `offline, a scripted stand-in answers at ${server.url}; set ${variable} for a real model.`,
    close: () => server.close(),
  };
}
