import { ChatOpenAI } from '@langchain/openai';
import { once } from '../out/spec/checks/bench/client/job.js';
import { run } from './langchain.mjs';

const settings = { model: 'gpt-5', apiKey: 'key', maxRetries: 0, useResponsesApi: false };
const model = once((baseUrl) => new ChatOpenAI({ ...settings, configuration: { baseURL: `${baseUrl}/v1` } }));

export const library = (job) => run(model(job.baseUrl), job);
