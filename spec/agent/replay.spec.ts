import { describe, expect, it } from '@jest/globals';
import { of } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions, ResumeOptions } from '../../lib/agent/createAgent.js';
import type { OpenCalls } from '../../lib/core/checkpoint.js';
import type { RunEvent, StreamEvent } from '../../lib/core/event.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { dropReplay, replay } from '../../lib/agent/replay.js';
import { typed } from '../../lib/agent/typed.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Script, ScriptedRequest } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';
import { callOf } from '../support/toolCalls.js';
import { city, onlyTools, oslo } from './typedRun.js';

const call = callOf('ask', {}, 'c');
const open: OpenCalls = {
  messages: [modelMessage([{ type: 'text', text: 'Hm.' }, call]), userMessage('Go on.')],
  metadata: { cost: 1 },
  finish: { reason: 'toolCalls', usage: { input: 5 } },
  results: [{ type: 'toolResult', id: 'd', name: 'look', result: 'rain' }],
  waiting: [],
};

describe('replay', () => {
  it('replay repeats the answer of the model: its metadata, the parts of its messages, and the results', () => {
    expect(observe(replay(open)).values).toEqual([
      { type: 'metadata', metadata: { cost: 1 } },
      { type: 'text', text: 'Hm.' },
      call,
      { type: 'message', message: open.messages[0] },
      { type: 'message', message: open.messages[1] },
      open.results[0],
      expect.anything(),
      { type: 'finish', reason: 'toolCalls', usage: { input: 5 } },
    ]);
    const { metadata: _, ...without } = open;
    expect(observe(replay(without)).values[0]).toEqual({ type: 'text', text: 'Hm.' });
  });

  it('dropReplay emits what follows the replay', () => {
    const finish = { type: 'finish', reason: 'toolCalls', usage: { input: 5 } };
    expect(observe(replay(open).pipe(dropReplay<StreamEvent>('own'))).values).toEqual([finish]);
  });

  it('dropReplay lets a turn end that was stopped before its replay', () => {
    const stopped = { type: 'turn', turn: 1, finishReason: 'stopped', next: null } as const;
    const { values, error } = observe(of<RunEvent>(stopped).pipe(dropReplay('own')));
    expect([values, error]).toEqual([[stopped], undefined]);
  });

  it.each<[RunEvent]>([
    [{ type: 'turn', turn: 1, finishReason: 'stop', next: null }],
    [{ type: 'openCalls', open, waits: true } as unknown as RunEvent],
  ])('dropReplay fails for a turn without a replay: %j', (event) => {
    const { values, error } = observe(of<RunEvent[]>({ type: 'text', text: 'a' }, event).pipe(dropReplay('own')));
    expect(values).toEqual([]);
    expect(error).toMatchObject({ code: 'configuration', subject: 'checkpoint' });
  });
});

