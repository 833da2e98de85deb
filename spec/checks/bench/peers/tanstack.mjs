import { chat, maxIterations, toolDefinition } from '@tanstack/ai';
import { maxTurns, saveDescription, saveParameters } from '../out/spec/checks/bench/client/job.js';

/** `chat`, which runs the tools itself. */
export async function run(adapter, job) {
  const save =
    job.save &&
    toolDefinition({ name: 'save', description: saveDescription, inputSchema: saveParameters }).server(({ content }) =>
      job.save(content),
    );
  const stream = chat({
    adapter,
    messages: job.messages.map(({ role, text }) => ({ role, content: text })),
    ...(job.output && { outputSchema: job.output, stream: true }),
    ...(save ? { tools: [save], agentLoopStrategy: maxIterations(maxTurns) } : {}),
  });
  for await (const chunk of stream) {
    if (chunk.type === 'TEXT_MESSAGE_CONTENT' && !job.output) job.onText(chunk.delta);
    else if (chunk.type === 'CUSTOM' && chunk.name === 'structured-output.complete') job.onOutput(chunk.value.object);
    else if (chunk.type === 'RUN_ERROR') throw new Error(chunk.message ?? chunk.error?.message);
  }
}
