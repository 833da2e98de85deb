import { describe, expect, it } from '@jest/globals';
import { delay, map, of, take, timer } from 'rxjs';
import { agentTool, askTool, backgroundTool, createAgent, tool } from '../../lib/index.js';
import type { Checkpoint, Message, RunEvent, RunResult, Tool } from '../../lib/index.js';
import { inVirtualTime, scriptedModel, toolCall } from '../../lib/testing/index.js';
import { resultsIn } from '../../lib/core/message.js';

/** How many results have joined a conversation: what the model says next depends on it. */
const joined = (messages: readonly Message[]) => messages.filter(({ metadata }) => metadata?.['background']).length;

interface World {
  /** The effects, by their idempotency keys: how often each was asked for. */
  readonly ledger: Map<string, number>;
  /** The steps of `once` that were run. */
  readonly steps: string[];
}

/** Two works in the background: a tool with recorded steps, and an agent that is asked by the model. */
function createWorld() {
  const world: World = { ledger: new Map(), steps: [] };
  const effect = (key: string) => void world.ledger.set(key, (world.ledger.get(key) ?? 0) + 1);
  const render = askTool({
    name: 'render',
    description: '',
    execute: (_, { once }) =>
      once('frames', (key) => {
        effect(key);
        world.steps.push('frames');
        return of('24 frames').pipe(delay(30));
      }),
  });
  const step = tool({
    name: 'step',
    description: '',
    execute: (_, { idempotencyKey }) => {
      effect(idempotencyKey);
      return timer(100).pipe(map(() => 'ok'));
    },
  });
  const inner = createAgent({
    model: scriptedModel(({ messages }) =>
      messages.length < 4 ? [toolCall('step', {}, `s${messages.length}`)] : 'Sources.',
    ),
    tools: [step],
  });
  const research = agentTool(inner, { name: 'research', description: '' });
  const model = scriptedModel(({ messages }) => {
    if (messages.length === 1) return [toolCall('render', {}, 'c1'), toolCall('research', { prompt: 'Why?' }, 'c2')];
    return ['Working.', 'Rendered.', 'All done.'][joined(messages)] ?? '';
  });
  const agent = createAgent({ model, tools: [backgroundTool(render), backgroundTool(research)] });
  const boss = scriptedModel(({ messages }) =>
    messages.length === 1 ? [toolCall('delegate', { prompt: 'Hi' }, 'd1')] : `${messages.length} messages.`,
  );
  const outer = (tool: Tool) => createAgent({ model: boss, tools: [tool] });
  const delegate = agentTool(agent, { name: 'delegate', description: '' });
  return { world, agents: { itself: agent, inside: outer(delegate), twice: outer(backgroundTool(delegate)) } };
}

const eventsOf = (run: { readonly values: readonly { readonly value: RunEvent }[] }) =>
  run.values.map(({ value }) => value);

function resultOf(events: readonly RunEvent[]): RunResult {
  const last = events.at(-1);
  if (last?.type !== 'result') throw new Error(`The run ended with ${JSON.stringify(last)}.`);
  return last.result;
}

const checkpointOf = (event: RunEvent): Checkpoint | undefined =>
  event.type === 'checkpoint' || event.type === 'turn' ? event.checkpoint : undefined;

const options = { checkpoints: true, runId: 'r1' } as const;

describe.each([
  ['of a run', 'itself'],
  ['of an agent in a tool', 'inside'],
  ['of an agent that is in the background, too', 'twice'],
] as const)('work in the background %s that is killed and resumed', (_, name) => {
  const whole = createWorld();
  const events = eventsOf(inVirtualTime(() => whole.agents[name].stream('Hi', options)));
  const kills = events.map((_, index) => index);

  it('has the two results, each once', () => {
    expect(whole.world.ledger.size).toBe(3);
    expect(whole.world.steps).toEqual(['frames']);
    if (name !== 'itself') return;
    const { messages, text, turns } = resultOf(events);
    expect(messages.filter(({ metadata }) => metadata).flatMap(resultsIn)).toMatchObject([
      { id: 'c1', result: '24 frames' },
      { id: 'c2', result: 'Sources.' },
    ]);
    expect({ text, turns }).toEqual({ text: 'Working.\nRendered.\nAll done.', turns: 4 });
  });

  it.each(kills)('ends as the undisturbed one if it is killed at event %d', (kill) => {
    const { agents, world } = createWorld();
    const agent = agents[name];
    const seen = eventsOf(inVirtualTime(() => agent.stream('Hi', options).pipe(take(kill))));
    const checkpoint = seen.map(checkpointOf).findLast((stored) => stored !== undefined);
    const rest = inVirtualTime(() =>
      checkpoint
        ? agent.resume(JSON.parse(JSON.stringify(checkpoint)) as Checkpoint, options)
        : agent.stream('Hi', options),
    );
    const result = resultOf(eventsOf(rest));
    const { messages, text, finishReason, turns, usage } = resultOf(events);
    expect(result).toMatchObject({ messages, text, finishReason, turns, usage });
    expect([...world.ledger.keys()].sort()).toEqual([...whole.world.ledger.keys()].sort());
  });
});
