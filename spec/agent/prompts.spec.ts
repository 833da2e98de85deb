import { describe, expect, it } from '@jest/globals';
import { EMPTY, NEVER, Observable, Subject, concat, of, throwError, using } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions, RunOptions } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { ProviderError } from '../../lib/core/errors.js';
import type { RunEvent, RunResult } from '../../lib/core/event.js';
import { failedRunOf } from '../../lib/core/failedRun.js';
import { repairHistory } from '../../lib/core/history.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import { toolLoop } from '../../lib/agent/toolLoop.js';
import { turnCount } from '../../lib/agent/stopWhen.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { typed } from '../../lib/agent/typed.js';
import { diagram } from '../support/diagram.js';
import { nextTask } from '../support/toolCalls.js';
import { observe } from '../support/observe.js';

const look = tool({ name: 'look', description: '', execute: () => 'rain' });
const text = (content: string): Chunk => ({ type: 'text', text: content });
const finish: Chunk = { type: 'finish', reason: 'stop' };

/** Runs an agent; `when` sees each event and may push prompts. */
function steered(
  options: AgentOptions,
  when: (event: RunEvent, push: (prompt: string) => void) => void,
  more: Omit<RunOptions, 'fragments'> = {},
) {
  const prompts = new Subject<string>();
  const events: RunEvent[] = [];
  let error: unknown;
  createAgent(options)
    .stream('Hi', { prompts, ...more })
    .subscribe({
      next(event) {
        events.push(event);
        when(event, (prompt) => prompts.next(prompt));
      },
      error: (thrown: unknown) => (error = thrown),
    });
  const last = events.at(-1);
  return { events, error, prompts, result: last?.type === 'result' ? last.result : undefined };
}

/** Pushes prompts once each, at the n-th event of a type. */
const at = (type: RunEvent['type'], ...pushed: string[]) => {
  let isDone = false;
  return (event: RunEvent, push: (prompt: string) => void) => {
    if (event.type !== type || isDone) return;
    isDone = true;
    pushed.forEach(push);
  };
};

const types = (events: readonly RunEvent[]) => events.map(({ type }) => type);
const isValid = (result: RunResult | undefined) => {
  const history = [userMessage('Hi'), ...(result?.messages ?? [])];
  return repairHistory(history).length > 0;
};

