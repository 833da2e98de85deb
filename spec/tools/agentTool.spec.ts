import { describe, expect, it, jest } from '@jest/globals';
import { firstValueFrom, from, mergeMap, NEVER, of, Subject, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions } from '../../lib/agent/createAgent.js';
import type { Approve } from '../../lib/core/approval.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import type { Chunk, FinishReason } from '../../lib/core/chunk.js';
import type { RunEvent, StreamEvent } from '../../lib/core/event.js';
import { isNested, isText, isToolResult, isToolUsage, isTurn } from '../../lib/core/eventGuards.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import type { EventsOf, Tool, UserContextOf } from '../../lib/core/tool.js';
import type { Usage } from '../../lib/core/usage.js';
import { setUsageOfError } from '../../lib/core/usageOfError.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { tokenBudget, turnCount } from '../../lib/agent/stopWhen.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import type { AnyAgent } from '../../lib/tools/agentTool.js';
import { cacheTool } from '../../lib/tools/cacheTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { typed } from '../../lib/agent/typed.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { callOf, turnOf } from '../support/toolCalls.js';
import { sameType } from './calls.js';

const described = { name: 'research', description: 'Researches.' } as const;
const finish = (total: number, reason: 'stop' | 'toolCalls' = 'stop'): Chunk => ({
  type: 'finish',
  reason,
  usage: { total },
});
const look = tool({ name: 'look', description: '', execute: () => 'a river' });
const resultsOf = (events: readonly StreamEvent[]) => events.filter(isToolResult);
const callTool = (called: Tool, args = {}) => turnOf(callOf('research', args)).pipe(executeTools([called]));

/** An agent that asks `research`, and then answers. */
const asking = (research: Tool) =>
  createAgent({
    model: scriptedModel([
      [toolCall('research', { prompt: 'Rivers?' }), finish(1000, 'toolCalls')],
      ['It is the Nile.', finish(2000)],
    ]),
    tools: [research],
  });
const researcher = () =>
  createAgent({
    model: scriptedModel([
      ['I look.', toolCall('look'), finish(10, 'toolCalls')],
      ['The', ' Nile.', finish(20)],
    ]),
    tools: [look],
  });

