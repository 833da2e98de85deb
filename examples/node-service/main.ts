// npm run example:node-service [-- PROVIDER]
import { createAgent } from 'rivulet';
import { connect } from '../terminal/providers.js';
import { tools } from '../terminal/tools.js';
import { pageFiles } from '../page/files.js';
import { serve } from './serve.js';

const port = Number(process.env['PORT'] ?? 3000);
const options = { provider: process.argv[2] ?? 'openai', model: undefined, baseUrl: undefined };
const { model, about, close } = await connect(options, process.env);
const system = 'Answer briefly, in plain text without Markdown. Call several tools at once where you can.';
const agent = createAgent({ model, system, tools, toolConcurrency: Infinity });
const service = await serve(agent, { port, page: pageFiles });

console.log(`Rivulet: ${about}\nOpen ${service.url}`);

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(
    signal,
    () =>
      void service
        .close()
        .then(close)
        .then(() => process.exit()),
  );
