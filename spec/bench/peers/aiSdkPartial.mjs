import { createOpenAI } from '@ai-sdk/openai';
import { Output, jsonSchema, parsePartialJson, stepCountIs, streamText, tool } from 'ai';
import { recordsSchema, saveDescription } from '../out/spec/bench/client/job.js';

const modelOf = (job) => createOpenAI({ apiKey: 'key', baseURL: `${job.baseUrl}/v1` }).chat('gpt-5');
const messagesOf = (job) => job.messages.map(({ role, text }) => ({ role, content: text }));

/** Its partial objects of typed output. */
export async function output(job) {
  const schema = Output.object({ schema: jsonSchema(recordsSchema) });
  const { partialOutputStream } = streamText({ model: modelOf(job), messages: messagesOf(job), output: schema, onError: () => {} });
  for await (const partial of partialOutputStream) job.onPartial(partial);
}

/** Of arguments it streams the text; its own user interface parses them so. */
export async function toolArguments(job) {
  const save = tool({ description: saveDescription, inputSchema: jsonSchema(recordsSchema), execute: () => 'saved' });
  const { fullStream } = streamText({
    model: modelOf(job),
    messages: messagesOf(job),
    tools: { save },
    stopWhen: stepCountIs(1),
    onError: () => {},
  });
  let text = '';
  for await (const part of fullStream) {
    if (part.type === 'tool-input-delta') job.onPartial((await parsePartialJson((text += part.delta))).value);
    else if (part.type === 'error') throw part.error;
  }
}
