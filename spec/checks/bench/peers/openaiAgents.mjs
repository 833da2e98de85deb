import { Agent, OpenAIChatCompletionsModel, assistant, run, setTracingDisabled, tool, user } from '@openai/agents';
import OpenAI from 'openai';
import { maxTurns, once, saveDescription, saveParameters } from '../out/spec/checks/bench/client/job.js';

setTracingDisabled(true);

const model = once(
  (baseUrl) =>
    new OpenAIChatCompletionsModel(new OpenAI({ apiKey: 'key', baseURL: `${baseUrl}/v1`, maxRetries: 0 }), 'gpt-5'),
);

/** `run`, which runs the tools itself, and its stream. */
export async function library(job) {
  const { save, output } = job;
  const tools = save
    ? [
        tool({
          name: 'save',
          description: saveDescription,
          parameters: saveParameters,
          strict: true,
          execute: ({ content }) => save(content),
        }),
      ]
    : [];
  const agent = new Agent({
    name: 'Agent',
    model: model(job.baseUrl),
    tools,
    ...(output && { outputType: { type: 'json_schema', name: 'records', strict: true, schema: output } }),
  });
  const messages = job.messages.map(({ role, text }) => (role === 'user' ? user(text) : assistant(text)));
  const result = await run(agent, messages, { stream: true, maxTurns });
  for await (const text of result.toTextStream()) if (!output) job.onText(text);
  await result.completed;
  if (output) job.onOutput(result.finalOutput);
}