describe('agentTool', () => {
  it('agentTool runs the agent: its text is nested, and its answer the result', () =>
    diagram('agentTool', ({ model }: Streams<'model', Chunk>) => {
      const agent = createAgent({ model: { provider: 'test', name: 'test', stream: () => model } });
      return callTool(agentTool(agent, described), { prompt: 'Capital?' }).pipe(
        mergeMap((event): unknown[] => {
          if (isNested(event)) return isText(event.event) ? [event.event.text] : [];
          if (isToolUsage(event)) return [event.usage];
          return isToolResult(event) ? [event.result] : [];
        }),
      );
    }));

  it('agentTool emits all events of the run as nested events, and answers with the last message', async () => {
    const inner = await firstValueFrom(researcher().stream('Rivers?').pipe(toArray()));
    const outer = await firstValueFrom(asking(agentTool(researcher(), described)).stream('?').pipe(toArray()));
    expect(outer.filter(isNested).map(({ event }) => event)).toEqual(inner);
    expect(resultsOf(outer)).toEqual([{ type: 'toolResult', id: 'call_1_1', name: 'research', result: 'The Nile.' }]);
  });

  it('agentTool adds the usage of the agent to the turn that calls it, to the result, and to budgets', async () => {
    const events = await firstValueFrom(asking(agentTool(researcher(), described)).stream('?').pipe(toArray()));
    expect(events.filter(isToolUsage).map(({ usage }) => usage)).toEqual([{ total: 10 }, { total: 20 }]);
    expect(events.filter(isTurn).map(({ usage }) => usage)).toEqual([{ total: 1030 }, { total: 2000 }]);
    expect(events.at(-1)).toMatchObject({ type: 'result', result: { usage: { total: 3030 } } });

    const model = scriptedModel([[toolCall('research', { prompt: '' }), finish(1000, 'toolCalls')]]);
    const limited = createAgent({ model, tools: [agentTool(researcher(), described)], stopWhen: tokenBudget(1030) });
    expect(await firstValueFrom(limited.run('?'))).toMatchObject({ finishReason: 'limit', usage: { total: 1030 } });
  });

  it('agentTool counts the usage of an agent that an agent asks once', async () => {
    const middle = createAgent({
      model: scriptedModel([
        [toolCall('research', { prompt: '' }), finish(100, 'toolCalls')],
        ['So.', finish(200)],
      ]),
      tools: [agentTool(researcher(), described)],
    });
    const { usage } = await firstValueFrom(asking(agentTool(middle, described)).run('?'));
    expect(usage).toEqual({ total: 3330 });
  });

  const cut = () => {
    const error = new Error('cut');
    setUsageOfError(error, { total: 20 });
    return { error };
  };
  const looks = [toolCall('look'), finish(10, 'toolCalls')];
  const researchWith = (responses: Parameters<typeof scriptedModel>[0], settings = {}) =>
    agentTool(createAgent({ model: scriptedModel(responses), tools: [look], ...settings }), described);
  const usedUntil: Readonly<Record<string, readonly [research: () => Tool, total: number]>> = {
    'an error of its first response': [() => researchWith([[cut()]]), 20],
    'an error of a later response': [() => researchWith([looks, [cut()]]), 30],
    'an error, and an answer of the next execution': [
      () => retryTool(researchWith([looks, [cut()], ['Nile', finish(5)]]), { count: 1, delay: () => of(0) }),
      35,
    ],
    'an error without a usage': [() => researchWith([looks, [{ error: new Error('cut') }]]), 10],
    'an output that is not valid': [
      () => {
        const answers = [
          ['a', finish(10)],
          ['b', finish(20)],
        ];
        return researchWith(answers, { tools: [], output: typed(z.object({ river: z.string() })), maxRepairs: 1 });
      },
      30,
    ],
    'a limit': [() => researchWith([looks], { maxTurns: 1 }), 10],
  };

  it.each(Object.entries(usedUntil))(
    'agentTool counts the usage of an agent that ends with %s',
    async (_, [research, total]) => {
      const { usage } = await firstValueFrom(asking(research()).run('?'));
      expect(usage.total).toBe(3000 + total);
    },
  );

  it('agentTool counts its usage through other tools of tools, and for a cached call once', async () => {
    const research = retryTool(cacheTool(agentTool(researcher(), described)));
    const model = scriptedModel([
      [toolCall('research', { prompt: '' }), finish(1000, 'toolCalls')],
      [toolCall('research', { prompt: '' }), finish(1000, 'toolCalls')],
      ['Done.', finish(1000)],
    ]);
    const { usage } = await firstValueFrom(createAgent({ model, tools: [research] }).run('?'));
    expect(usage).toEqual({ total: 3030 });
  });

  it('agentTool passes the input of `prompt`, and the context of the run', async () => {
    const seen: unknown[] = [];
    const whoami = tool({
      name: 'whoami',
      description: '',
      execute: (_, { context }: { context: { user: string } }) => {
        seen.push(context.user);
        return context.user;
      },
    });
    const model = scriptedModel([[toolCall('whoami')], 'Ann.']);
    const inner = createAgent({ model, tools: [whoami] });
    const research = agentTool(inner, {
      ...described,
      parameters: z.object({ topic: z.string(), depth: z.number().default(2) }),
      prompt: ({ topic, depth }) => [userMessage(`${topic}, ${depth}`)],
    });
    sameType<UserContextOf<typeof research>, { user: string }>(true);
    const outer = createAgent({
      model: scriptedModel([[toolCall('research', { topic: 'Rivers' })], 'Done.']),
      tools: [research],
    });
    await firstValueFrom(outer.run('?', { context: { user: 'ann' } }));
    expect(model.requests[0]?.messages).toEqual([userMessage('Rivers, 2')]);
    expect(seen).toEqual(['ann']);
    const plain = scriptedModel(['Ok.']);
    const asJson = agentTool(createAgent({ model: plain }), { ...described, parameters: z.object({ a: z.number() }) });
    observe(callTool(asJson, { a: 1 }));
    expect(plain.requests[0]?.messages).toEqual([userMessage('{"a":1}')]);
  });

  it('agentTool answers with the typed output of the agent', () => {
    const agent = createAgent({
      model: scriptedModel(['{"city":"Oslo"}']),
      output: typed(z.object({ city: z.string() })),
    });
    const research = agentTool(agent, described);
    sameType<
      Exclude<Extract<EventsOf<typeof research>, { type: 'toolResult' }>['result'], undefined>,
      { city: string }
    >(true);
    expect(resultsOf(observe(callTool(research, { prompt: '' })).values)).toMatchObject([{ result: { city: 'Oslo' } }]);
  });

  it('agentTool unsubscribes the agent when the call is unsubscribed or stopped, and counts its completed turns', () => {
    const chunks = new Subject<Chunk>();
    const streams = [from<Chunk[]>([toolCall('look', {}, 'c1'), finish(10, 'toolCalls')]), chunks];
    const model: Model = { provider: 'test', name: 'test', stream: () => streams.shift() ?? of() };
    const agent = createAgent({ model, tools: [look] });
    const stop = new Subject<void>();
    const run = observe(asking(agentTool(agent, described)).run('?', { stop }));
    expect(chunks.observed).toBe(true);
    stop.next();
    expect(chunks.observed).toBe(false);
    expect(run.values).toMatchObject([{ finishReason: 'stopped', usage: { total: 1010 } }]);
  });

  it('agentTool answers with the message of an error, without the conversation of the agent', async () => {
    const failing = createAgent({
      model: scriptedModel([['My secret thoughts.', toolCall('look')], [{ error: new Error('The line is dead.') }]]),
      tools: [look],
    });
    const events = await firstValueFrom(asking(agentTool(failing, described)).stream('?').pipe(toArray()));
    expect(resultsOf(events)).toEqual([
      { type: 'toolResult', id: 'call_1_1', name: 'research', error: 'The line is dead.', code: 'failed' },
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'result', result: { text: 'It is the Nile.' } });
  });

  const preamble = 'I look.';
  const ending = (reason: FinishReason): Chunk => ({ type: 'finish', reason });
  const ends: readonly (readonly [string, Partial<AgentOptions>, readonly (string | Chunk)[], string])[] = [
    ['maxTurns', { maxTurns: 1 }, [preamble, toolCall('look')], 'it reached its maximum number of turns (maxTurns)'],
    ['limit', { stopWhen: turnCount(1) }, [preamble, toolCall('look')], 'it reached a limit of its run (limit)'],
    ['length', {}, [preamble, ending('length')], 'its answer was cut off at the limit of tokens (length)'],
    [
      'contentFilter',
      {},
      [preamble, ending('contentFilter')],
      "the provider's filter stopped its answer (contentFilter)",
    ],
    ['other', {}, [preamble, ending('other')], 'other'],
  ];
  it.each(ends)(
    'agentTool does not take a preamble for the answer of an agent that ends with %s',
    (finishReason, options, script, reason) => {
      const agent = createAgent({ tools: [look], ...options, model: scriptedModel([script]) });
      const [result] = resultsOf(observe(callTool(agentTool(agent, described), { prompt: '' })).values);
      expect(result).toMatchObject({ code: 'incomplete', data: { finishReason, text: preamble } });
      expect(result?.error).toBe(
        `The agent "research" ended without an answer: ${reason}. It wrote, before that: I look.`,
      );
    },
  );

  it('agentTool answers with an error if the answer of the agent is empty', () => {
    const agent = createAgent({ model: scriptedModel([[]]) });
    expect(resultsOf(observe(callTool(agentTool(agent, described), { prompt: '' })).values)).toMatchObject([
      {
        error: 'The agent "research" ended without an answer: its last message is empty. It wrote nothing.',
        code: 'incomplete',
        data: { finishReason: 'stop', text: '' },
      },
    ]);
  });

  it('agentTool describes itself to the model: by default, its arguments are one required text', () => {
    const model = scriptedModel(['Done.']);
    observe(createAgent({ model, tools: [agentTool(researcher(), described)] }).run('?'));
    expect(model.requests[0]?.tools).toMatchObject([
      {
        ...described,
        parameters: {
          type: 'object',
          properties: {
            prompt: { type: 'string', description: 'The task, with everything that is needed to do it.' },
          },
          required: ['prompt'],
          additionalProperties: false,
        },
      },
    ]);
  });

  it('agentTool answers also a caller other than a run', () => {
    const research = agentTool(researcher(), described);
    const used: Usage[] = [];
    const context = { call: callOf('research'), messages: [], usage: (usage: Usage) => used.push(usage) };
    const output = research.execute?.({ prompt: 'Rivers?' }, context as never) as Observable<unknown>;
    expect(observe(output)).toMatchObject({ values: ['The Nile.'], completed: true });
    expect(used).toEqual([{ total: 10 }, { total: 20 }]);
  });

  it('agentTool reports to a caller other than a run no usage that is not known, and no checkpoint', () => {
    const inner = createAgent({ model: scriptedModel([[toolCall('look')], 'The Nile.']), tools: [look] });
    const agent: AnyAgent = {
      stream: (input, options) => inner.stream(input, { ...(options as object), checkpoints: true }),
      run: (input) => inner.run(input),
      resume: (checkpoint) => inner.resume(checkpoint),
    };
    const usage = jest.fn();
    const answerOf = (agent: AnyAgent) =>
      observe(
        agentTool(agent, described).execute?.({ prompt: '?' }, {
          call: callOf('research'),
          messages: [],
          usage,
        } as never) as Observable<unknown>,
      );
    expect(answerOf(agent)).toMatchObject({ values: ['The Nile.'], completed: true });
    expect(usage).not.toHaveBeenCalled();
    const asks = tool({ name: 'ask', description: '', needsApproval: true, execute: () => 1 });
    const waiting = createAgent({ model: scriptedModel([[toolCall('ask')]]), tools: [asks] });
    expect(answerOf(waiting).error).toMatchObject({ message: expect.stringContaining('waits for a person') });
  });

  it('agentTool answers with an error if the last message of the agent has no text', () => {
    const source: Chunk = { type: 'source', source: { type: 'source', url: 'https://example.org' } };
    const agent = createAgent({ model: scriptedModel([[source]]) });
    expect(resultsOf(observe(callTool(agentTool(agent, described), { prompt: '' })).values)).toMatchObject([
      { error: expect.stringContaining('its last message is empty'), code: 'incomplete' },
    ]);
  });

  it('agentTool takes the last message of the model for the answer, whatever follows it', () => {
    const result = { finishReason: 'stop', messages: [modelMessage('No.'), modelMessage('Yes.'), userMessage('Ok.')] };
    const stream = () => of({ type: 'result', result } as unknown as RunEvent);
    const agent: AnyAgent = { stream, run: () => of() };
    expect(resultsOf(observe(callTool(agentTool(agent, described), { prompt: '' })).values)).toMatchObject([
      { result: 'Yes.' },
    ]);
  });

  it('agentTool types the nested events as the events of the agent, and validates the prompt', () => {
    const research = agentTool(researcher(), described);
    const read = (event: EventsOf<typeof research>) => {
      // @ts-expect-error -- an agent has no progress of its own
      if (event.type === 'toolProgress') return '';
      if (event.type !== 'nested') return '';
      if (event.event.type === 'text') return event.event.text;
      // @ts-expect-error -- checkpoints are not emitted
      if (event.event.type === 'checkpoint') return '';
      return event.event.type === 'toolResult' ? (event.event.result ?? '') : '';
    };
    const text = { type: 'text', text: 'a' } as const;
    expect(read({ type: 'nested', id: '1', name: 'research', event: text })).toBe('a');
    expect(resultsOf(observe(callTool(research, {})).values)).toMatchObject([{ code: 'invalid_arguments' }]);
    const events: RunEvent[] = [{ type: 'message', message: modelMessage('a') }];
    expect(events).toHaveLength(1);
  });
});