describe('prompts that join at the next turn', () => {
  it('join at the end of the turn in which they arrive, as in their diagram', () =>
    diagram(
      'createAgent.prompts',
      ({ turn1, turn2, prompts$ }: Streams<'turn1' | 'turn2', Chunk> & Streams<'prompts$', string>) =>
        createAgent({ model: scriptedModel([turn1, turn2]) }).stream('Hi', { prompts: prompts$ }),
    ));

  it('join after the results of the tools, as a message before the turn event', () => {
    const model = scriptedModel([[toolCall('look')], 'Rain.']);
    const { events, result } = steered({ model, tools: [look] }, at('toolStart', 'In Oslo?', 'Today?'));
    expect(types(events).slice(0, 7)).toEqual([
      'toolCall',
      'message',
      'toolStart',
      'toolResult',
      'message',
      'message',
      'message',
    ]);
    expect(events[5]).toEqual({ type: 'message', message: userMessage('In Oslo?') });
    expect(events[7]).toMatchObject({ type: 'turn', turn: 1, finishReason: 'toolCalls' });
    expect(model.requests[1]?.messages.slice(-2)).toEqual([userMessage('In Oslo?'), userMessage('Today?')]);
    expect(result?.messages).toHaveLength(5);
    expect(isValid(result)).toBe(true);
  });

  it('continue a run that would end', () => {
    const model = scriptedModel(['Hello.', 'Rain.']);
    const { events, result } = steered({ model }, at('text', 'And the weather?'));
    expect(types(events)).toEqual(['text', 'message', 'message', 'turn', 'text', 'message', 'turn', 'result']);
    expect(result).toMatchObject({
      text: 'Hello.\nRain.',
      turns: 2,
      messages: [modelMessage('Hello.'), userMessage('And the weather?'), modelMessage('Rain.')],
    });
    expect(result).not.toHaveProperty('prompts');
  });

  it('join also if they arrive at subscription, or while another joins', () => {
    const model = scriptedModel(() => 'Hello.');
    const agent = createAgent({ model });
    expect(observe(agent.run('Hi', { prompts: of('a', [userMessage('b')], userMessage('c')) })).values).toMatchObject([
      { turns: 2, messages: [{}, userMessage('a'), userMessage('b'), userMessage('c'), {}] },
    ]);
    let joined = 0;
    const { result } = steered({ model }, (event, push) => {
      if (event.type === 'text' && joined === 0) push('first');
      if (event.type === 'message' && event.message.role === 'user' && ++joined === 1) push('second');
    });
    expect(result?.messages.filter(({ role }) => role === 'user')).toEqual([
      userMessage('first'),
      userMessage('second'),
    ]);
  });

  it('are returned with the result if they arrive after the last turn', () => {
    const { result, prompts } = steered({ model: scriptedModel(['Hello.']) }, at('turn', 'too late'));
    expect(result).toMatchObject({ turns: 1, prompts: [userMessage('too late')] });
    expect(prompts.observed).toBe(false);
  });

  it('are part of the history at maxTurns and at another limit', () => {
    const model = scriptedModel(() => 'Hello.');
    const last = steered({ model, maxTurns: 1 }, at('text', 'more'));
    expect(last.result).toMatchObject({ finishReason: 'maxTurns', messages: [{}, userMessage('more')] });
    const limited = steered({ model, stopWhen: turnCount(1) }, at('text', 'more'));
    expect(limited.result).toMatchObject({ finishReason: 'limit', messages: [{}, userMessage('more')] });
  });

  it('are part of the history of a run that is stopped', () => {
    const stop = new Subject<void>();
    const model = scriptedModel([concat(of(text('Hel')), NEVER)]);
    const { result } = steered(
      { model },
      ({ type }, push) => {
        if (type !== 'text') return;
        push('more');
        stop.next();
      },
      { stop },
    );
    expect(result).toMatchObject({
      finishReason: 'stopped',
      turns: 1,
      messages: [modelMessage('Hel'), userMessage('more')],
    });
  });

  it('are returned by failedRunOf if the run fails before they join', () => {
    const failure = new ProviderError('scripted', 'Busy.', { retryable: true });
    const { error } = steered({ model: scriptedModel([['Hel', { error: failure }]]) }, at('text', 'more'));
    expect(failedRunOf(error)).toMatchObject({ partialText: 'Hel', prompts: [userMessage('more')] });
  });

  it('are returned with the result of a run that waits for a call', () => {
    const external = tool({ name: 'external', description: '' });
    const model = scriptedModel([[toolCall('external')]]);
    const { result } = steered({ model, tools: [external] }, at('toolCall', 'more'));
    expect(result).toMatchObject({ finishReason: 'waiting', prompts: [userMessage('more')] });
  });

  it('are not lost by a retract', () => {
    const chunks = of<Chunk[]>(text('void'), { type: 'retract' }, text('Hello.'), finish);
    const { result } = steered({ model: scriptedModel([chunks, 'Yes.']) }, at('text', 'more'));
    expect(result?.messages).toEqual([modelMessage('Hello.'), userMessage('more'), modelMessage('Yes.')]);
  });

  it('ask for a typed output again, with new attempts to repair it', () => {
    const model = scriptedModel(['{"a":"1"}', '{"a":1}', '{"a":"2"}', '{"a":2}']);
    const seen: (RunEvent & { readonly output?: unknown })[] = [];
    let messages = 0;
    const { result } = steered({ model, output: typed(z.object({ a: z.number() })), maxRepairs: 1 }, (event, push) => {
      seen.push(event);
      if (event.type === 'message' && ++messages === 3) push('And the next one?');
    });
    expect(result).toMatchObject({ output: { a: 2 }, turns: 4 });
    expect(seen.filter((event) => event.type === 'turn' && event.output !== undefined)).toHaveLength(1);
  });

  it('start the next turn of an ended run with an empty memo, as a new run does', () => {
    const memos: unknown[] = [];
    const orchestrator = {
      name: 'own',
      turn: (...[state, context]: Parameters<typeof toolLoop.turn>) => {
        memos.push(state.memo);
        return toolLoop.turn({ ...state, memo: { mine: 1 } }, context);
      },
    };
    const model = scriptedModel([[toolCall('look')], 'Rain.', 'Yes.']);
    let texts = 0;
    steered({ model, tools: [look], orchestrator }, (event, push) => {
      if (event.type === 'text' && ++texts === 1) push('more');
    });
    expect(memos).toEqual([undefined, { mine: 1 }, undefined]);
  });

  it('keep the memo of a turn after which another one follows anyway', () => {
    const memos: unknown[] = [];
    const orchestrator = {
      name: 'own',
      turn: (...[state, context]: Parameters<typeof toolLoop.turn>) => {
        memos.push(state.memo);
        return toolLoop.turn({ ...state, memo: { mine: state.turn } }, context);
      },
    };
    const model = scriptedModel([[toolCall('look')], 'Rain.']);
    steered({ model, tools: [look], orchestrator }, at('toolStart', 'Today?'));
    expect(memos).toEqual([undefined, { mine: 0 }]);
  });

  it('fail the run with an error of their source, and may complete', () => {
    const failure = new Error('the socket broke');
    const agent = createAgent({ model: scriptedModel(() => 'Hello.') });
    const { error } = observe(agent.run('Hi', { prompts: throwError(() => failure) }));
    expect(error).toBe(failure);
    expect(observe(agent.run('Hi', { prompts: EMPTY })).values).toMatchObject([{ text: 'Hello.' }]);
  });

  it('are subscribed once per run, until the run ends', () => {
    let subscribed = 0;
    const prompts = new Observable<string>(() => {
      subscribed++;
      return () => subscribed--;
    });
    const model = scriptedModel([[toolCall('look')], NEVER]);
    const { subscription } = observe(createAgent({ model, tools: [look] }).stream('Hi', { prompts }));
    expect(subscribed).toBe(1);
    subscription.unsubscribe();
    expect(subscribed).toBe(0);
  });
});

