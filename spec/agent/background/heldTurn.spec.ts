import { describe, expect, it } from '@jest/globals';
import { concatMap, map, of, timer } from 'rxjs';
import * as z from 'zod';
import { askTool, backgroundTool, createAgent, tool, toolLoop, typed, userMessage } from '../../../lib/index.js';
import type {
  AgentOptions,
  Capabilities,
  Checkpoint,
  Message,
  Orchestrator,
  RunEvent,
  RunResult,
} from '../../../lib/index.js';
import { inVirtualTime, scriptedModel, toolCall } from '../../../lib/testing/index.js';
import type { ScriptedRequest, Step } from '../../../lib/testing/index.js';
import { faultsOf } from '../../support/acceptedHistory.js';

const isJoined = ({ metadata }: Message) => metadata?.['background'] !== undefined;

const slow = tool({ name: 'work', description: '', execute: () => timer(50).pipe(map(() => 'done')) });
const asking = askTool({
  name: 'work',
  description: '',
  execute: (_, { ask }) => ask({ message: 'Which?', schema: z.object({ n: z.number() }) }),
});
const look = tool({ name: 'look', description: '', execute: () => 'seen' });

/** Emits at the end of a run what only an orchestrator knows. */
const noting: Orchestrator = {
  name: 'noting',
  turn: (state, context) =>
    toolLoop.turn(state, context).pipe(
      concatMap((event): RunEvent[] => {
        if (event.type !== 'turn' || event.next) return [event];
        return [{ type: 'text', text: 'Noted.' }, { type: 'message', message: userMessage('Noted.') }, event];
      }),
    ),
};

interface Row {
  /** What the model answers, by how many results have joined, and whether it has that of `look`. */
  readonly answers: (joined: number, hasLooked: boolean) => readonly Step[];
  readonly options?: Partial<AgentOptions>;
  readonly capabilities?: Capabilities;
}

const called = toolCall('look', {}, 'c2');
const cutBy = (reason: 'length' | 'contentFilter' | 'error' | 'other' | 'stop', ...calls: readonly Step[]): Row => ({
  answers: (joined, hasLooked) =>
    joined > 0 || hasLooked ? ['Done.'] : ['I look.', ...calls, { type: 'finish', reason }],
});
const json = (n: number) => [JSON.stringify({ n })];
const output = typed(z.object({ n: z.number() }));

const rows: Readonly<Record<string, Row>> = {
  'without a call': cutBy('stop'),
  'without a call, cut by `length`': cutBy('length'),
  'cut by `length`': cutBy('length', called),
  'cut by `contentFilter`': cutBy('contentFilter', called),
  'that ends with `error`': cutBy('error', called),
  'that ends with `other`': cutBy('other', called),
  'that ends with `stop`': cutBy('stop', called),
  'cut after a call that `eagerTools` has executed': {
    ...cutBy('length', called, { delay: 5 }),
    options: { eagerTools: true },
  },
  'cut in a call that `eagerTools` has begun': {
    ...cutBy('length', called),
    options: { eagerTools: true, tools: [{ ...look, execute: () => timer(5) }] },
  },
  'with an output returned by a tool': {
    answers: (n) => [toolCall('return_result', { n }, `r${n}`)],
    options: { output },
    capabilities: { typedOutput: false },
  },
  'with an output in a text, in place of a tool': {
    answers: json,
    options: { output },
    capabilities: { typedOutput: false },
  },
  'with an output by a schema': { answers: json, options: { output } },
  'with an output in a second phase': {
    answers: json,
    options: { output },
    capabilities: { typedOutput: true, typedOutputWithTools: false },
  },
  'of an orchestrator that adds a text and a message': { answers: () => ['Done.'], options: { orchestrator: noting } },
};

function agentOf({ answers, options = {}, capabilities = {} }: Row, work: typeof slow | typeof asking) {
  const hasLooked = ({ parts }: Message) => parts.some((part) => part.type === 'toolResult' && part.id === 'c2');
  const script = ({ messages }: ScriptedRequest): readonly Step[] =>
    messages.length === 1
      ? [toolCall('work', {}, 'c1')]
      : answers(messages.filter(isJoined).length, messages.some(hasLooked));
  const model = scriptedModel(script, { capabilities });
  return createAgent({ model, ...options, tools: [backgroundTool(work), ...(options.tools ?? [look])] });
}

type Agent = ReturnType<typeof agentOf>;

