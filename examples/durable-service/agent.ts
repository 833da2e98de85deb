import { createAgent, pipeModel } from 'rivulet';
import type { Agent, Tool } from 'rivulet';
import { modelByName } from 'rivulet/registry';
import { defer } from 'rxjs';
import { serveOffline } from '../angular-chat/server/offline.js';
import { chatTools } from '../angular-chat/server/tools.js';
import { connect } from '../terminal/providers.js';
import { tools as plainTools } from '../terminal/tools.js';

/** Slow enough to kill a process in the middle of an answer. */
const pace = { answer: 1000, word: 100 };

/** The agent of a worker, with the tools of the page that is served. Without a key, a scripted stand-in answers. */
export async function openAgent(
  page = process.env['PAGE'],
): Promise<{ readonly agent: Agent; readonly about: string }> {
  const isAngular = page === 'angular';
  const { model, about } = await (isAngular ? connectOffline() : connectByKey());
  const tools: readonly Tool[] = isAngular ? chatTools() : plainTools;
  const system = `Answer briefly, in ${isAngular ? 'Markdown' : 'plain text without Markdown'}. Call several tools at once where you can.`;
  return { agent: createAgent({ model: announced(model), system, tools, toolConcurrency: Infinity }), about };
}

const connectByKey = () => {
  const options = { provider: process.env['PROVIDER'] ?? 'openai', model: undefined, baseUrl: undefined };
  return connect(options, process.env, pace);
};

const connectOffline = async () => {
  const baseUrl = (await serveOffline()).urlFor('anthropic');
  return {
    model: modelByName('anthropic', { apiKey: 'none', baseUrl }),
    about: 'offline: a scripted stand-in answers.',
  };
};

/** Says which process asks the model. A request whose response is stored is not sent again. */
const announced = pipeModel((chunks) =>
  defer(() => {
    console.log(`worker ${process.pid}: asks the model`);
    return chunks;
  }),
);
