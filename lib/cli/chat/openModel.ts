import type { Model } from '../../core/model.js';
import { modelByName, registeredProviders } from '../../providers/registry/index.js';
import type { Shell } from '../shell.js';
import { UsageError } from '../usageError.js';

/**
 * The model of a chat: `provider:model`, or a provider; default: `RIVULET_MODEL`, then the first provider whose key is
 * set. Another server with the API of the provider needs no key.
 */
export function openModel(name: string | undefined, baseUrl: string | undefined, env: Shell['env']): Model {
  const found = name ?? env['RIVULET_MODEL'] ?? providerWithKey(env) ?? (baseUrl === undefined ? undefined : 'openai');
  if (found === undefined) throw new UsageError(noModel());
  const provider = registeredProviders().find(({ name: each, aliases }) =>
    [each, ...aliases].includes(found.split(/[:/]/)[0]?.trim().toLowerCase() ?? ''),
  );
  const apiKey = provider?.keyVariable && env[provider.keyVariable];
  return modelByName(found, {
    ...(apiKey ? { apiKey } : baseUrl === undefined ? {} : { apiKey: 'none' }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
  });
}

const providerWithKey = (env: Shell['env']): string | undefined =>
  registeredProviders().find(({ keyVariable }) => keyVariable && env[keyVariable])?.name;

function noModel(): string {
  const lines = registeredProviders().map(
    ({ name, defaultModel = '', keyVariable }) => `  ${name.padEnd(18)}${defaultModel.padEnd(42)}${keyVariable ?? ''}`,
  );
  return `No model: set the key of a provider, RIVULET_MODEL, or pass --model PROVIDER:NAME.\n\n${lines.join('\n')}`;
}