const copyOf = (checkpoint: Checkpoint | undefined) => JSON.parse(JSON.stringify(checkpoint)) as Checkpoint;

function resultOf(run: () => ReturnType<Agent['run']>): RunResult {
  const { values, error } = inVirtualTime(run);
  const [last] = values;
  if (!last) throw error;
  return last.value;
}

/** What has to be the same, however often the turn was opened. */
const outcomeOf = ({ messages, text, output: value, usage, turns, finishReason, metadata }: RunResult) => ({
  ...{ messages, text, value, usage, turns, finishReason, metadata },
  faults: faultsOf([userMessage('Hi'), ...messages]),
});

const checkpointsOf = (run: () => ReturnType<Agent['stream']>): readonly Checkpoint[] =>
  inVirtualTime(run).values.flatMap(({ value }) =>
    value.type === 'turn' || value.type === 'checkpoint' ? (value.checkpoint ?? []) : [],
  );

const checkpoints = (agent: Agent) => checkpointsOf(() => agent.stream('Hi', { checkpoints: true, runId: 'r1' }));

const answered = { results: { 'c1/1': { n: 7 } } };

describe.each(Object.entries(rows))('a turn %s that is held for work in the background', (_, row) => {
  const whole = outcomeOf(resultOf(() => agentOf(row, slow).run('Hi')));

  it('leaves a valid history', () => {
    expect(whole.faults).toEqual([]);
    expect(whole.messages.filter(isJoined)).toHaveLength(1);
  });

  it('ends in the same way after a crash, at each checkpoint, and after a crash of the run that was resumed', () => {
    const agent = agentOf(row, slow);
    const stored = checkpoints(agent);
    const held = stored.findLast(({ background }) => background);
    const later = checkpointsOf(() => agent.resume(copyOf(held), { checkpoints: true }));
    for (const checkpoint of [...stored, ...later].filter(({ background }) => background))
      expect(outcomeOf(resultOf(() => agent.resumeRun(copyOf(checkpoint))))).toEqual(whole);
  });

  it('ends in the same way if it waits for a person, also if nobody answers at first', () => {
    const agent = agentOf(row, asking);
    const live = outcomeOf(resultOf(() => agent.run('Hi', { answers: timer(30).pipe(map(() => answered)) })));
    const waiting = resultOf(() => agent.run('Hi'));
    expect(waiting.finishReason).toBe('waiting');
    const again = resultOf(() => agent.resumeRun(copyOf(waiting.checkpoint)));
    expect(outcomeOf(again)).toEqual(outcomeOf(waiting));
    for (const { checkpoint } of [waiting, again])
      expect(outcomeOf(resultOf(() => agent.resumeRun(copyOf(checkpoint), answered)))).toEqual(live);
  });

  it('is stopped at once when it is opened again', () => {
    const agent = agentOf(row, slow);
    const stored = checkpoints(agent).filter(({ background }) => background);
    for (const checkpoint of stored) {
      const { messages, finishReason } = resultOf(() => agent.resumeRun(copyOf(checkpoint), { stop: of(true) }));
      expect(faultsOf([userMessage('Hi'), ...messages])).toEqual([]);
      if (checkpoint === stored.at(-1)) expect(finishReason).toBe('stopped'); // it is held
      expect(messages.filter(isJoined)).toHaveLength(1);
    }
  });
});

describe('a response that is cut', () => {
  it.each([false, true])('executes no call in the background, and is the last (eagerTools %s)', (eagerTools) => {
    let begun = 0;
    const work = tool({ name: 'work', description: '', execute: () => (begun += 1) });
    const calls: readonly Step[] = [toolCall('work', {}, 'c1'), toolCall('look', {}, 'c2'), { delay: 5 }];
    const model = scriptedModel([[...calls, { type: 'finish', reason: 'length' }]]);
    const agent = createAgent({ model, tools: [backgroundTool(work), look], eagerTools });
    const { finishReason, messages } = resultOf(() => agent.run('Hi'));
    expect({ begun, finishReason, turns: model.requests.length }).toEqual({
      begun: 0,
      finishReason: 'length',
      turns: 1,
    });
    expect(messages.at(-1)?.parts).toMatchObject([
      { id: 'c1', code: 'not_executed' },
      { id: 'c2', ...(eagerTools ? { result: 'seen' } : { code: 'not_executed' }) },
    ]);
  });
});
