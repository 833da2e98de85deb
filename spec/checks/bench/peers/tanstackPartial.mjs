import { chat, maxIterations, parsePartialJSON, toolDefinition } from '@tanstack/ai';
import { createAnthropicChat } from '@tanstack/ai-anthropic';
import { createOpenaiChatCompletions } from '@tanstack/ai-openai';
import { once, recordsSchema, saveDescription } from '../out/spec/checks/bench/client/job.js';

const openai = once((baseUrl) =>
  createOpenaiChatCompletions('gpt-5', 'key', { baseURL: `${baseUrl}/v1`, maxRetries: 0 }),
);
const anthropic = once((baseUrl) =>
  createAnthropicChat('claude-sonnet-4-5', 'key', { baseURL: baseUrl, maxRetries: 0 }),
);

const partials = async (adapter, job, options, textOf) => {
  const messages = job.messages.map(({ role, text }) => ({ role, content: text }));
  let text = '';
  for await (const chunk of chat({ adapter, messages, ...options })) {
    const delta = textOf(chunk);
    if (delta) job.onPartial(parsePartialJSON((text += delta)));
    else if (chunk.type === 'RUN_ERROR') throw new Error(chunk.message ?? chunk.error?.message);
  }
};

/** Its parser of partial JSON over what has come, as its user interface does. */
const output = (adapterAt) => (job) =>
  partials(
    adapterAt(job.baseUrl),
    job,
    { outputSchema: recordsSchema, stream: true },
    (chunk) => chunk.type === 'TEXT_MESSAGE_CONTENT' && chunk.delta,
  );

const toolArguments = (adapterAt) => (job) => {
  const save = toolDefinition({ name: 'save', description: saveDescription, inputSchema: recordsSchema }).server(
    () => 'saved',
  );
  const options = { tools: [save], agentLoopStrategy: maxIterations(1) };
  return partials(adapterAt(job.baseUrl), job, options, (chunk) => chunk.type === 'TOOL_CALL_ARGS' && chunk.delta);
};

export const openaiPartialOutput = output(openai);
export const openaiPartialArguments = toolArguments(openai);
export const anthropicPartialOutput = output(anthropic);
export const anthropicPartialArguments = toolArguments(anthropic);