describe('prompts that a function passes on', () => {
  it('reach the model of each turn while it responds, and join the run at the end of that turn', () => {
    const received: (readonly [string, readonly Message[]])[] = [];
    const passOn = (model: Model, prompts: Observable<readonly Message[]>): Model => ({
      ...model,
      stream: (request) =>
        using(
          () => prompts.subscribe((messages) => received.push([model.name, messages])),
          () => model.stream(request),
        ),
    });
    const chunks = new Subject<Chunk>();
    const model = scriptedModel([chunks, 'Rain.'], { name: 'm' });
    const prompts = new Subject<string>();
    const { values } = observe(createAgent({ model }).stream('Hi', { prompts, whenPrompted: passOn }));
    chunks.next(text('Hel'));
    prompts.next('And the weather?');
    expect(received).toEqual([['m', [userMessage('And the weather?')]]]);
    for (const chunk of [text('lo.'), finish]) chunks.next(chunk);
    chunks.complete();
    expect(received).toHaveLength(1);
    expect(values.at(-1)).toMatchObject({
      result: { messages: [modelMessage('Hello.'), userMessage('And the weather?'), modelMessage('Rain.')] },
    });
  });
});

describe('prompts that interrupt', () => {
  const interrupt = { whenPrompted: 'interrupt' } as const;

  it('end the response at once, and the run goes on from the partial text', () => {
    let aborted = 0;
    const chunks = new Observable<Chunk>((out) => {
      out.next(text('Once upon'));
      return () => aborted++;
    });
    const model = scriptedModel([chunks, 'In Oslo.']);
    const prompts = new Subject<string>();
    const { values } = observe(createAgent({ model }).stream('Hi', { prompts, ...interrupt }));
    prompts.next('Where?');
    expect(aborted).toBe(1);
    expect(values).toMatchObject([
      { type: 'text', text: 'Once upon' },
      { type: 'message', message: modelMessage('Once upon') },
      { type: 'message', message: userMessage('Where?') },
      { type: 'turn', turn: 1, finishReason: 'stopped' },
      { type: 'text', text: '\nIn Oslo.', prefix: '\n' },
      { type: 'message' },
      { type: 'turn', turn: 2, finishReason: 'stop' },
      { type: 'result', result: { finishReason: 'stop', text: 'Once upon\nIn Oslo.' } },
    ]);
    expect(model.requests[1]?.messages).toEqual([userMessage('Hi'), modelMessage('Once upon'), userMessage('Where?')]);
  });

  it('do not execute the calls of the response, and leave a valid history', () => {
    const calls = of<Chunk>({ ...toolCall('look'), id: 'c1' });
    const model = scriptedModel([concat(calls, NEVER), 'Yes.']);
    const prompts = new Subject<string>();
    const { values } = observe(createAgent({ model, tools: [look] }).stream('Hi', { prompts, ...interrupt }));
    prompts.next('Wait.');
    expect(values.filter(({ type }) => type === 'toolResult')).toMatchObject([{ code: 'not_executed' }]);
    const history = model.requests[1]?.messages ?? [];
    expect(repairHistory(history).map(({ role }) => role)).toEqual(['user', 'model', 'user']);
  });

  it('do not interrupt the tools', () => {
    const released = new Subject<string>();
    const slow = tool({ name: 'slow', description: '', execute: () => released });
    const model = scriptedModel([[toolCall('slow')], 'Yes.']);
    const prompts = new Subject<string>();
    const { values } = observe(createAgent({ model, tools: [slow] }).stream('Hi', { prompts, ...interrupt }));
    prompts.next('Hurry.');
    released.next('done');
    released.complete();
    expect(values.find(({ type }) => type === 'toolResult')).toMatchObject({ result: 'done' });
    expect(model.requests).toHaveLength(2);
    expect(values.at(-1)).toMatchObject({ result: { turns: 2, finishReason: 'stop' } });
  });

  it('do not interrupt eager tools: complete calls run to their end, and the prompt follows their results', async () => {
    const released = new Subject<string>();
    let aborted = false;
    const slow = tool({
      name: 'slow',
      description: '',
      execute: (_, { signal }) => {
        signal.addEventListener('abort', () => (aborted = true));
        return released;
      },
    });
    const calls = of<Chunk[]>({ ...toolCall('slow'), id: 'c1' }, { ...toolCall('look'), id: 'c2' });
    const model = scriptedModel([concat(calls, NEVER), 'Yes.']);
    const prompts = new Subject<string>();
    const agent = createAgent({ model, tools: [slow, look], eagerTools: true });
    const { values } = observe(agent.stream('Hi', { prompts, ...interrupt }));
    await nextTask();
    prompts.next('Hurry.');
    expect([aborted, model.requests.length]).toEqual([false, 1]);
    released.next('done');
    released.complete();
    expect(model.requests[1]?.messages.slice(2)).toMatchObject([
      {
        role: 'user',
        parts: [
          { id: 'c1', result: 'done' },
          { id: 'c2', result: 'rain' },
        ],
      },
      userMessage('Hurry.'),
    ]);
    expect(values.find(({ type }) => type === 'turn')).toMatchObject({ finishReason: 'stopped', rawReason: 'prompt' });
    expect(values.at(-1)).toMatchObject({ result: { turns: 2, finishReason: 'stop' } });
  });

  it('send no request for a turn that they interrupt before it begins', () => {
    const model = scriptedModel(['Hello.']);
    const { values } = observe(createAgent({ model }).run('Hi', { prompts: of('Wait.'), ...interrupt }));
    expect(model.requests.map(({ messages }) => messages)).toEqual([[userMessage('Hi'), userMessage('Wait.')]]);
    expect(values).toMatchObject([{ turns: 2, messages: [userMessage('Wait.'), modelMessage('Hello.')] }]);
  });

  it('interrupt each response, and lose and double no prompt', () => {
    const prompts = new Subject<string>();
    const model = scriptedModel(() => concat(of(text('a')), NEVER));
    const { values } = observe(createAgent({ model, maxTurns: 4 }).stream('Hi', { prompts, ...interrupt }));
    for (const prompt of ['1', '2', '3', '4']) prompts.next(prompt);
    const a = modelMessage('a');
    expect(values.at(-1)).toMatchObject({
      result: {
        finishReason: 'maxTurns',
        messages: [a, userMessage('1'), a, userMessage('2'), a, userMessage('3'), a, userMessage('4')],
      },
    });
  });

  it.each([
    ['text', { typedOutput: true }],
    ['a tool', { typedOutput: false, tools: true }],
  ])('interrupt a typed output as %s, which is then asked for again', (_, capabilities) => {
    const outputs = { text: '{"a":2}', 'a tool': [toolCall('return_result', { a: 2 })] };
    const output = capabilities.typedOutput ? outputs.text : outputs['a tool'];
    const model = scriptedModel([concat(of(text('{"a":')), NEVER), output], { capabilities });
    const prompts = new Subject<string>();
    const agent = createAgent({ model, output: typed(z.object({ a: z.number() })) });
    const { values } = observe(agent.run('Hi', { prompts, ...interrupt }));
    prompts.next('Two, please.');
    expect(values).toMatchObject([{ output: { a: 2 }, turns: 2 }]);
  });

  it('keep the memo of the interrupted turn', () => {
    const memos: unknown[] = [];
    const prompts = new Subject<string>();
    const orchestrator = {
      name: 'own',
      turn: (...[state, context]: Parameters<typeof toolLoop.turn>) => {
        memos.push(state.memo);
        return toolLoop.turn({ ...state, memo: { mine: 1 } }, context);
      },
    };
    const model = scriptedModel([[toolCall('look')], concat(of(text('a')), NEVER), 'Yes.']);
    observe(createAgent({ model, tools: [look], orchestrator }).run('Hi', { prompts, ...interrupt }));
    prompts.next('more');
    expect(memos).toEqual([undefined, { mine: 1 }, { mine: 1 }]);
  });
});
