import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { delay, firstValueFrom, map, of, Subject, take, tap, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Agent, AgentOptions, ResumeOptions, RunOptions } from '../../lib/agent/createAgent.js';
import type { Approve, Decision, WaitingCall } from '../../lib/core/approval.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { RunEvent, RunResult, StreamEvent } from '../../lib/core/event.js';
import { isNested, isToolResult } from '../../lib/core/eventGuards.js';
import type { JsonValue } from '../../lib/core/json/json.js';
import type { Model, ModelRequest } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import type { Tool } from '../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Step } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { cacheTool } from '../../lib/tools/cacheTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import { refusalsOf } from '../support/acceptedHistory.js';
import { observe } from '../support/observe.js';

/** What an agent does in a turn. Calls have the same ids in all agents. */
const piece = fc.constantFrom<(id: string) => Step>(
  () => 'I look. ',
  () => ({ delay: 1 }),
  (id) => toolCall('quick', {}, id),
  (id) => toolCall('slow', {}, id),
  (id) => toolCall('pay', { amount: 5 }, id),
  (id) => toolCall('pay', { amount: 500 }, id),
  (id) => toolCall('place', {}, id),
  (id) => toolCall('ask', { prompt: 'You?' }, id),
  (id) => toolCall('ask', { prompt: 'You?' }, id),
);
type Turns = readonly (readonly ((id: string) => Step)[])[];
interface Scenario {
  /** The turns of the agents: the outer one, the one that it asks, and the one that this one asks. */
  readonly levels: readonly [Turns, Turns, Turns];
  readonly concurrency: number;
  readonly eager: boolean;
}
const turnsOf = (maxLength: number) => fc.array(fc.array(piece, { minLength: 1, maxLength: 3 }), { maxLength });
const scenario: fc.Arbitrary<Scenario> = fc.record({
  levels: fc.tuple(turnsOf(2), turnsOf(2), turnsOf(1)),
  concurrency: fc.constantFrom(1, 2, Infinity),
  eager: fc.boolean(),
});

const finish: Step = { type: 'finish', reason: 'stop', usage: { input: 7, output: 2 } };

function answer(turns: Turns, { messages }: ModelRequest): readonly Step[] {
  const own = messages.filter(({ role }) => role === 'model').length;
  const steps = turns[own]?.map((make, index) => make(`c${own}-${index}`)) ?? [];
  const hasCall = steps.some((step) => typeof step === 'object' && 'type' in step && step.type === 'toolCallFragment');
  return hasCall ? [...steps, finish] : ['Done.', finish];
}

/** Small amounts are approved, with another amount. */
const decide = ({ arguments: { amount } }: Pick<WaitingCall, 'arguments'>): Decision =>
  Number(amount) < 100 ? { approve: true, arguments: { amount: 6 } } : { approve: false, reason: 'Too much.' };
const approve: Approve = (request) => of(decide(request)).pipe(delay(3));

interface ProcessOptions {
  /** Collects what is executed. */
  readonly executed: string[];
  /** Whether this process executes `place`. Otherwise it waits for a browser. */
  readonly executesPlace: boolean;
  readonly outer: Partial<AgentOptions>;
}

/** The agents of a process: nothing is shared with another one. */
function makeAgent({ levels, concurrency, eager }: Scenario, options: ProcessOptions): Agent {
  const agent = levels.reduceRight<Agent | undefined>((inner, turns, level) => {
    const log = (name: string) => void options.executed.push(`${level}:${name}`);
    const run = (
      name: string,
      needsApproval: boolean,
      output: (args: { readonly amount?: number | undefined }) => unknown,
    ) =>
      tool({
        name,
        description: '',
        parameters: z.object({ amount: z.number().optional() }),
        needsApproval,
        execute: (args) => (log(name), output(args)),
      });
    const tools = [
      run('quick', false, () => 'done'),
      run('slow', false, () => timer(2).pipe(map(() => 'late'))),
      run('pay', true, ({ amount }) => timer(1).pipe(map(() => `paid ${amount}`))),
      options.executesPlace
        ? run('place', false, () => 'Oslo')
        : tool({ name: 'place', description: '', parameters: z.object({}), result: z.string() }),
      ...(inner ? [agentTool(inner, { name: 'ask', description: '' })] : []),
    ];
    const model = scriptedModel((request) => answer(turns, request));
    const outer = level === 0 ? options.outer : {};
    return createAgent({ model, tools, eagerTools: eager, toolConcurrency: concurrency, ...outer });
  }, undefined);
  if (!agent) throw new Error('There is no level.');
  return agent;
}

