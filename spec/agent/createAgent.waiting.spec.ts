import { describe, expect, it, jest } from '@jest/globals';
import { EMPTY, Subject, of } from 'rxjs';

import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions } from '../../lib/agent/createAgent.js';
import type { Approve, Decision } from '../../lib/core/approval.js';
import type { RunEvent, RunResult } from '../../lib/core/event.js';
import { tool } from '../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Script, ScriptedRequest } from '../../lib/testing/index.js';
import { typed } from '../../lib/agent/typed.js';
import { observe } from '../support/observe.js';

const pay = (execute: (args: { amount: number }) => unknown = ({ amount }) => `paid ${amount}`) =>
  tool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number().max(100) }),
    needsApproval: true,
    execute,
  });
const look = tool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
const locate = tool({
  name: 'locate',
  description: 'Asks the browser for the position.',
  result: z.object({ latitude: z.number() }),
});

/** The first request calls the tools, and the second answers. */
const script: Script<ScriptedRequest> = ({ messages }) =>
  messages.length < 3
    ? [
        { type: 'thinking', text: 'Hm.' },
        'I pay.',
        toolCall('pay', { amount: 5 }, 'p'),
        toolCall('look', {}, 'l'),
        toolCall('locate', {}, 'b'),
        { type: 'metadata', metadata: { cost: 2 } },
        { type: 'finish', reason: 'toolCalls', usage: { input: 10 } },
      ]
    : ['Done.', { type: 'finish', reason: 'stop', usage: { input: 20 } }];

const make = (options: Partial<AgentOptions> = {}) =>
  createAgent({ model: scriptedModel(script), tools: [pay(), look, locate], ...options });
const types = (events: readonly RunEvent[]) =>
  events.map((event) => ('name' in event ? `${event.type} ${event.name}` : event.type));
const resultOf = ({ values, error }: { values: readonly RunEvent[]; error: unknown }): RunResult => {
  expect(error).toBeUndefined();
  const last = values.at(-1);
  if (last?.type !== 'result') throw new Error('There is no result.');
  return last.result;
};
/** The checkpoint of a run that waits, as it comes out of a database. */
const stored = (result: RunResult) => {
  expect(result.finishReason).toBe('waiting');
  return JSON.parse(JSON.stringify(result.checkpoint)) as NonNullable<RunResult['checkpoint']>;
};
const waitingCheckpoint = () => stored(resultOf(observe(make().stream('Pay!'))));

