import { describe, expect, it } from '@jest/globals';
import { concat, interval, map, of, take, takeUntil, timer } from 'rxjs';
import * as rivulet from 'rivulet';
import { agentTool, createAgent, progress, retryModel, tool } from 'rivulet';
import type { Agent, AgentOptions, OptionsOf, Tool } from 'rivulet';
import { readRecording, record, recordRun, replayRun, writeSpec } from 'rivulet/recording';
import { drawInVirtualTime, inVirtualTime, playMarbles, scriptedModel, toolCall } from 'rivulet/testing';
import type { Script, ScriptedRequest } from 'rivulet/testing';
import * as z from 'zod';
import { recordVirtually, weather } from './runs.js';
import { runSpec } from './runSpec.js';

/** A tool that takes some time. */
const timed = (name: string, duration: number, value: unknown) =>
  tool({ name, description: name, execute: () => timer(duration).pipe(map(() => value)) });

const slow = timed('slow', 100, 'slow!');
const fast = timed('fast', 10, { a: 1 });

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  parameters: z.object({ amount: z.number() }),
  needsApproval: ({ amount }) => (amount > 10 ? timer(5).pipe(map(() => ({ preview: `${amount} euros` }))) : of(false)),
  execute: ({ amount }) => timer(amount).pipe(map(() => amount)),
});

const agentWith = (script: Script<ScriptedRequest>, options: Partial<AgentOptions> = {}): Agent =>
  createAgent({ model: scriptedModel(script), tools: [slow, fast] as readonly Tool[], ...options });

const asking = (script: Script<ScriptedRequest>, inner: Agent) =>
  agentWith(script, { tools: [agentTool(inner, { name: 'ask', description: 'Asks.' })] as readonly Tool[] });

const overloaded = Object.assign(new Error('overloaded'), { retryable: true });
const flaky = (name: string) =>
  agentWith(['unused'], {
    eagerTools: true,
    model: retryModel(
      scriptedModel([
        [toolCall(name, {}, 'c1'), { delay: 50 }, { error: overloaded }],
        [{ delay: 20 }, toolCall(name, {}, 'c1'), { delay: 50 }, 'x'],
        'Done',
      ]),
      { count: 2, delay: 30 },
    ),
  });

/** A call whose arguments arrive as text. */
const inPieces = (name: string, args: string) => [
  { type: 'toolCallFragment' as const, index: 0, id: 'p', name, arguments: args.slice(0, 4) },
  { delay: 3 },
  { type: 'toolCallFragment' as const, index: 0, arguments: args.slice(4) },
];

/** A call that is not the one that readers have seen, after one that never comes. */
const previewed = () => {
  const preview = { type: 'toolCallFragment' as const, preview: true as const };
  return [
    { ...preview, index: 'q', id: 'q', name: 'slow', arguments: '{}' },
    { ...preview, index: 'p', id: 'p', name: 'weather', arguments: '{"city":"Rome"}' },
    { type: 'toolCallFragment' as const, index: 'p', id: 'p', name: 'weather', arguments: '{"city":"Oslo"}' },
    { delay: 3 },
  ];
};

/** Runs an agent until it waits, and resumes it. */
function recordBoth(
  agent: Agent,
  answer: (waiting: readonly rivulet.WaitingCall[]) => rivulet.OptionsOf<rivulet.Agent['resume']>,
) {
  const lines: string[] = [];
  const recorded = recordRun(agent, (line) => void lines.push(line));
  const { values } = inVirtualTime(() => recorded.stream('Hi'));
  const last = values.at(-1)?.value;
  const { checkpoint, waiting = [] } = last?.type === 'result' ? last.result : {};
  if (!checkpoint) throw new Error('The run did not wait.');
  inVirtualTime(() => recorded.resume(checkpoint, answer(waiting)));
  return { lines, recording: readRecording(lines), runs: [1, 2] };
}

const approvals = (waiting: readonly rivulet.WaitingCall[]) => ({
  decisions: Object.fromEntries(waiting.map(({ id }) => [id, { approve: true as const }])),
});

