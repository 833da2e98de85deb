import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { Output, jsonSchema, parsePartialJson, stepCountIs, streamText, tool } from 'ai';
import { maxTurns, recordsSchema, saveDescription, saveParameters } from '../out/spec/bench/client/job.js';

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

/** Its partial objects of typed output. */
export async function output(job) {
  const model = createOpenAI({ apiKey: 'key', baseURL: `${job.baseUrl}/v1` }).chat('gpt-5');
  const messages = job.messages.map(({ role, text }) => ({ role, content: text }));
  const schema = Output.object({ schema: jsonSchema(recordsSchema) });
  const { partialOutputStream } = streamText({ model, messages, output: schema, onError: () => {} });
  for await (const partial of partialOutputStream) job.onPartial(partial);
}

/** Of arguments it streams the text; its own user interface parses them so. */
export async function toolArguments(job) {
  const model = createOpenAI({ apiKey: 'key', baseURL: `${job.baseUrl}/v1` }).chat('gpt-5');
  const messages = job.messages.map(({ role, text }) => ({ role, content: text }));
  const save = tool({ description: saveDescription, inputSchema: jsonSchema(recordsSchema), execute: () => 'saved' });
  const { fullStream } = streamText({ model, messages, tools: { save }, stopWhen: stepCountIs(1), onError: () => {} });
  let text = '';
  for await (const part of fullStream) {
    if (part.type === 'tool-input-delta') job.onPartial((await parsePartialJson((text += part.delta))).value);
    else if (part.type === 'error') throw part.error;
  }
}