describe('agentTool in a run', () => {
  const pay = tool({ name: 'pay', description: '', needsApproval: true, execute: () => 'paid' });
  const endless = tool({ name: 'endless', description: '', execute: () => NEVER });
  const whoami = tool({
    name: 'whoami',
    description: '',
    execute: (_, { context, idempotencyKey }: { context: { user: string }; idempotencyKey: string }) =>
      `${context.user}, ${idempotencyKey}`,
  });
  /** An agent that makes these calls, and then answers. The answer depends on the conversation alone. */
  const calling = (names: readonly string[], options: Partial<AgentOptions> = {}) =>
    createAgent({
      model: scriptedModel(({ messages }) =>
        messages.some(({ role }) => role === 'model')
          ? ['Done.']
          : ['I call. ', ...names.map((name, at) => toolCall(name, { prompt: 'Please.' }, `c${at}`))],
      ),
      ...options,
    });
  const outerOf = (inner: AnyAgent, options: Partial<AgentOptions> = {}) =>
    calling(['research'], { tools: [agentTool(inner, described)], ...options });
  const payer = () => calling(['pay', 'whoami'], { tools: [pay, whoami] });
  const nestedIn = (events: readonly StreamEvent[]) => events.filter(isNested).map(({ event }) => event);
  const context = { user: 'ann' };
  const asStored = (checkpoint: Checkpoint | undefined) => JSON.parse(JSON.stringify(checkpoint)) as Checkpoint;

  it('agentTool lets the outer run wait for its calls, and continues with their answers, and with the context', () => {
    const first = observe(outerOf(payer()).stream('Hi', { context })).values;
    const waiting = [{ id: 'c0/c0', path: ['c0', 'c0'], name: 'pay', arguments: { prompt: 'Please.' } }];
    expect(first.at(-1)).toMatchObject({ type: 'result', result: { finishReason: 'waiting', waiting } });
    expect(resultsOf(first)).toEqual([]);
    expect(nestedIn(first).map(({ type }) => type)).toEqual([
      ...['text', 'toolCall', 'toolCall', 'message', 'toolWaiting', 'toolStart', 'toolResult'],
    ]);
    const last = first.at(-1);
    const checkpoint = last?.type === 'result' ? asStored(last.result.checkpoint) : undefined;
    if (!checkpoint) throw new Error('There is no checkpoint.');
    const decisions = { 'c0/c0': { approve: true } } as const;
    const second = observe(outerOf(payer()).resume(checkpoint, { decisions, context })).values;
    expect(resultsOf(nestedIn(second))).toMatchObject([{ id: 'c0', result: 'paid' }]);
    expect(nestedIn(second).at(-1)).toMatchObject({ type: 'result', result: { finishReason: 'stop' } });
    expect(resultsOf(second)).toMatchObject([{ id: 'c0', result: 'Done.' }]);
  });

  it('agentTool asks `approve` of the outer run, with the path of the call', () => {
    const asked: unknown[] = [];
    const approve: Approve = ({ id, path, name }) => (asked.push({ id, path, name }), of({ approve: true }));
    const { values } = observe(outerOf(payer(), { approve }).stream('Hi', { context }));
    expect(asked).toEqual([{ id: 'c0/c0', path: ['c0', 'c0'], name: 'pay' }]);
    expect(resultsOf(values)).toMatchObject([{ result: 'Done.' }]);
  });

  it('agentTool gives the calls of the agent ids that belong to the run and the call', () => {
    const agent = outerOf(calling(['whoami'], { tools: [whoami] }));
    const keys = ['r1', 'r1', 'r2'].map((runId) => {
      const [result] = resultsOf(nestedIn(observe(agent.stream('Hi', { context, runId })).values));
      return result?.result;
    });
    expect(keys[0]).toMatch(/^ann, r1\./);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).not.toBe(keys[0]);
  });

  it('agentTool keeps the checkpoints of the agent in those of the outer run, and emits none of them', () => {
    const { values } = observe(outerOf(researcher()).stream('Hi', { checkpoints: true }));
    expect(JSON.stringify(nestedIn(values))).not.toContain('checkpoint');
    expect(nestedIn(values).filter(isTurn)).toHaveLength(2);
    const nested = values.flatMap((event) => (event.type === 'checkpoint' ? [event.checkpoint.open?.nested] : []));
    expect(nested).toContainEqual({ c0: expect.objectContaining({ state: expect.anything() }) });
    const kept = values.flatMap((event) => (event.type === 'checkpoint' ? [event.checkpoint] : []));
    const inside = kept.find(({ open }) => open?.nested?.['c0']?.state.turn === 1);
    const resumed = observe(outerOf(researcher()).resume(asStored(inside))).values;
    expect(resumed.at(-1)).toMatchObject({ result: { finishReason: 'stop' } });
  });

  it('agentTool emits no checkpoint and keeps none if the outer run has none', () => {
    const { values } = observe(outerOf(researcher()).stream('Hi'));
    expect(JSON.stringify(values)).not.toContain('checkpoint');
  });

  it('agentTool runs an agent that has no checkpoints in a run that has them', () => {
    const inner = researcher();
    const agent: AnyAgent = { stream: (input) => inner.stream(input), run: (input) => inner.run(input) };
    const { values } = observe(outerOf(agent).stream('Hi', { checkpoints: true }));
    expect(resultsOf(values)).toMatchObject([{ id: 'c0', result: 'The Nile.' }]);
    expect(values.at(-1)).toMatchObject({ type: 'result', result: { finishReason: 'stop' } });
  });

  it('agentTool cancels the call of the agent that an id names, and no other', () => {
    const inner = calling(['endless', 'endless'], { tools: [endless], toolConcurrency: 2 });
    const outer = calling(['research', 'research'], { tools: [agentTool(inner, described)], toolConcurrency: 2 });
    const cancel = new Subject<string>();
    const { values } = observe(outer.stream('Hi', { cancel }));
    const cancelled = () =>
      values.flatMap((event) =>
        isNested(event) && isToolResult(event.event) ? [`${event.id}/${event.event.id}`] : [],
      );
    cancel.next('c0/c1');
    expect(cancelled()).toEqual(['c0/c1']);
    cancel.next('c1/c0');
    cancel.next('c1/c1');
    expect(resultsOf(values)).toMatchObject([{ id: 'c1', result: 'Done.' }]);
    cancel.next('c0');
    expect(resultsOf(values)).toMatchObject([{ id: 'c1' }, { id: 'c0', code: 'cancelled' }]);
    expect(values.at(-1)).toMatchObject({ result: { finishReason: 'stop' } });
  });

  it('agentTool answers with what a stopped agent had written', () => {
    const stop = new Subject<void>();
    const { values } = observe(outerOf(calling(['endless'], { tools: [endless] })).stream('Hi', { stop }));
    stop.next();
    expect(resultsOf(values)).toMatchObject([
      {
        code: 'cancelled',
        error: 'The agent "research" ended without an answer: it was stopped. It wrote, before that: I call. ',
        data: { finishReason: 'stopped', text: 'I call. ' },
      },
    ]);
  });

  it('agentTool stops an attempt of retryTool that starts after the stop', () => {
    const retry = new Subject<void>();
    const model = scriptedModel([[{ error: new Error('broken') }], 'never']);
    const research = retryTool(agentTool(createAgent({ model }), described), { delay: () => retry });
    const stop = new Subject<void>();
    const run = observe(calling(['research'], { tools: [research] }).stream('Hi', { stop }));
    stop.next();
    retry.next();
    expect(run.completed).toBe(true);
    expect(model.requests).toHaveLength(1);
    expect(run.values.at(-1)).toMatchObject({ result: { finishReason: 'stopped' } });
  });

  it('agentTool says that a call waits if the agent cannot be resumed', () => {
    const inner = calling(['pay'], { tools: [pay] });
    const agent: AnyAgent = { stream: inner.stream.bind(inner), run: inner.run.bind(inner) };
    const { values } = observe(outerOf(agent).stream('Hi'));
    const waits = 'one of its tool calls waits for a person or a browser, which cannot answer here';
    expect(resultsOf(values)).toMatchObject([
      {
        code: 'incomplete',
        error: `The agent "research" ended without an answer: ${waits}. It wrote, before that: I call. `,
        data: { finishReason: 'waiting', text: 'I call. ' },
      },
    ]);
    expect(nestedIn(values).at(-1)).toMatchObject({ type: 'result', result: { finishReason: 'waiting' } });
  });
});

describe('context.usage', () => {
  it('a tool adds tokens that it has used itself, also if it fails', async () => {
    const spend = (usage: Usage, fails: boolean) =>
      tool({
        name: 'research',
        description: '',
        execute: (_, context) => {
          context.usage(usage);
          if (fails) throw new Error('broken');
          return 1;
        },
      });
    for (const fails of [false, true]) {
      const { usage } = await firstValueFrom(asking(spend({ input: 1, total: 7 }, fails)).run('?'));
      expect(usage).toEqual({ input: 1, total: 3007 });
    }
  });
});