const once =
  (agent: Agent, options?: Parameters<typeof recordVirtually>[1], settings = {}) =>
  () => ({
    ...recordVirtually(agent, options, settings),
    runs: [1],
  });

const approveSlowly: Partial<AgentOptions> = {
  tools: [pay] as readonly Tool[],
  approve: () => timer(30).pipe(map(() => ({ approve: true as const }))),
};

/** Kinds of runs. */
const runs = {
  'an agent inside': once(
    asking([[toolCall('ask', { prompt: 'x' })], 'Done'], agentWith([[{ delay: 5 }, 'In', toolCall('slow')], 'Answer'])),
  ),
  'an agent inside an agent inside': once(
    asking(
      [[toolCall('ask', { prompt: 'x' })], 'Done'],
      asking([[toolCall('ask', { prompt: 'y' })], 'Mid'], agentWith([[{ delay: 5 }, 'deep']])),
    ),
  ),
  'usage of a tool': once(
    agentWith([[toolCall('u')], 'Done'], {
      tools: [
        tool({
          name: 'u',
          description: 'u',
          execute: (_args, { usage }) => {
            usage({ input: 3, output: 4 });
            return timer(5).pipe(map(() => 1));
          },
        }),
      ] as readonly Tool[],
    }),
  ),
  'approvals of some calls, with details': once(
    agentWith([[toolCall('pay', { amount: 1 }), toolCall('pay', { amount: 20 })], 'Done'], approveSlowly),
  ),
  'a retracted call that has ended': once(flaky('fast')),
  'a retracted call that runs': once(flaky('slow')),
  'a veto of a running call': once(
    agentWith([['a', toolCall('slow'), { delay: 10 }, { type: 'finish', reason: 'length' }]], { eagerTools: true }),
  ),
  'arguments with __proto__': once(
    agentWith([inPieces('echo', '{"__proto__":{"x":1},"constructor":2}'), 'Done'], {
      tools: [tool({ name: 'echo', description: 'e', execute: (args: unknown) => args })] as readonly Tool[],
    }),
  ),
  'ids such as __proto__': once(
    agentWith([[toolCall('fast', {}, '__proto__'), toolCall('slow', {}, 'constructor')], 'Done']),
  ),
  'an unsubscription in a handler': once(agentWith([['a', toolCall('fast')], 'Done']), (agent) =>
    agent.stream('Hi').pipe(take(2)),
  ),
  'an unsubscription in a tool': once(agentWith([['a', toolCall('fast')], 'Done']), (agent) =>
    agent.stream('Hi').pipe(takeUntil(timer(4))),
  ),
  'an unsubscription before a decision': once(agentWith([[toolCall('pay', { amount: 20 })]], approveSlowly), (agent) =>
    agent.stream('Hi').pipe(takeUntil(timer(20))),
  ),
  checkpoints: once(agentWith([[toolCall('slow')], 'Done']), (agent) => agent.stream('Hi', { checkpoints: true })),
  'arguments that do not match': once(
    agentWith([[toolCall('weather', { city: 5 })], 'Done'], { tools: [weather] as readonly Tool[] }),
  ),
  'fragments as events': once(agentWith([inPieces('fast', '{"a":1}'), 'Done']), (agent) =>
    agent.stream('Hi', { fragments: true } as OptionsOf<Agent['stream']> as { fragments?: false }),
  ),
  'masked content': once(
    agentWith([['Wait. ', ...inPieces('weather', '{"city":"Oslo"}')], 'Done'], { tools: [weather] as readonly Tool[] }),
    undefined,
    { content: false },
  ),
  'previews of calls': once(agentWith([previewed(), 'Done'], { tools: [weather, slow] as readonly Tool[] })),
  'previews of calls, masked': once(
    agentWith([previewed(), 'Done'], { tools: [weather, slow] as readonly Tool[] }),
    undefined,
    { content: false },
  ),
  'parallel calls in the same milliseconds': once(
    agentWith([[toolCall('p', {}, 'a'), toolCall('p', {}, 'b')], 'Done'], {
      toolConcurrency: 2,
      tools: [
        tool({
          name: 'p',
          description: 'p',
          execute: (_args, { call }) =>
            concat(
              timer(call.id === 'a' ? 4 : 2).pipe(map(() => progress(1))),
              timer(call.id === 'a' ? 2 : 4).pipe(map(() => call.id)),
            ),
        }),
      ] as readonly Tool[],
    }),
  ),
  'a deadline': once(agentWith([[toolCall('slow'), toolCall('fast')], 'Done'], { toolDeadline: 50 })),
  'an approval by a person': () =>
    recordBoth(
      agentWith([[toolCall('fast'), toolCall('pay', { amount: 20 })], 'Done'], { tools: [fast, pay] }),
      approvals,
    ),
  'a denial by a person': () =>
    recordBoth(agentWith([[toolCall('pay', { amount: 20 })], 'Done'], { tools: [pay] }), ([call]) => ({
      decisions: { [call?.id ?? '']: { approve: false, reason: 'too much' } },
    })),
  'a result from a page': () =>
    recordBoth(
      agentWith([[toolCall('where'), toolCall('fast')], 'Done'], {
        tools: [fast, tool({ name: 'where', description: 'w' })] as readonly Tool[],
      }),
      ([call]) => ({ results: { [call?.id ?? '']: { city: 'Oslo' } } }),
    ),
  'an approval inside an agent': () =>
    recordBoth(
      asking(
        [[toolCall('ask', { prompt: 'x' })], 'Done'],
        agentWith([['In', toolCall('pay', { amount: 20 })], 'Paid'], { tools: [pay] }),
      ),
      approvals,
    ),
};

