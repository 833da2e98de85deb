import { ConfigurationError } from '../../core/errors.js';
import { mergeHeaders } from '../../protocol/request.js';
import { secretsOf } from '../../protocol/secrets.js';

/** Finds the key in the options or the environment. No key is required if the user's headers contain one. */
export function findKey(
  provider: string,
  variable: string | undefined,
  options: { readonly apiKey?: string | undefined; readonly headers?: Readonly<Record<string, string>> | undefined },
): string | undefined {
  const optionKey = options.apiKey?.trim();
  if (optionKey) return optionKey;
  if (variable === undefined) return undefined;
  const environmentKey = environment()[variable]?.trim();
  if (environmentKey) return environmentKey;
  if (secretsOf('', mergeHeaders(options.headers)).length > 0) return undefined;
  throw new ConfigurationError('apiKey', `There is no API key for ${provider}.`, `Set ${variable} or pass { apiKey }.`);
}

/** The environment variables in Node, Bun and Deno; an empty object in a browser. */
function environment(): Readonly<Record<string, string | undefined>> {
  return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};
}
