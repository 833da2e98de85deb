import { describe, expect, it } from '@jest/globals';
import { from, map, mergeMap, toArray } from 'rxjs';
import * as z from 'zod';
import { agentTool, createAgent, messageText, tool, userMessage } from '../../lib/index.js';
import type { Checkpoint, RunResult, Tool } from '../../lib/index.js';
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

/** Whether the agents begin at a time, and in another order in each execution of the tool. */
const orders = { 'their order, one after the other': false, 'another order each time, at a time': true } as const;

function createWorld(tasks: readonly (readonly [string, string])[], isAtATime: boolean) {
  let executions = 0;
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
    const model = scriptedModel(({ messages: [prompt = userMessage(''), ...rest] }) => {
      const text = messageText(prompt);
      return [{ delay: 1 }, rest.length === 0 ? toolCall('send', { to: text }, 'call_0') : `${name} did ${text}`];
    });
    return agentTool(createAgent({ model, tools: [send(name)] }), { name, description: '' });
  };
  const subs = new Map(tasks.map(([name]) => [name, subOf(name)]));
  const all = tool({
    name: 'all',
    description: '',
    execute: (_, context) =>
      from(isAtATime && executions++ % 2 === 1 ? tasks.toReversed() : tasks).pipe(
        mergeMap(
          ([name, prompt]) => {
            const sub = subs.get(name);
            return sub ? runTool(sub, { prompt }, context) : [];
          },
          isAtATime ? Infinity : 1,
        ),
        toArray(),
        map((results) => results.map(String).sort()),
      ),
  });
  const model = scriptedModel(({ messages }) => (messages.length === 1 ? [toolCall('all', {}, 'c1')] : 'Done.'));
  return { effects, agent: createAgent({ model, tools: [all] }) };
}

const copyOf = (checkpoint: Checkpoint | undefined) => JSON.parse(JSON.stringify(checkpoint)) as Checkpoint;

const table = Object.entries(rows).flatMap(([row, tasks]) =>
  Object.entries(orders).map(([order, isAtATime]) => [row, order, tasks, isAtATime] as const),
);

describe.each(table)('a tool that runs %s, in %s', (_row, _order, tasks, isAtATime) => {
  const approved = { decisions: { 'c1/call_0': { approve: true } } } as const;

  it('continues each with its own conversation and tools when the run is resumed', () => {
    const { agent, effects } = createWorld(tasks, isAtATime);
    const only = (run: () => ReturnType<typeof agent.run>): RunResult | undefined =>
      inVirtualTime(run).values[0]?.value;
    const waiting = only(() => agent.run('Hi', { runId: 'r1' }));
    expect(waiting?.waiting).toMatchObject([{ id: 'c1/call_0', arguments: { to: 'B' } }]);
    const end = only(() => agent.resumeRun(copyOf(waiting?.checkpoint), approved));
    expect(end?.messages[1]?.parts).toMatchObject([{ result: tasks.map(([name, prompt]) => `${name} did ${prompt}`) }]);
    expect([...effects.values()].sort()).toEqual(tasks.map(([name, prompt]) => `${name} sends to ${prompt}`));
  });

  it('has the same results after a crash, at each checkpoint', () => {
    const { agent, effects } = createWorld(tasks, isAtATime);
    const options = { checkpoints: true, runId: 'r1', approve: () => [{ approve: true } as const] };
    const { values } = inVirtualTime(() => agent.stream('Hi', options));
    const checkpoints = values.flatMap(({ value }) =>
      value.type === 'turn' || value.type === 'checkpoint' ? (value.checkpoint ?? []) : [],
    );
    const last = values.at(-1)?.value;
    for (const checkpoint of checkpoints) {
      // Before it is stored what has begun, the order decides about the idempotency keys.
      if (isAtATime && checkpoint.open && !checkpoint.open.nested) continue;
      const { value } = inVirtualTime(() => agent.resumeRun(copyOf(checkpoint), options)).values[0] ?? {};
      expect(value).toMatchObject({ messages: last?.type === 'result' ? last.result.messages : [] });
    }
    expect([...effects.values()].sort()).toEqual(tasks.map(([name, prompt]) => `${name} sends to ${prompt}`));
  });
});

type Context = Parameters<typeof runTool>[2];

describe('an agent in a tool', () => {
  const runOf = (run: () => ReturnType<ReturnType<typeof createAgent>['run']>): RunResult | undefined =>
    inVirtualTime(run).values[0]?.value;
  const outerWith = (execute: Tool['execute']) => {
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? [toolCall('all', {}, 'c1')] : 'Done.'));
    return createAgent({ model, tools: [tool({ name: 'all', description: '', execute: execute as never })] });
  };

  it('continues its run when the run is resumed and its arguments have changed meanwhile', () => {
    const { asked, execute } = createAsking();
    let executions = 0;
    const agent = outerWith((_, context) => execute({ prompt: `News of day ${++executions}` }, context));
    const waiting = runOf(() => agent.run('Hi', { runId: 'r1' }));
    const end = runOf(() =>
      agent.resumeRun(copyOf(waiting?.checkpoint), { decisions: { 'c1/send': { approve: true } } }),
    );
    expect(end?.messages[1]?.parts).toMatchObject([{ result: 'Sent.' }]);
    expect([executions, asked]).toEqual([2, ['News of day 1', 'News of day 1']]);
  });

  it('has a run for each tool that is made of it, also with the same arguments', () => {
    const model = scriptedModel(({ messages: [prompt = userMessage('')] }) => messageText(prompt));
    const writer = createAgent({ model });
    const parameters = z.object({ text: z.string() });
    const made = ['Shorten', 'Translate'].map((task) =>
      agentTool(writer, { name: task, description: '', parameters, prompt: ({ text }) => `${task} ${text}` }),
    );
    const agent = outerWith((_, context) =>
      from(made).pipe(
        mergeMap((one) => runTool(one as Tool, { text: 'it' }, context)),
        toArray(),
      ),
    );
    const end = runOf(() => agent.run('Hi'));
    expect(end?.messages[1]?.parts).toMatchObject([{ result: ['Shorten it', 'Translate it'] }]);
  });

  function createAsking() {
    const asked: string[] = [];
    const send = tool({ name: 'send', description: '', needsApproval: true, execute: () => 'sent' });
    const model = scriptedModel(({ messages: [prompt = userMessage(''), ...rest] }) => {
      asked.push(messageText(prompt));
      return rest.length === 0 ? [toolCall('send', {}, 'send')] : 'Sent.';
    });
    const inner = agentTool(createAgent({ model, tools: [send] }), { name: 'writer', description: '' }) as Tool;
    return { asked, execute: (args: unknown, context: Context) => runTool(inner, args, context) };
  }
});
