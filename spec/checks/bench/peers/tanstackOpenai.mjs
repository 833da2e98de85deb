import { createOpenaiChatCompletions } from '@tanstack/ai-openai';
import { once } from '../out/spec/checks/bench/client/job.js';
import { run } from './tanstack.mjs';

const adapter = once((baseUrl) =>
  createOpenaiChatCompletions('gpt-5', 'key', { baseURL: `${baseUrl}/v1`, maxRetries: 0 }),
);

export const library = (job) => run(adapter(job.baseUrl), job);
