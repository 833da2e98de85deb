import { chat, maxIterations, parsePartialJSON, toolDefinition } from '@tanstack/ai';
import { createOpenaiChatCompletions } from '@tanstack/ai-openai';
import { recordsSchema, saveDescription } from '../out/spec/bench/client/job.js';

const partialsOf = async (job, options, textOf) => {
  const adapter = createOpenaiChatCompletions('gpt-5', 'key', { baseURL: `${job.baseUrl}/v1`, maxRetries: 0 });
  const messages = job.messages.map(({ role, text }) => ({ role, content: text }));
  let text = '';
  for await (const chunk of chat({ adapter, messages, ...options })) {
    const delta = textOf(chunk);
    if (delta) job.onPartial(parsePartialJSON((text += delta)));
    else if (chunk.type === 'RUN_ERROR') throw new Error(chunk.message ?? chunk.error?.message);
  }
};

/** Its parser of partial JSON over what has come, as its user interface does. */
export const output = (job) =>
  partialsOf(job, { outputSchema: recordsSchema, stream: true }, (chunk) => chunk.type === 'TEXT_MESSAGE_CONTENT' && chunk.delta);

export function toolArguments(job) {
  const save = toolDefinition({ name: 'save', description: saveDescription, inputSchema: recordsSchema }).server(() => 'saved');
  return partialsOf(job, { tools: [save], agentLoopStrategy: maxIterations(1) }, (chunk) => chunk.type === 'TOOL_CALL_ARGS' && chunk.delta);
}