describe('a run that is resumed', () => {
  const ask = tool({ name: 'ask', description: '' });
  const keys: string[] = [];
  const look = tool({
    name: 'look',
    description: '',
    needsApproval: true,
    execute: (_, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      return 'rain';
    },
  });

  /** Runs an agent until it waits, and resumes it with these answers. */
  function resumed(script: Script<ScriptedRequest>, options: Partial<AgentOptions>, answers: ResumeOptions) {
    const make = () => createAgent({ model: scriptedModel(script), tools: [ask, look], ...options });
    const first = observe(make().stream('Hi', { runId: 'r1' })).values.at(-1);
    if (first?.type !== 'result' || !first.result.checkpoint) throw new Error('The run does not wait.');
    const { values, error } = observe(make().resume(first.result.checkpoint, answers));
    expect(error).toBeUndefined();
    return { first: first.result, values, result: values.at(-1) };
  }
  const script: Script<ScriptedRequest> = ({ messages }) =>
    messages.length < 2 ? ['I ask.', toolCall('ask', {}, 'c'), { type: 'metadata', metadata: { cost: 1 } }] : 'Done.';

  it('emits the missing events of its turn, and goes on with the next', () => {
    const { values } = resumed(script, {}, { results: { c: 'yes' } });
    const result = { type: 'toolResult', id: 'c', name: 'ask', result: 'yes' };
    expect(values).toMatchObject([
      result,
      { type: 'message', message: { role: 'user', parts: [result] } },
      { type: 'turn', turn: 1, metadata: { cost: 1 } },
      { type: 'text', text: '\nDone.', prefix: '\n' },
      { type: 'message', message: modelMessage('Done.') },
      { type: 'turn', turn: 2 },
      { type: 'result', result: { text: 'I ask.\nDone.' } },
    ]);
  });

  it.each([
    ['no prefix if the agent has none', script, { prefix: '' }, 'Done.'],
    [
      'no prefix if it has emitted no text',
      ({ messages }: ScriptedRequest) => (messages.length < 2 ? [toolCall('ask', {}, 'c')] : 'Done.'),
      {},
      'Done.',
    ],
    ['the prefix of the agent', script, { prefix: ' ' }, ' Done.'],
  ])('has %s', (_, lines, options, text) => {
    const { values } = resumed(lines, options, { results: { c: 'yes' } });
    expect(values.find(({ type }) => type === 'text')).toMatchObject({ text });
  });

  it('keeps its id, with which the idempotency keys of its calls begin', () => {
    keys.length = 0;
    const pays: Script<ScriptedRequest> = ({ messages }) =>
      messages.length < 2 ? [toolCall('look', {}, 'c')] : 'Done.';
    resumed(pays, {}, { decisions: { c: { approve: true } }, runId: 'r2' });
    expect(keys).toEqual([expect.stringMatching(/^r1\.0\.c\.\w{16}$/)]);
  });

  it('ends with stopped if it is stopped when it is resumed', () => {
    const { result } = resumed(script, {}, { stop: of(1) });
    expect(result).toMatchObject({ result: { finishReason: 'stopped', turns: 1 } });
  });

  it('returns the result of return_result again, and executes the other calls once', () => {
    const model = scriptedModel([[toolCall('return_result', oslo, 'r'), toolCall('ask', {}, 'c')]], {
      capabilities: onlyTools,
    });
    const { first, values, result } = resumed([], { model, output: typed(city) }, { results: { c: 'yes' } });
    expect(first.checkpoint?.open?.results).toMatchObject([{ id: 'r', result: 'ok' }]);
    expect(values.filter(({ type }) => type === 'toolResult')).toMatchObject([{ id: 'c' }]);
    expect(result).toMatchObject({ result: { output: oslo, finishReason: 'stop', turns: 1 } });
  });

  it('keeps the results of other calls beside return_result', () => {
    const model = scriptedModel(
      [[toolCall('return_result', oslo, 'r'), toolCall('count', {}, 'n'), toolCall('ask', {}, 'c')]],
      { capabilities: onlyTools },
    );
    let executed = 0;
    const count = tool({ name: 'count', description: '', execute: () => ++executed });
    const { result } = resumed(
      [],
      { model, tools: [ask, count], output: typed(city) },
      {
        results: { c: 'yes' },
      },
    );
    expect(executed).toBe(1);
    expect(result).toMatchObject({ result: { output: oslo } });
  });
});

describe('the fragments of an agent', () => {
  it('the fragments of calls are emitted only if they are asked for', () => {
    const make = () => createAgent({ model: scriptedModel([[toolCall('none')], 'Done.']) });
    const fragmentsOf = (events: readonly StreamEvent[]) => events.filter(({ type }) => type === 'toolCallFragment');
    expect(fragmentsOf(observe(make().stream('Hi')).values)).toEqual([]);
    expect(fragmentsOf(observe(make().stream('Hi', { fragments: true })).values)).toHaveLength(1);
  });
});
