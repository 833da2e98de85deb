import { describe, expect, it } from '@jest/globals';
import { concatMap, from, toArray } from 'rxjs';
import * as z from 'zod';
import { agentTool, createAgent, messageText, tool, userMessage } from '../../lib/index.js';
import type { Checkpoint, RunResult } from '../../lib/index.js';
import { runTool } from '../../lib/operators/execute/runTool.js';
import { inVirtualTime, scriptedModel, toolCall } from '../../lib/testing/index.js';

/** The agents that a tool runs, one after the other, and their prompts. Calls for `B` need an approval. */
const rows: Readonly<Record<string, readonly (readonly [agent: string, prompt: string])[]>> = {
  'two agents': [
    ['first', 'A'],
    ['second', 'B'],
  ],
  'two agents with one prompt': [
    ['first', 'A'],
    ['second', 'A'],
    ['second', 'B'],
  ],
  'an agent with two prompts': [
    ['first', 'A'],
    ['first', 'B'],
  ],
};

function createWorld(tasks: readonly (readonly [string, string])[]) {
  /** What each agent has executed, by the idempotency key. */
  const effects = new Map<string, string>();
  const send = (who: string) =>
    tool({
      name: 'send',
      description: '',
      parameters: z.object({ to: z.string() }),
      needsApproval: ({ to }) => to === 'B',
      execute: ({ to }, { idempotencyKey }) => {
        const effect = `${who} sends to ${to}`;
        expect(effects.get(idempotencyKey) ?? effect).toBe(effect);
        effects.set(idempotencyKey, effect);
        return 'sent';
      },
    });
  const subOf = (name: string) => {
    const model = scriptedModel(({ messages: [prompt = userMessage(''), ...rest] }) =>
      rest.length === 0
        ? [toolCall('send', { to: messageText(prompt) }, 'call_0')]
        : `${name} did ${messageText(prompt)}`,
    );
    return agentTool(createAgent({ model, tools: [send(name)] }), { name, description: '' });
  };
  const subs = new Map(tasks.map(([name]) => [name, subOf(name)]));
  const all = tool({
    name: 'all',
    description: '',
    execute: (_, context) =>
      from(tasks).pipe(
        concatMap(([name, prompt]) => {
          const sub = subs.get(name);
          return sub ? runTool(sub, { prompt }, context) : [];
        }),
        toArray(),
      ),
  });
  const model = scriptedModel(({ messages }) => (messages.length === 1 ? [toolCall('all', {}, 'c1')] : 'Done.'));
  return { effects, agent: createAgent({ model, tools: [all] }) };
}

const copyOf = (checkpoint: Checkpoint | undefined) => JSON.parse(JSON.stringify(checkpoint)) as Checkpoint;

describe.each(Object.entries(rows))('a tool that runs %s', (_, tasks) => {
  const approved = { decisions: { 'c1/call_0': { approve: true } } } as const;

  it('continues each with its own conversation and tools when the run is resumed', () => {
    const { agent, effects } = createWorld(tasks);
    const only = (run: () => ReturnType<typeof agent.run>): RunResult | undefined =>
      inVirtualTime(run).values[0]?.value;
    const waiting = only(() => agent.run('Hi', { runId: 'r1' }));
    expect(waiting?.waiting).toMatchObject([{ id: 'c1/call_0', arguments: { to: 'B' } }]);
    const end = only(() => agent.resumeRun(copyOf(waiting?.checkpoint), approved));
    expect(end?.messages[1]?.parts).toMatchObject([{ result: tasks.map(([name, prompt]) => `${name} did ${prompt}`) }]);
    expect([...effects.values()]).toEqual(tasks.map(([name, prompt]) => `${name} sends to ${prompt}`));
  });

  it('has the same results after a crash, at each checkpoint', () => {
    const { agent, effects } = createWorld(tasks);
    const options = { checkpoints: true, runId: 'r1', approve: () => [{ approve: true } as const] };
    const { values } = inVirtualTime(() => agent.stream('Hi', options));
    const checkpoints = values.flatMap(({ value }) =>
      value.type === 'turn' || value.type === 'checkpoint' ? (value.checkpoint ?? []) : [],
    );
    const last = values.at(-1)?.value;
    for (const checkpoint of checkpoints) {
      const { value } = inVirtualTime(() => agent.resumeRun(copyOf(checkpoint), options)).values[0] ?? {};
      expect(value).toMatchObject({ messages: last?.type === 'result' ? last.result.messages : [] });
    }
    expect([...effects.values()]).toEqual(tasks.map(([name, prompt]) => `${name} sends to ${prompt}`));
  });
});
