import { ChatAnthropic } from '@langchain/anthropic';
import { once } from '../out/spec/checks/bench/client/job.js';
import { run } from './langchain.mjs';

const settings = { model: 'claude-sonnet-4-5', apiKey: 'key', maxRetries: 0, maxTokens: 64_000 };
const model = once((baseUrl) => new ChatAnthropic({ ...settings, anthropicApiUrl: baseUrl }));

export const library = (job) => run(model(job.baseUrl), job);
