import { createOpenAI } from '@ai-sdk/openai';
import { once } from '../out/spec/checks/bench/client/job.js';
import { run } from './aiSdk.mjs';

const model = once((baseUrl) => createOpenAI({ apiKey: 'key', baseURL: `${baseUrl}/v1` }).chat('gpt-5'));

export const library = (job) => run(model(job.baseUrl), job);
