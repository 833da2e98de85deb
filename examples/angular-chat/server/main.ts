// npm run example:angular [-- PROVIDER:MODEL]
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { agentHandler, createAgent, nodeListener } from 'rivulet';
import type { Model } from 'rivulet';
import { modelByName, registeredProviders } from 'rivulet/registry';
import { serveOffline } from './offline.js';
import { tools } from './tools.js';

const system =
  'Answer in Markdown, briefly. Use a tool where one fits. A tool may wait for the user: do not ask for permission in words.';
const port = Number(process.env['PORT'] ?? 4200);

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

const types: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/** A file of the page, as `ng build` has written it. */
async function pageFile(path: string): Promise<Response> {
  const name = path === '/' ? '/index.html' : path;
  const type = types[extname(name)];
  if (!type) return new Response(undefined, { status: 404 });
  const file = await readFile(new URL(`../dist${name}`, import.meta.url)).catch(() => undefined);
  return new Response(file, { status: file ? 200 : 404, headers: { 'content-type': `${type}; charset=utf-8` } });
}

const { model, about } = await connect(process.argv[2]);
const chat = agentHandler(createAgent({ model, system, tools }));
const server = createServer(
  nodeListener((request) => {
    const { pathname } = new URL(request.url);
    return pathname === '/api/chat' ? chat(request) : pageFile(pathname);
  }),
);

server.listen(port, '127.0.0.1', () => console.log(`${about}\nOpen http://127.0.0.1:${port}`));
process.once('SIGINT', () => chat.shutdown().subscribe({ complete: () => process.exit() }));
