import { createAnthropicChat } from '@tanstack/ai-anthropic';
import { once } from '../out/spec/checks/bench/client/job.js';
import { run } from './tanstack.mjs';

const adapter = once((baseUrl) => createAnthropicChat('claude-sonnet-4-5', 'key', { baseURL: baseUrl, maxRetries: 0 }));

export const library = (job) => run(adapter(job.baseUrl), job);
