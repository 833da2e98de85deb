import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions } from '../../lib/agent/createAgent.js';
import { tool } from '../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Step } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';

const remove = tool({
  name: 'remove',
  description: 'Removes a file.',
  parameters: z.object({ path: z.string() }),
  needsApproval: true,
  execute: ({ path }) => `removed ${path}`,
});
/** Executed by a browser. */
export const position = { name: 'position', description: 'Where the user is.', result: z.string() } as const;
const asked = { name: 'ask', description: 'Asks another agent.' } as const;
/** All calls have the same id: each is unique in its own run. */
const asks = toolCall('ask', { prompt: 'Please.' }, 'a');
export const removes = toolCall('remove', { path: '/a' }, 'a');
export const locates = toolCall('position', {}, 'b');

/** Answers depend on the conversation alone, so that another process gives the same. */
const answering = (first: readonly Step[], then: string) =>
  scriptedModel(({ messages }) => (messages.at(-1)?.parts.some(({ type }) => type === 'toolResult') ? [then] : first));

/**
 * An agent that asks an agent that asks an agent, which does what the script says. Each call makes new ones, as another
 * process does.
 */
export function nestedAgents(script: readonly Step[], options: Partial<AgentOptions> = {}) {
  return createAgent({ model: answering([asks], 'All done.'), tools: [nestedTool(script)], ...options });
}

/** The tool `ask` of the outer agent. */
export function nestedTool(script: readonly Step[]) {
  const inner = createAgent({ model: answering(script, 'Removed.'), tools: [remove, tool(position)] });
  const middle = createAgent({ model: answering(['I ask. ', asks], 'It says so.'), tools: [agentTool(inner, asked)] });
  return agentTool(middle, asked);
}
