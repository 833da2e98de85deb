import { createAnthropic } from '@ai-sdk/anthropic';
import { once } from '../out/spec/checks/bench/client/job.js';
import { run } from './aiSdk.mjs';

const model = once((baseUrl) => createAnthropic({ apiKey: 'key', baseURL: `${baseUrl}/v1` })('claude-sonnet-4-5'));

export const library = (job) => run(model(job.baseUrl), job);
