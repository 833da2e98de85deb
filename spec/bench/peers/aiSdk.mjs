import { jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { maxTurns, saveDescription, saveParameters } from '../out/spec/bench/client/job.js';

const tools = ({ save }) =>
  save && { save: tool({ description: saveDescription, inputSchema: jsonSchema(saveParameters), execute: ({ content }) => save(content) }) };

/** `streamText`, which runs the tools itself, and its full stream. */
export async function run(model, job) {
  const messages = job.messages.map(({ role, text }) => ({ role, content: text }));
  const { fullStream } = streamText({ model, messages, tools: tools(job), stopWhen: stepCountIs(maxTurns), maxRetries: 0, onError: () => {} });
  for await (const part of fullStream) {
    if (part.type === 'text-delta') job.onText(part.text);
    else if (part.type === 'error') throw part.error;
  }
}
