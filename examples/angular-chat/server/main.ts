// npm run example:angular [-- PROVIDER:MODEL]
import type { Model } from 'rivulet';
import { modelByName, registeredProviders } from 'rivulet/registry';
import { serve } from '../../node-service/serve.js';
import { chatAgent } from './agent.js';
import { serveOffline } from './offline.js';
import { builtPage } from './page.js';

/** The model of the command line, or of the first provider whose key is set, or the stand-in. */
async function connect(name = providerWithKey()): Promise<{ readonly model: Model; readonly about: string }> {
  if (name) return { model: modelByName(name), about: `${name} answers.` };
  const baseUrl = (await serveOffline()).urlFor('anthropic');
  const about =
    'Offline: a scripted stand-in answers. Set the key of a provider for a model, for example OPENAI_API_KEY.';
  return { model: modelByName('anthropic', { apiKey: 'none', baseUrl }), about };
}

const providerWithKey = () =>
  registeredProviders().find(({ keyVariable }) => keyVariable && process.env[keyVariable])?.name;

const { model, about } = await connect(process.argv[2]);
const agent = chatAgent(model);
const port = Number(process.env['PORT'] ?? 4200);
const service = await serve(agent, { port, page: builtPage });

console.log(`${about}\nOpen ${service.url}`);

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void service.close().then(() => process.exit()));
