import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { Output, isStepCount, jsonSchema, parsePartialJson, streamText, tool } from 'ai';
import { once, recordsSchema, saveDescription } from '../out/spec/checks/bench/client/job.js';

const openai = once((baseUrl) => createOpenAI({ apiKey: 'key', baseURL: `${baseUrl}/v1` }).chat('gpt-5'));
const anthropic = once((baseUrl) => createAnthropic({ apiKey: 'key', baseURL: `${baseUrl}/v1` })('claude-sonnet-4-5'));
const messagesOf = (job) => job.messages.map(({ role, text }) => ({ role, content: text }));

/** Its partial objects of typed output. */
const output = (modelAt) => async (job) => {
  const schema = Output.object({ schema: jsonSchema(recordsSchema) });
  const { partialOutputStream } = streamText({
    model: modelAt(job.baseUrl),
    messages: messagesOf(job),
    output: schema,
    onError: () => {},
  });
  for await (const partial of partialOutputStream) job.onPartial(partial);
};

/** Of arguments it streams the text; its own user interface parses them so. */
const toolArguments = (modelAt) => async (job) => {
  const save = tool({ description: saveDescription, inputSchema: jsonSchema(recordsSchema), execute: () => 'saved' });
  const { stream } = streamText({
    model: modelAt(job.baseUrl),
    messages: messagesOf(job),
    tools: { save },
    stopWhen: isStepCount(1),
    onError: () => {},
  });
  let text = '';
  for await (const part of stream) {
    if (part.type === 'tool-input-delta') job.onPartial((await parsePartialJson((text += part.delta))).value);
    else if (part.type === 'error') throw part.error;
  }
};

export const openaiPartialOutput = output(openai);
export const openaiPartialArguments = toolArguments(openai);
export const anthropicPartialOutput = output(anthropic);
export const anthropicPartialArguments = toolArguments(anthropic);
