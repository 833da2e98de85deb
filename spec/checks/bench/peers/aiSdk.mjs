import { Output, isStepCount, jsonSchema, streamText, tool } from 'ai';
import { maxTurns, saveDescription, saveParameters } from '../out/spec/checks/bench/client/job.js';

const tools = ({ save }) =>
  save && {
    save: tool({
      description: saveDescription,
      inputSchema: jsonSchema(saveParameters),
      execute: ({ content }) => save(content),
    }),
  };

/** `streamText`, which runs the tools itself, and its stream. */
export async function run(model, job) {
  const messages = job.messages.map(({ role, text }) => ({ role, content: text }));
  const output = job.output && Output.object({ schema: jsonSchema(job.output) });
  const result = streamText({
    model,
    messages,
    tools: tools(job),
    output,
    stopWhen: isStepCount(maxTurns),
    maxRetries: 0,
    onError: () => {},
  });
  for await (const part of result.stream) {
    if (part.type === 'text-delta' && !job.output) job.onText(part.text);
    else if (part.type === 'error') throw part.error;
  }
  if (job.output) job.onOutput(await result.output);
}