describe('an agent whose calls wait', () => {
  it('stream ends with a result that contains the waiting calls, after the other calls of the turn', () => {
    const run = observe(make().stream('Pay!'));
    expect(types(run.values)).toEqual([
      'thinking',
      'text',
      'toolCall pay',
      'toolCall look',
      'toolCall locate',
      'metadata',
      'message',
      'toolWaiting pay',
      'toolStart look',
      'toolResult look',
      'toolWaiting locate',
      'result',
    ]);
    expect(resultOf(run)).toMatchObject({
      text: 'I pay.',
      thinking: 'Hm.',
      answer: 'I pay.',
      messages: [{ role: 'model' }, { role: 'user', parts: [{ type: 'toolResult', id: 'l', result: 'seen' }] }],
      finishReason: 'waiting',
      usage: { input: 10 },
      metadata: { cost: 2 },
      turns: 1,
      waiting: [
        { id: 'p', name: 'pay', arguments: { amount: 5 } },
        { id: 'b', name: 'locate', arguments: {} },
      ],
    });
    expect(resultOf(run).messages).toHaveLength(2);
  });

  it('resume goes on with the answers, and its result is that of an undisturbed run', () => {
    const checkpoint = waitingCheckpoint();
    const run = observe(
      make().resume(checkpoint, { decisions: { p: { approve: true } }, results: { b: { latitude: 60 } } }),
    );
    expect(types(run.values)).toEqual([
      'toolStart pay',
      'toolResult pay',
      'toolResult locate',
      'message',
      'turn',
      'text',
      'message',
      'turn',
      'result',
    ]);
    expect(resultOf(run)).toMatchObject({
      text: 'I pay.\nDone.',
      thinking: 'Hm.',
      messages: [
        { role: 'model' },
        { parts: [{ result: 'paid 5' }, { result: 'seen' }, { result: { latitude: 60 } }] },
        { role: 'model' },
      ],
      finishReason: 'stop',
      usage: { input: 30 },
      metadata: { cost: 2 },
      turns: 2,
    });
  });

  it('resume reports the error of a call that was executed elsewhere to the model', () => {
    const answers = { decisions: { p: { approve: true } }, errors: { b: 'No position.' } } as const;
    const run = observe(make().resume(waitingCheckpoint(), answers));
    const failed = { type: 'toolResult', id: 'b', name: 'locate', error: 'No position.', code: 'failed' };
    expect(run.values).toContainEqual(failed);
    expect(resultOf(run).messages[1]?.parts).toContainEqual(failed);
  });

  it('resumeRun emits only the result', () => {
    const answers = { decisions: { p: { approve: false } }, results: { b: { latitude: 60 } } } as const;
    const { values } = observe(make().resumeRun(waitingCheckpoint(), answers));
    expect(values).toMatchObject([{ finishReason: 'stop' }]);
  });

  it('resume keeps waiting for missing answers, with a new checkpoint, and announces no call again', () => {
    const first = observe(make().resume(waitingCheckpoint(), { decisions: { p: { approve: true } } }));
    expect(types(first.values)).toEqual(['toolStart pay', 'toolResult pay', 'result']);
    const waiting = resultOf(first);
    expect(waiting).toMatchObject({ waiting: [{ id: 'b' }], usage: { input: 10 }, turns: 1, text: 'I pay.' });
    const none = observe(make().resume(stored(waiting)));
    expect(types(none.values)).toEqual(['result']);
    const execute = jest.fn();
    const last = observe(
      make({ tools: [pay(execute), look, locate] }).resume(stored(resultOf(none)), { results: { b: { latitude: 1 } } }),
    );
    expect(execute).not.toHaveBeenCalled(); // it has a result
    expect(resultOf(last)).toMatchObject({ text: 'I pay.\nDone.', usage: { input: 30 }, turns: 2 });
  });

  it('resume emits a checkpoint after each result, and none before', () => {
    const answers = { decisions: { p: { approve: true } } } as const;
    const run = observe(make().resume(waitingCheckpoint(), { ...answers, checkpoints: true }));
    expect(types(run.values)).toEqual(['toolStart pay', 'toolResult pay', 'checkpoint', 'result']);
  });

  it('resume denies with a reason, and executes edited arguments', () => {
    const answers = { results: { b: { latitude: 1 } } };
    const denied = observe(
      make().resume(waitingCheckpoint(), { ...answers, decisions: { p: { approve: false, reason: 'No.' } } }),
    );
    expect(denied.values[0]).toMatchObject({
      type: 'toolResult',
      code: 'denied',
      error: expect.stringMatching(/No\.$/),
    });
    const edited = observe(
      make().resume(waitingCheckpoint(), { ...answers, decisions: { p: { approve: true, arguments: { amount: 3 } } } }),
    );
    expect(edited.values.slice(0, 2)).toMatchObject([{ arguments: { amount: 3 } }, { result: 'paid 3' }]);
    expect(resultOf(edited).messages[0]).toEqual(resultOf(denied).messages[0]); // what the model sent
  });

  it.each([
    ['is gone', [look], 'unknown_tool'],
    ['needs no approval any more', [look, tool({ name: 'pay', description: 'Pays.', execute: () => 1 })], 'denied'],
  ])('resume answers a denied call whose tool %s', (_, tools, code) => {
    const run = observe(make({ tools }).resume(waitingCheckpoint(), { decisions: { p: { approve: false } } }));
    expect(run.values.find((event) => event.type === 'toolResult' && event.id === 'p')).toMatchObject({ code });
  });

  it('resume does not execute a waiting call without a decision because its tool needs no approval any more', () => {
    const execute = jest.fn(() => 1);
    const tools = [look, locate, tool({ name: 'pay', description: 'Pays.', execute })];
    expect(resultOf(observe(make({ tools }).resume(waitingCheckpoint())))).toMatchObject({ waiting: [{}, {}] });
    expect(execute).not.toHaveBeenCalled();
  });

  it.each<[string, object, RegExp]>([
    [
      'a decision for an unknown id',
      { decisions: { x: { approve: true } } },
      /No call with the id "x" waits.*"p" \(pay\)/,
    ],
    ['a decision for a call that has a result', { decisions: { l: { approve: true } } }, /"l" waits/],
    ['a result for an unknown id', { results: { __proto__: null, x: 1 } }, /"x" waits/],
    ['a value that is not a decision', { decisions: { p: true } }, /"p" is not a decision/],
    ['a result that does not match the schema', { results: { b: { latitude: 'north' } } }, /"locate".*latitude/],
    ['a result for a tool with execute', { results: { p: 1 } }, /"pay" has `execute`/],
    ['an error for an unknown id', { errors: { x: 'No.' } }, /"x" waits/],
    ['an error that is not a text', { errors: { b: 1 } }, /error for the call "b" is not a text/],
    ['an error and a result', { errors: { b: 'No.' }, results: { b: { latitude: 1 } } }, /"b".*another answer/],
    [
      'an approval of a tool without execute',
      { decisions: { b: { approve: true } } },
      /"b" is approved, but.*"locate" has no/,
    ],
    ['a denial and a result', { decisions: { b: { approve: false } }, results: { b: {} } }, /"b" is denied, and has/],
  ])('resume fails with a ConfigurationError for %s, before any tool runs', (_, answers, message) => {
    const execute = jest.fn();
    const { values, error } = observe(
      make({ tools: [pay(execute), look, locate] }).resume(waitingCheckpoint(), answers),
    );
    expect(values).toEqual([]);
    expect(error).toMatchObject({ code: 'configuration', message: expect.stringMatching(message) });
    expect(execute).not.toHaveBeenCalled();
  });

  it('resume asks approve for a decision that is missing', () => {
    const approve = jest.fn(() => of({ approve: true } as const));
    const run = observe(make({ approve }).resume(waitingCheckpoint(), { results: { b: { latitude: 1 } } }));
    expect(approve.mock.calls).toMatchObject([[{ id: 'p', name: 'pay', arguments: { amount: 5 } }]]);
    expect(types(run.values).slice(0, 2)).toEqual(['toolStart pay', 'toolResult pay']);
  });

  it('resume runs the tools of the last turn, and then ends with maxTurns', () => {
    const agent = make({ maxTurns: 1 });
    const checkpoint = stored(resultOf(observe(agent.stream('Pay!'))));
    const run = observe(
      agent.resume(checkpoint, { decisions: { p: { approve: true } }, results: { b: { latitude: 1 } } }),
    );
    expect(resultOf(run)).toMatchObject({
      finishReason: 'maxTurns',
      turns: 1,
      messages: [{}, { parts: [{}, {}, {}] }],
    });
  });

  it('resume is cold: each subscription is a run of its own', () => {
    const run = make({ model: scriptedModel(script) }).resume(waitingCheckpoint(), {
      decisions: { p: { approve: true } },
      results: { b: { latitude: 1 } },
    });
    expect(observe(run).values).toEqual(observe(run).values);
  });

  it('resume emits only the result if the last turn had ended', () => {
    const agent = make({ tools: [look], model: scriptedModel(['Hi.']) });
    const { values } = observe(agent.stream('Hi', { checkpoints: true }));
    const turn = values.find((event) => event.type === 'turn');
    if (turn?.type !== 'turn' || !turn.checkpoint) throw new Error('There is no checkpoint.');
    expect(turn.checkpoint).toMatchObject({ ended: { finishReason: 'stop' } });
    const model = scriptedModel([]);
    expect(observe(make({ model }).resume(turn.checkpoint)).values).toEqual(values.slice(-1));
    expect(model.requests).toEqual([]);
  });

  it.each<[string, z.ZodType, boolean]>([
    ['JSON', z.object({ n: z.number() }), true],
    ['a Date', z.object({ n: z.number() }).transform(({ n }) => new Date(n)), false],
    ['a Map', z.object({ n: z.number() }).transform(() => new Map([[1, 2]])), false],
  ])('stream adds a checkpoint to the last turn of a typed run only if its output is JSON: %s', (_, output, has) => {
    const agent = createAgent({ model: scriptedModel(['{"n":1}']), output: typed(output) });
    const { values, error } = observe(agent.stream('Hi', { checkpoints: true }));
    expect(error).toBeUndefined();
    const turn = values.find((event) => event.type === 'turn');
    expect(turn !== undefined && 'checkpoint' in turn).toBe(has);
    if (turn?.type !== 'turn' || !turn.checkpoint) return;
    const resumed = observe(createAgent({ model: scriptedModel([]), output: typed(output) }).resume(turn.checkpoint));
    expect(resumed.values).toEqual(values.slice(-1));
  });

  it('stream ends with stopped, and leaves the approval, when it is stopped during an approval', () => {
    const [stop, decision] = [new Subject<void>(), new Subject<Decision>()];
    const run = observe(make({ tools: [pay(), look], approve: () => decision }).stream('Pay!', { stop }));
    expect(decision.observed).toBe(true);
    stop.next();
    expect(decision.observed).toBe(false);
    const { messages, finishReason } = resultOf(run);
    expect(finishReason).toBe('stopped');
    const results = [
      { id: 'p', code: 'cancelled' },
      { id: 'l', result: 'seen' },
      { id: 'b', code: 'unknown_tool' },
    ];
    expect(messages).toMatchObject([{ role: 'model' }, { parts: results }]);
  });

  it('resume ends with stopped, with all results of the turn, when it is stopped while a tool runs', () => {
    const [stop, running] = [new Subject<void>(), new Subject<string>()];
    const run = observe(
      make({ tools: [pay(() => running), look, locate] }).resume(waitingCheckpoint(), {
        decisions: { p: { approve: true } },
        results: { b: { latitude: 1 } },
        stop,
      }),
    );
    expect(running.observed).toBe(true);
    stop.next();
    expect(running.observed).toBe(false);
    const { messages, finishReason, text } = resultOf(run);
    expect({ finishReason, text }).toEqual({ finishReason: 'stopped', text: 'I pay.' });
    const results = [{ code: 'cancelled' }, { result: 'seen' }, { result: { latitude: 1 } }];
    expect(messages).toMatchObject([{ role: 'model' }, { parts: results }]);
    expect(run.values.filter(({ type }) => type === 'turn')).toHaveLength(1);
  });

  it('resume stops before it runs a tool if it is stopped at subscription', () => {
    const execute = jest.fn();
    const agent = make({ tools: [pay(execute), look, locate] });
    const run = observe(agent.resume(waitingCheckpoint(), { decisions: { p: { approve: true } }, stop: of(true) }));
    expect(execute).not.toHaveBeenCalled();
    expect(resultOf(run)).toMatchObject({ finishReason: 'stopped', messages: [{}, { parts: [{}, {}, {}] }] });
  });

  it('resume leaves when its signal is aborted', () => {
    const controller = new AbortController();
    const running = new Subject<string>();
    const run = observe(
      make({ tools: [pay(() => running), look, locate] }).resume(waitingCheckpoint(), {
        decisions: { p: { approve: true } },
        signal: controller.signal,
      }),
    );
    controller.abort();
    expect(running.observed).toBe(false);
    expect(run.error).toMatchObject({ name: 'AbortError' });
  });

  it('a run that waits returns the prompts that arrived, and joins those of the resumed run', () => {
    const prompts = new Subject<string>();
    const execute = () => (prompts.next('And you?'), 'seen');
    const asking = tool({ name: 'look', description: 'Looks.', execute });
    const waiting = resultOf(observe(make({ tools: [pay(), asking, locate] }).stream('Pay!', { prompts })));
    expect(waiting).toMatchObject({ finishReason: 'waiting', prompts: [{ parts: [{ text: 'And you?' }] }] });
    const answers = { decisions: { p: { approve: true } }, results: { b: { latitude: 1 } } } as const;
    const resumed = resultOf(observe(make().resume(stored(waiting), { ...answers, prompts: of('And you?') })));
    expect(resumed).toMatchObject({ finishReason: 'stop', turns: 2 });
    expect(resumed.messages.map(({ role }) => role)).toEqual(['model', 'user', 'user', 'model']);
  });

  it('needsApproval may emit details for the person who decides', async () => {
    const details = { preview: 'buy-milk.txt', size: 12 };
    const requests: unknown[] = [];
    const write = tool({
      name: 'write',
      description: 'Writes.',
      needsApproval: () => Promise.resolve(details),
      execute: () => 'written',
    });
    const waiting = { id: 'w', name: 'write', arguments: {}, details };
    const model = () => scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : [toolCall('write', {}, 'w')]));
    const agent = () => createAgent({ model: model(), tools: [write] });
    const events: RunEvent[] = [];
    await agent()
      .stream('Write.')
      .forEach((event) => void events.push(event));
    expect(events).toContainEqual({ type: 'toolWaiting', ...waiting });
    const result = resultOf({ values: events, error: undefined });
    expect(result.waiting).toEqual([waiting]);
    const approve: Approve = ({ id, name, arguments: args, details: shown }) => {
      requests.push({ id, name, arguments: args, details: shown });
      return of({ approve: true });
    };
    // Also after a resume without an answer, and in the run itself.
    await agent()
      .resume(stored(result), { approve })
      .forEach(() => undefined);
    await agent()
      .stream('Write.', { approve })
      .forEach(() => undefined);
    expect(requests).toEqual([waiting, waiting]);
  });

  it('needsApproval, approve and resume receive the context of the run', () => {
    const needsApproval = jest.fn(
      (_args: unknown, { context }: { context: { user: string } }) => context.user === 'ann',
    );
    const approve = jest.fn<Approve>(() => EMPTY);
    const guarded = tool({
      name: 'pay',
      description: 'Pays.',
      needsApproval,
      execute: (_, { context }: { context: { user: string } }) => context.user,
    });
    const model = () => scriptedModel(script);
    const tools = [guarded] as const;
    observe(createAgent({ model: model(), tools, approve }).stream('Pay!', { context: { user: 'ann' } }));
    expect(approve.mock.calls).toMatchObject([[{ context: { user: 'ann' } }]]);
    const agent = createAgent({ model: model(), tools });
    const waiting = resultOf(observe(agent.stream('Pay!', { context: { user: 'ann' } })));
    const decisions = { p: { approve: true } } as const;
    const run = observe(
      createAgent({ model: model(), tools }).resume(stored(waiting), { decisions, context: { user: 'bob' } }),
    );
    expect(run.values.find((event) => event.type === 'toolResult')).toMatchObject({ result: 'bob' });
    // @ts-expect-error -- the tool needs a context
    expect(() => agent.resume(stored(waiting), { decisions })).not.toThrow();
  });

  it.each<[string, object]>([
    ['a result', { results: { p: 'forged' } }],
    ['an error', { errors: { p: 'forged' } }],
  ])('a tool with `execute` that only prepareTurn has waits on, whatever the page writes: %s', (_, answers) => {
    const executed: unknown[] = [];
    const own = pay((args) => executed.push(args));
    const agent = make({ tools: [look, locate], prepareTurn: () => ({ tools: [own, look, locate] }) });
    const run = observe(agent.resume(waitingCheckpoint(), answers));
    expect(resultOf(run).finishReason).toBe('waiting');
    expect(JSON.stringify(run.values)).not.toContain('forged');
    const decided = agent.resume(stored(resultOf(run)), { decisions: { p: { approve: true } } });
    expect(observe(decided).error).toBeUndefined();
    expect(executed).toEqual([{ amount: 5 }]);
  });

  it('prepareTurn changes the tools of a resumed turn', () => {
    const other = pay(({ amount }) => `paid ${amount} elsewhere`);
    const agent = make({ prepareTurn: () => ({ tools: [other, look, locate] }) });
    const run = observe(agent.resume(waitingCheckpoint(), { decisions: { p: { approve: true } } }));
    expect(run.values[1]).toMatchObject({ type: 'toolResult', result: 'paid 5 elsewhere' });
  });
});