/** A library whose events all have another field. */
const changed = {
  ...rivulet,
  createAgent: (options: AgentOptions) => {
    const agent = createAgent(options);
    const change = map((event: object) => ({ ...event, changed: true }));
    return {
      ...agent,
      stream: (...args: Parameters<Agent['stream']>) => agent.stream(...args).pipe(change),
      resume: (...args: Parameters<Agent['resume']>) => agent.resume(...args).pipe(change),
    };
  },
};

const forms = (['jest', 'vitest', 'node'] as const).flatMap((runner) => [
  { runner, fixture: './run.jsonl' },
  { runner },
]);

describe.each(Object.entries(runs))('a recorded run with %s', (_, recordIt) => {
  it('the written specs of a recorded run pass, and fail when its events differ', () => {
    const { lines, recording, runs: numbers } = recordIt();
    const files = { '/spec/run.jsonl': lines.join('\n') };
    for (const run of numbers) {
      for (const form of forms) {
        const text = writeSpec(recording, { run, ...form });
        expect(runSpec(text, files)).toHaveLength(1);
        expect(() => runSpec(text, files, changed)).toThrow(/equal/);
      }
    }
  });
});

describe('writeSpec', () => {
  it('writeSpec says what to do with the recording of a model', () => {
    const lines: string[] = [];
    const model = record(scriptedModel(['Hi']), (line) => void lines.push(line));
    inVirtualTime(() => model.stream({ messages: [] }));
    expect(() => writeSpec(readRecording(lines))).toThrow('Record the agent with recordRun');
  });

  it('writeSpec and replayRun say that the checkpoint of a run is missing', () => {
    const { lines } = runs['a denial by a person']();
    const old = lines.map((line) => line.replace('"checkpoint":{', '"other":{'));
    expect(() => writeSpec(readRecording(old), { run: 2 })).toThrow('resumed from a checkpoint that is not in the');
    expect(() => replayRun(readRecording(old), { run: 2 })).toThrow('resumed from a checkpoint that is not in the');
  });

  it('a diagram of 23,000 moments has as many letters, which are names of properties', () => {
    const { marbles, values } = drawInVirtualTime(() => interval(3).pipe(take(23_000)));
    const letters = Object.keys(values);
    expect(letters).toHaveLength(23_000);
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the diagram is a part of a program
    expect(() => new Function(`return { ${letters.map((letter) => `${letter}: 1`).join()} }`)).not.toThrow();
    expect(drawInVirtualTime(() => playMarbles(marbles, values)).marbles).toBe(marbles);
  });
});
