import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { maxTurns, saveDescription, saveParameters } from '../out/spec/bench/client/job.js';

const tools = ({ save }) =>
  save && { save: tool({ description: saveDescription, inputSchema: jsonSchema(saveParameters), execute: ({ content }) => save(content) }) };

async function run(model, job) {
  const messages = job.messages.map(({ role, text }) => ({ role, content: text }));
  const { fullStream } = streamText({ model, messages, tools: tools(job), stopWhen: stepCountIs(maxTurns), onError: () => {} });
  for await (const part of fullStream) {
    if (part.type === 'text-delta') job.onText(part.text);
    else if (part.type === 'error') throw part.error;
  }
}

export const openai = (job) => run(createOpenAI({ apiKey: 'key', baseURL: `${job.baseUrl}/v1` }).chat('gpt-5'), job);
export const anthropic = (job) => run(createAnthropic({ apiKey: 'key', baseURL: `${job.baseUrl}/v1` })('claude-sonnet-4-5'), job);
