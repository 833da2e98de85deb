/** Rivulet as users run it: the agent with its loop, tools and result. */
import {
  anthropic as anthropicModel,
  createAgent,
  modelMessage,
  openai as openaiModel,
  tool,
  userMessage,
} from '../../../lib/index.js';
import type { Model } from '../../../lib/index.js';
import { maxTurns, once, saveDescription, saveParameters } from './job.js';
import type { Job, Library } from './job.js';

const run = (model: Model, { messages, save, onText }: Job): Promise<void> =>
  new Promise((resolve, reject) => {
    const tools = save
      ? [
          tool({
            name: 'save',
            description: saveDescription,
            parameters: saveParameters,
            execute: ({ content }) => save(content as string),
          }),
        ]
      : [];
    const history = messages.map(({ role, text }) => (role === 'user' ? userMessage(text) : modelMessage(text)));
    createAgent({ model, tools, maxTurns, prefix: '' })
      .stream(history)
      .subscribe({
        next: (event) => {
          if (event.type === 'text') onText(event.text);
        },
        error: reject,
        complete: resolve,
      });
  });

const openaiAt = once((baseUrl) => openaiModel('gpt-5', { apiKey: 'key', baseUrl: `${baseUrl}/v1` }));
const anthropicAt = once((baseUrl) => anthropicModel('claude-sonnet-4-5', { apiKey: 'key', baseUrl: `${baseUrl}/v1` }));

export const openai: Library = (job) => run(openaiAt(job.baseUrl), job);
export const anthropic: Library = (job) => run(anthropicAt(job.baseUrl), job);
