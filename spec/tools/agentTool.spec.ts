import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, from, mergeMap, of, Subject, toArray } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent.js';
import type { AgentOptions } from '../../lib/agent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { RunEvent, StreamEvent } from '../../lib/core/event.js';
import { isNested, isText, isToolResult, isToolUsage, isTurn } from '../../lib/core/eventGuards.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import type { EventsOf, Tool, UserContextOf } from '../../lib/core/tool.js';
import type { Usage } from '../../lib/core/usage.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { tokenBudget, turnCount } from '../../lib/orchestrators/stopWhen.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { cacheTool } from '../../lib/tools/cacheTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { typed } from '../../lib/orchestrators/typed.js';
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
  const ends: readonly (readonly [string, Partial<AgentOptions>, readonly (string | Chunk)[], string])[] = [
    ['maxTurns', { maxTurns: 1 }, [preamble, toolCall('look')], 'maximum number of turns'],
    ['limit', { stopWhen: turnCount(1) }, [preamble, toolCall('look')], 'a limit of its run'],
    ['length', {}, [preamble, { type: 'finish', reason: 'length' }], 'cut off'],
    ['contentFilter', {}, [preamble, { type: 'finish', reason: 'contentFilter' }], 'filter'],
    ['other', {}, [preamble, { type: 'finish', reason: 'other' }], 'other'],
  ];
  it.each(ends)(
    'agentTool does not take a preamble for the answer of an agent that ends with %s',
    (finishReason, options, script, reason) => {
      const agent = createAgent({ tools: [look], ...options, model: scriptedModel([script]) });
      const [result] = resultsOf(observe(callTool(agentTool(agent, described), { prompt: '' })).values);
      expect(result).toMatchObject({ code: 'incomplete', data: { finishReason, text: preamble } });
      expect(result?.error).toContain('The agent "research" ended without an answer: ');
      expect(result?.error).toContain(reason);
      expect(result?.error).toMatch(/It wrote, before that: I look\.$/);
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
