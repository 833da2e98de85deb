import { firstValueFrom, toArray } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions } from '../../lib/agent/createAgent.js';
import type { RunEvent } from '../../lib/core/event.js';
import type { Capabilities } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import { scriptedModel } from '../../lib/testing/index.js';
import type { Script, ScriptedRequest } from '../../lib/testing/index.js';
import { typed } from '../../lib/agent/typed.js';

/** The schema of the output, a value of it, and its JSON. */
export const city = z.object({ name: z.string(), people: z.number().int() });
export const oslo = { name: 'Oslo', people: 700_000 };
export const json = JSON.stringify(oslo);

/** Providers whose wires differ in how they request a typed output. */
export const wires = [
  'openai-chat',
  'openai',
  'openrouter',
  'together',
  'anthropic',
  'google',
  'ollama',
  'mistral',
  'cohere',
];

export const add = tool({
  name: 'add',
  description: 'Adds.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

/** What models can do: everything, only tools, neither, or tools and a schema but not together. */
export const native: Capabilities = { tools: true, typedOutput: true, typedOutputWithTools: true };
export const onlyTools: Capabilities = { tools: true, typedOutput: false, typedOutputWithTools: false };
export const nothing: Capabilities = { tools: false, typedOutput: false };
export const oneAtATime: Capabilities = { tools: true, typedOutput: true, typedOutputWithTools: false };

/** Runs an agent with typed output on a scripted model. */
export function run(
  script: Script<ScriptedRequest>,
  capabilities: Capabilities | undefined,
  options: Partial<AgentOptions> = {},
) {
  const model = scriptedModel(script, { ...(capabilities ? { capabilities } : {}) });
  const agent = createAgent({ model, output: typed(city), ...options } as AgentOptions<[], z.infer<typeof city>>);
  const events: Promise<readonly RunEvent[]> = firstValueFrom(agent.stream('Oslo?').pipe(toArray()));
  return { model, events };
}

export const outputOf = async ({ events }: ReturnType<typeof run>) => {
  const last = (await events).at(-1);
  return last?.type === 'result' ? last.result.output : undefined;
};

export const textOf = async ({ events }: ReturnType<typeof run>) =>
  (await events).map((event) => (event.type === 'text' ? event.text : '')).join('');