interface Played {
  readonly events: readonly RunEvent[];
  readonly executed: readonly string[];
}
type Start = (agent: Agent, options: RunOptions) => Observable<StreamEvent>;

const stream: Start = (agent, options) => agent.stream('Hi', options);
/** Resumes a checkpoint that was stored as JSON. */
const resuming =
  (checkpoint: Checkpoint, answers: ResumeOptions = {}): Start =>
  (agent, options) =>
    agent.resume(JSON.parse(JSON.stringify(checkpoint)) as Checkpoint, { ...options, ...answers });

/** Plays a run in virtual time in a process of its own, up to `count` events. */
function play(played: Scenario, start: Start, options: Partial<ProcessOptions>, count = Infinity): Played {
  return new TestScheduler(() => undefined).run(({ flush }) => {
    const executed: string[] = [];
    const events: RunEvent[] = [];
    let failure: unknown;
    start(makeAgent(played, { executesPlace: false, outer: {}, ...options, executed }), { checkpoints: true })
      .pipe(take(count))
      .subscribe({ next: (event) => events.push(event as RunEvent), error: (error: unknown) => (failure = error) });
    flush();
    expect(failure).toBeUndefined();
    return { events, executed };
  });
}

const resultOf = ({ events }: Pick<Played, 'events'>): RunResult => {
  const last = events.at(-1);
  if (last?.type !== 'result') throw new Error('The run has no result.');
  return last.result;
};
const checkpointOf = (event: RunEvent | undefined): Checkpoint | undefined =>
  event && 'checkpoint' in event ? event.checkpoint : undefined;

const answersTo = (waiting: readonly WaitingCall[]): ResumeOptions => ({
  decisions: Object.fromEntries(waiting.filter(({ name }) => name === 'pay').map((call) => [call.id, decide(call)])),
  results: Object.fromEntries(waiting.filter(({ name }) => name === 'place').map(({ id }) => [id, 'Oslo'])),
});

/** Plays a run that waits, and resumes it in other processes until it has ended. */
function playWaiting(played: Scenario, choose: (waiting: readonly WaitingCall[]) => readonly WaitingCall[]): Played[] {
  const parts = [play(played, stream, {})];
  for (let last = parts[0]; last && resultOf(last).finishReason === 'waiting'; last = parts.at(-1)) {
    const { waiting = [], checkpoint } = resultOf(last);
    expect(new Set(waiting.map(({ id }) => id)).size).toBe(waiting.length);
    if (!checkpoint || parts.length > 200) throw new Error('The run does not end.');
    parts.push(play(played, resuming(checkpoint, answersTo(choose(waiting))), {}));
  }
  return parts;
}

/** The events without checkpoints. */
const contentOf = (parts: readonly Played[]) =>
  parts
    .flatMap(({ events }) => events)
    .filter((event) => event.type !== 'checkpoint' && !(event.type === 'result' && event.result.waiting))
    .map((event) => (event.type === 'turn' ? { ...event, checkpoint: undefined } : event));

