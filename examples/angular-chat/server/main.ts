// npm run example:angular [-- PROVIDER:MODEL]
import { createAgent } from 'rivulet';
import type { Model } from 'rivulet';
import { modelByName, registeredProviders } from 'rivulet/registry';
import { serve } from '../../node-service/serve.js';
import { serveOffline } from './offline.js';
import { builtPage } from './page.js';
import { tools } from './tools.js';

const system =
  'Answer in Markdown, briefly. Use a tool where one fits. A tool may wait for the user: do not ask for permission in words.';

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
const agent = createAgent({ model, system, tools });
const port = Number(process.env['PORT'] ?? 4200);
const service = await serve(agent, { port, page: builtPage, onNotice: ({ message }) => console.log(message) });

console.log(`${about}\nOpen ${service.url}`);

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void service.close().then(() => process.exit()));
