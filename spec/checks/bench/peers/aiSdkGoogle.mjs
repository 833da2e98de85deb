import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { once } from '../out/spec/checks/bench/client/job.js';
import { run } from './aiSdk.mjs';

const model = once((baseUrl) =>
  createGoogleGenerativeAI({ apiKey: 'key', baseURL: `${baseUrl}/v1beta` })('gemini-3.8-flash'),
);

export const library = (job) => run(model(job.baseUrl), job);