describe('a run with two levels of sub-agents', () => {
  it('ends like an undisturbed run if it waits, and is resumed in other processes', () => {
    fc.assert(
      fc.property(scenario, fc.boolean(), (played, oneByOne) => {
        const undisturbed = play(played, stream, { executesPlace: true, outer: { approve } });
        const parts = playWaiting(played, (waiting) => (oneByOne ? waiting.slice(0, 1) : waiting));
        expect(resultOf(parts.at(-1) ?? undisturbed)).toEqual(resultOf(undisturbed));
        const executed = undisturbed.executed.filter((call) => !call.endsWith('place'));
        expect(parts.flatMap((part) => part.executed).sort()).toEqual([...executed].sort());
        expect(refusalsOf(resultOf(undisturbed).messages, [])).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it('emits the events of an undisturbed run if it has one call at a time', () => {
    const ask = (id: string) => toolCall('ask', { prompt: '' }, id);
    const pay = (id: string) => toolCall('pay', { amount: 5 }, id);
    const turn = (...pieces: readonly ((id: string) => Step)[]) => pieces;
    const text = () => 'I look. ';
    const played: Scenario = {
      levels: [
        [turn(text, ask), turn(pay)],
        [turn(pay), turn(text, ask)],
        [turn(text, pay), turn(pay)],
      ],
      concurrency: 1,
      eager: false,
    };
    const slow: Approve = (request) => of(decide(request)).pipe(delay(100));
    const undisturbed = play(played, stream, { outer: { approve: slow } });
    const parts = playWaiting(played, (waiting) => waiting);
    expect(parts).toHaveLength(5);
    expect(contentOf(parts)).toEqual(contentOf([undisturbed]));
  });

  it('ends like an undisturbed run after a kill at a checkpoint, and repeats no inner call with a result', () => {
    fc.assert(
      fc.property(scenario, fc.integer({ min: 0, max: 9 }), (played, offset) => {
        const options = { executesPlace: true, outer: { approve } };
        const undisturbed = play(played, stream, options);
        const counts = undisturbed.events.flatMap((event, index) => (checkpointOf(event) ? [index + 1] : []));
        const step = Math.max(1, Math.floor(counts.length / 10));
        for (const count of counts.filter((_, index) => index % step === offset % step)) {
          const killed = play(played, stream, options, count);
          // The last event is a checkpoint: everything that was executed before is in it.
          const checkpoint = checkpointOf(killed.events.at(-1));
          if (!checkpoint) throw new Error('There is no checkpoint.');
          const resumed = play(played, resuming(checkpoint), options);
          expect(resultOf(resumed)).toEqual(resultOf(undisturbed));
          // An eager call that has ended before its model is in no checkpoint yet: it is executed again.
          if (played.eager) continue;
          const begun = [...killed.executed, ...resumed.executed];
          for (const name of ['quick', 'place'])
            expect(begun.filter((call) => call.endsWith(name)).sort()).toEqual(
              undisturbed.executed.filter((call) => call.endsWith(name)).sort(),
            );
        }
      }),
      { numRuns: 15 },
    );
  });
});

const remove = tool({
  name: 'remove',
  description: '',
  parameters: z.object({ path: z.string() }),
  needsApproval: true,
  execute: ({ path }) => `removed ${path}`,
});
const position = tool({ name: 'position', description: '', result: z.object({ x: z.number() }) });
const described = { name: 'ask', description: '' } as const;
const asks = toolCall('ask', { prompt: 'Please.' }, 'a');

/** Three agents, of which the last one does what the script says. Each call makes new ones. */
function nestedAgents(script: readonly Step[], outer: Partial<AgentOptions> = {}, wrap = (asked: Tool) => asked) {
  const byTurn = (first: readonly Step[], then: string) =>
    scriptedModel(({ messages }) => (messages.some(({ role }) => role === 'model') ? [then] : first));
  const inner = createAgent({ model: byTurn(script, 'Removed.'), tools: [remove, position] });
  const middle = createAgent({
    model: byTurn(['I ask. ', asks], 'It says so.'),
    tools: [wrap(agentTool(inner, described))],
  });
  return createAgent({
    model: byTurn([asks], 'All done.'),
    tools: [wrap(agentTool(middle, described))],
    ...outer,
  });
}
const removes = toolCall('remove', { path: '/a' }, 'a');
const waitingRun = async (script: readonly Step[]) => {
  const { checkpoint, waiting } = await firstValueFrom(nestedAgents(script).run('Hi'));
  if (!checkpoint) throw new Error('The run does not wait.');
  return { checkpoint: JSON.parse(JSON.stringify(checkpoint)) as Checkpoint, waiting };
};

/** The events of the inner runs. */
const nestedIn = (events: readonly StreamEvent[]): readonly StreamEvent[] =>
  events.filter(isNested).map(({ event }) => event);

describe('an inner call that waits', () => {
  it.each(['a/r', 'a/r/r'])('is not approved with a call of the outer run that the model names %s', async (id) => {
    const executed: string[] = [];
    const careful = (name: string) =>
      tool({ name, description: '', needsApproval: true, execute: () => (executed.push(name), 1) });
    const byTurn = (...first: readonly Step[]) =>
      scriptedModel(({ messages }) => (messages.some(({ role }) => role === 'model') ? ['Done.'] : first));
    const inner = createAgent({ model: byTurn(toolCall('remove', {}, 'r')), tools: [careful('remove')] });
    const middle = createAgent({
      model: byTurn(toolCall('ask', { prompt: 'Please.' }, 'r'), toolCall('remove', {}, 'x')),
      tools: [agentTool(inner, described), careful('remove')],
      toolConcurrency: Infinity,
    });
    const agent = createAgent({
      model: byTurn(toolCall('show', {}, id), toolCall('ask', { prompt: 'Please.' }, 'a')),
      tools: [agentTool(id === 'a/r' ? inner : middle, described), careful('show')],
      toolConcurrency: Infinity,
    });
    const { checkpoint, waiting = [] } = await firstValueFrom(agent.run('Hi'));
    expect(new Set(waiting.map((call) => call.id)).size).toBe(waiting.length);
    const [shown] = waiting.filter(({ name }) => name === 'show').map((call) => call.id);
    const decisions = { [shown ?? '']: { approve: true } };
    await firstValueFrom(agent.resumeRun(checkpoint!, { decisions }));
    expect(executed).toEqual(['show']);
  });

  it('is a waiting call of the outer run, with its path', async () => {
    const run = observe(nestedAgents([removes]).stream('Hi'));
    const last = run.values.at(-1);
    const waiting = [{ id: 'a/a/a', path: ['a', 'a', 'a'], name: 'remove', arguments: { path: '/a' } }];
    expect(last).toMatchObject({ type: 'result', result: { finishReason: 'waiting', waiting } });
    expect(run.values.filter(isNested).at(-1)).toEqual({
      type: 'nested',
      id: 'a',
      name: 'ask',
      event: {
        type: 'nested',
        id: 'a',
        name: 'ask',
        event: { type: 'toolWaiting', id: 'a', name: 'remove', arguments: { path: '/a' } },
      },
    });
    const { checkpoint } = await waitingRun([removes]);
    expect(checkpoint.open).toMatchObject({ waiting, nested: { a: { open: { nested: { a: { version: 1 } } } } } });
  });

  it('is answered by its id', async () => {
    const { checkpoint } = await waitingRun([removes, toolCall('position', {}, 'b')]);
    const answers = { decisions: { 'a/a/a': { approve: true } }, results: { 'a/a/b': { x: 1 } } } as const;
    const { values } = observe(nestedAgents([removes]).resume(checkpoint, answers));
    const inner = nestedIn(nestedIn(values));
    expect(inner.filter(isToolResult)).toMatchObject([
      { id: 'a', result: 'removed /a' },
      { id: 'b', result: { x: 1 } },
    ]);
    expect(values.at(-1)).toMatchObject({ result: { finishReason: 'stop', text: 'All done.' } });
  });

  it('waits in tools of tools, too', async () => {
    const wrap = (asked: Tool) => retryTool(cacheTool(asked));
    const { checkpoint } = await firstValueFrom(nestedAgents([removes], {}, wrap).run('Hi'));
    if (!checkpoint) throw new Error('The run does not wait.');
    const decisions: Record<string, Decision> = { 'a/a/a': { approve: true } };
    const result = await firstValueFrom(nestedAgents([removes], {}, wrap).resumeRun(checkpoint, { decisions }));
    expect(result).toMatchObject({ finishReason: 'stop', text: 'All done.' });
  });

  it('is decided by `approve` of its own agent, or else of the outer run, which receives its path', async () => {
    const asked: unknown[] = [];
    const outer: Approve = ({ id, path, name }) => (asked.push({ id, path, name }), of({ approve: true }));
    const result = await firstValueFrom(nestedAgents([removes], { approve: outer }).run('Hi'));
    expect(result).toMatchObject({ finishReason: 'stop', text: 'All done.' });
    expect(asked).toEqual([{ id: 'a/a/a', path: ['a', 'a', 'a'], name: 'remove' }]);

    const denies: Approve = () => of({ approve: false });
    const inner = createAgent({ model: scriptedModel([[removes], 'No.']), tools: [remove], approve: denies });
    const agent = createAgent({
      model: scriptedModel([[asks], 'Done.']),
      tools: [agentTool(inner, described)],
      approve: outer,
    });
    const events = nestedIn(observe(agent.stream('Hi')).values);
    expect(events.filter(isToolResult)).toMatchObject([{ code: 'denied' }]);
    expect(asked).toHaveLength(1);
  });

  const wrong: readonly (readonly [string, ResumeOptions, string])[] = [
    ['an unknown id', { decisions: { a: { approve: true } } }, 'No call with the id "a" waits.'],
    ['no decision', { decisions: { 'a/a/a': 'yes' as never } }, 'The value for the call "a/a/a" is not a decision.'],
    ['a decision about a tool of the browser', { decisions: { 'a/a/b': { approve: true } } }, 'has no `execute`'],
    ['a result that is not valid', { results: { 'a/a/b': { x: 'far' } } }, 'does not match its schema'],
    ['a result of a tool that executes', { results: { 'a/a/a': 1 } }, 'has `execute`'],
    ['no text as an error', { errors: { 'a/a/b': 1 as never } }, 'is not a text'],
  ];
  it.each(wrong)('is not executed with %s', async (_, answers, message) => {
    const { checkpoint } = await waitingRun([removes, toolCall('position', {}, 'b')]);
    const { values, error } = observe(nestedAgents([removes]).resume(checkpoint, answers));
    expect(values).toEqual([]);
    expect(error).toMatchObject({ code: 'configuration', message: expect.stringContaining(message) });
  });

  it('is not resumed from an inner checkpoint that is incomplete, or of another orchestrator', async () => {
    const { checkpoint } = await waitingRun([removes]);
    const change = (inner: JsonValue) => ({ ...checkpoint, open: { ...checkpoint.open, nested: { a: inner } } });
    const failures = [{ version: 1 }, { ...checkpoint, orchestrator: 'twoPhase' }].map(
      (inner) => observe(nestedAgents([removes]).resume(change(inner as JsonValue) as never)).error,
    );
    expect(failures).toMatchObject([{ subject: 'checkpoint' }, { message: expect.stringContaining('"twoPhase"') }]);
  });

  it('makes the call fail if the agent cannot be resumed', () => {
    const inner = createAgent({ model: scriptedModel([[removes]]), tools: [remove] });
    const asked = agentTool({ stream: inner.stream.bind(inner), run: inner.run.bind(inner) }, described);
    const agent = createAgent({ model: scriptedModel([[asks], 'Done.']), tools: [asked] });
    expect(observe(agent.stream('Hi')).values.filter(isToolResult)).toMatchObject([
      { id: 'a', code: 'incomplete', data: { finishReason: 'waiting', text: '' } },
    ]);
  });

  it('is cancelled if its run is stopped while another call runs', () => {
    const slow = tool({ name: 'slow', description: '', execute: () => new Subject<string>() });
    const inner = createAgent({ model: scriptedModel([['I remove. ', removes]]), tools: [remove] });
    const agent = createAgent({
      model: scriptedModel([[asks, toolCall('slow', {}, 'b')]]),
      tools: [agentTool(inner, described), slow],
    });
    const stop = new Subject<void>();
    const run = observe(agent.stream('Hi', { stop }));
    stop.next();
    expect(run.values.filter(isToolResult)).toMatchObject([
      { id: 'a', code: 'cancelled' },
      { id: 'b', code: 'cancelled' },
    ]);
    expect(run.values.at(-1)).toMatchObject({ result: { finishReason: 'stopped' } });
  });
});

describe('a stop of a run with sub-agents', () => {
  it('ends the inner runs with what they have, and counts what they used', () => {
    const chunks = new Subject<Chunk>();
    const model: Model = { provider: 'test', name: 'test', stream: () => chunks };
    const inner = createAgent({ model });
    const asking = (asked: Tool, total: number) =>
      createAgent({
        model: scriptedModel([['I ask. ', asks, { type: 'finish', reason: 'toolCalls', usage: { total } }]]),
        tools: [asked],
      });
    const middle = asking(agentTool(inner, described), 10);
    const outer = asking(agentTool(middle, described), 100);
    const stop = new Subject<void>();
    const run = observe(outer.stream('Hi', { stop }));
    chunks.next({ type: 'text', text: 'So far' });
    stop.next();
    expect(chunks.observed).toBe(false);
    expect(run.completed).toBe(true);
    const [result] = run.values.filter(isToolResult);
    expect(result).toMatchObject({ code: 'cancelled', data: { finishReason: 'stopped', text: 'I ask. ' } });
    expect(run.values.at(-1)).toMatchObject({ result: { finishReason: 'stopped', usage: { total: 110 } } });
    const events = nestedIn(run.values);
    const results = [...nestedIn(events), ...events].filter(({ type }) => type === 'result');
    expect(results).toMatchObject([
      { result: { finishReason: 'stopped', text: 'So far' } },
      { result: { finishReason: 'stopped', text: 'I ask. ' } },
    ]);
  });
});

describe('a cancelled call of a run with sub-agents', () => {
  const endless = tool({ name: 'endless', description: '', execute: () => new Subject<string>() });
  const askingFor = (asked: Tool) =>
    createAgent({
      model: scriptedModel([[toolCall(asked.name, { prompt: 'You?' }, 'c1')], ['Done.']]),
      tools: [asked],
    });

  it('is the call of the innermost run that its path names; all runs continue', () => {
    const middle = askingFor(agentTool(askingFor(endless), described));
    const cancel = new Subject<string>();
    const { values } = observe(askingFor(agentTool(middle, described)).stream('Hi', { cancel }));
    cancel.next('c1/c1/c1');
    const results = [...nestedIn(nestedIn(values)), ...nestedIn(values), ...values].filter(isToolResult);
    expect(results).toMatchObject([{ code: 'cancelled' }, { result: 'Done.' }, { result: 'Done.' }]);
    expect(values.at(-1)).toMatchObject({ result: { text: 'Done.', finishReason: 'stop' } });
  });

  it('is the whole sub-agent if its id is that of the outer call', () => {
    const cancel = new Subject<string>();
    const { values } = observe(askingFor(agentTool(askingFor(endless), described)).stream('Hi', { cancel }));
    cancel.next('c1');
    expect(values.filter(isToolResult)).toMatchObject([{ code: 'cancelled', data: { finishReason: 'stopped' } }]);
    expect(values.at(-1)).toMatchObject({ result: { text: 'Done.', finishReason: 'stop' } });
  });

  it('is answered if the handler of its toolStart cancels it, within a synchronous run', () => {
    const cancel = new Subject<string>();
    const run = askingFor(endless).stream('Hi', { cancel });
    const { values } = observe(run.pipe(tap((event) => event.type === 'toolStart' && cancel.next(event.id))));
    expect(values.filter(isToolResult)).toMatchObject([{ code: 'cancelled' }]);
    expect(values.at(-1)).toMatchObject({ result: { text: 'Done.', finishReason: 'stop' } });
  });
});
