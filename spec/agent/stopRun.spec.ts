import { describe, expect, it } from '@jest/globals';
import { BehaviorSubject, EMPTY, NEVER, Observable, Subject, concat, map, of, throwError, timer } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { ProviderError } from '../../lib/core/errors.js';
import type { RunEvent, RunResult } from '../../lib/core/event.js';
import { repairHistory } from '../../lib/core/history.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { setUsageOfError } from '../../lib/core/usageOfError.js';
import { tool } from '../../lib/core/tool.js';
import { createLimiter, limitModel } from '../../lib/models/limitModel.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { typed } from '../../lib/agent/typed.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { nextTask, virtual } from '../support/toolCalls.js';

const endless = tool({ name: 'endless', description: '', execute: () => NEVER });
const noop = tool({ name: 'noop', description: '', execute: () => 'done' });

/** Starts a run whose stop is in the hands of the spec. */
function started(options: AgentOptions) {
  const stop = new Subject<void>();
  const log = observe(createAgent(options).stream('Hi', { stop }));
  const resultOf = (): RunResult => {
    const last = log.values.at(-1);
    if (last?.type !== 'result')
      throw new Error(`There is no result, but ${JSON.stringify(last)} (${String(log.error)}).`);
    return last.result;
  };
  return { stop, log, resultOf };
}

const typesOf = (events: readonly RunEvent[]) => events.map(({ type }) => type);

describe('the option stop of a run', () => {
  it('ends the run with a result, as in its diagram', () =>
    diagram('createAgent.stop', ({ turn1, stop$ }: Streams<'turn1', Chunk> & Streams<'stop$'>) =>
      createAgent({ model: scriptedModel([turn1]) }).stream('Tell me a story.', { stop: stop$ }),
    ));

  it('aborts the model, and ends the run with the partial text', () => {
    let aborted = 0;
    const chunks = new Observable<Chunk>((out) => {
      out.next({ type: 'text', text: 'Once upon' });
      return () => aborted++;
    });
    const { stop, log, resultOf } = started({ model: scriptedModel([chunks]) });
    stop.next();
    expect(aborted).toBe(1);
    expect(log.values.slice(1)).toEqual([
      { type: 'message', message: modelMessage('Once upon') },
      { type: 'turn', turn: 1, finishReason: 'stopped' },
      { type: 'result', result: expect.objectContaining({ text: 'Once upon', finishReason: 'stopped', turns: 1 }) },
    ]);
    expect(resultOf().usage).toEqual({});
    expect([log.completed, stop.observed]).toEqual([true, false]);
  });

  it('aborts the running tools, and answers their calls', () => {
    const turn = [toolCall('noop'), toolCall('endless'), toolCall('noop')];
    const { stop, log, resultOf } = started({ model: scriptedModel([turn]), tools: [noop, endless] });
    stop.next();
    const [, answers] = resultOf().messages;
    expect(answers?.parts.map((part) => part.type === 'toolResult' && (part.code ?? part.result))).toEqual([
      'done',
      'cancelled',
      'not_executed',
    ]);
    expect(typesOf(log.values).slice(-3)).toEqual(['message', 'turn', 'result']);
    expect(resultOf()).toMatchObject({ finishReason: 'stopped', turns: 1 });
    const history = [userMessage('Hi'), ...resultOf().messages];
    expect(repairHistory(history)).toBe(history);
  });

  it('does not execute the complete calls of a response that is stopped', () => {
    const chunks = concat(of<Chunk>({ ...toolCall('noop'), id: 'c1' }), NEVER);
    const { stop, log, resultOf } = started({ model: scriptedModel([chunks]), tools: [noop] });
    stop.next();
    expect(typesOf(log.values)).toEqual(['toolCall', 'message', 'toolResult', 'message', 'turn', 'result']);
    expect(resultOf().messages[1]?.parts).toEqual([expect.objectContaining({ id: 'c1', code: 'not_executed' })]);
  });

  it('keeps the results of eager calls that have ended, and cancels those that run', async () => {
    const calls = of<Chunk[]>({ ...toolCall('noop'), id: 'c1' }, { ...toolCall('endless'), id: 'c2' });
    const { stop, resultOf } = started({
      model: scriptedModel([concat(calls, NEVER)]),
      tools: [noop, endless],
      eagerTools: true,
    });
    await nextTask();
    stop.next();
    expect(resultOf().messages[1]?.parts).toMatchObject([{ result: 'done' }, { code: 'cancelled' }]);
  });

  it('sends no request if the notifier emits at subscription, and gives a result', () => {
    const model = scriptedModel(['never']);
    const { values } = observe(createAgent({ model }).stream('Hi', { stop: new BehaviorSubject(true) }));
    expect(values).toEqual([
      { type: 'turn', turn: 1, finishReason: 'stopped' },
      { type: 'result', result: expect.objectContaining({ messages: [], finishReason: 'stopped', text: '' }) },
    ]);
    expect(model.requests).toHaveLength(0);
  });

  it.each(['toolResult', 'message', 'turn'] as const)('counts a value that a handler of %s emits', (type) => {
    const model = scriptedModel([[toolCall('noop')], 'never']);
    const stop = new Subject<void>();
    const events: RunEvent[] = [];
    createAgent({ model, tools: [noop] })
      .stream('Hi', { stop })
      .subscribe((event) => {
        events.push(event);
        if (event.type === type) stop.next();
      });
    expect(model.requests).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ type: 'result', result: { finishReason: 'stopped' } });
    const last = events.at(-1);
    const history = [userMessage('Hi'), ...(last?.type === 'result' ? last.result.messages : [])];
    expect(repairHistory(history)).toBe(history);
  });

  it('does not change a run whose last response is complete', () => {
    const stop = new Subject<void>();
    const events: RunEvent[] = [];
    createAgent({ model: scriptedModel(['Hello']) })
      .stream('Hi', { stop })
      .subscribe((event) => {
        events.push(event);
        if (event.type === 'message') stop.next();
      });
    expect(events.at(-1)).toMatchObject({ type: 'result', result: { finishReason: 'stop', text: 'Hello' } });
  });

  it('ends the delay before a retry', () => {
    virtual(({ cold, expectObservable, flush }) => {
      let requests = 0;
      const fetch = () => {
        requests++;
        return Promise.reject(new TypeError('connection refused'));
      };
      const model = openaiChat('any', { apiKey: 'any', fetch });
      const events = createAgent({ model }).stream('Hi', { stop: cold('--a') });
      expectObservable(events).toBe('--(tr|)', {
        t: { type: 'turn', turn: 1, finishReason: 'stopped' },
        r: { type: 'result', result: expect.objectContaining({ finishReason: 'stopped' }) },
      });
      flush();
      expect(requests).toBe(1);
    });
  });

  it('ends the wait of a turn that is started over, whose usage counts', () => {
    virtual(({ cold, expectObservable }) => {
      const failure = new ProviderError('scripted', 'Busy.', { retryable: true });
      setUsageOfError(failure, { input: 7 });
      const model = retryModel(scriptedModel([['a', { error: failure }], 'never']), { delay: 600_000 });
      const types = createAgent({ model })
        .stream('Hi', { stop: cold('-----s') })
        .pipe(map((event) => (event.type === 'result' ? event.result : event.type)));
      const result = expect.objectContaining({ finishReason: 'stopped', text: '', messages: [], usage: { input: 7 } });
      expectObservable(types).toBe('(ard)(tz|)', {
        a: 'text',
        r: 'retract',
        d: 'retry',
        t: 'turn',
        z: result,
      });
    });
  });

  it.each([false, true])('ends the wait for an approval, with eager tools: %s', (eagerTools) => {
    let asked = 0;
    const guarded = tool({ name: 'guarded', description: '', needsApproval: true, execute: () => 'done' });
    const { stop, log, resultOf } = started({
      model: scriptedModel([[toolCall('guarded')], 'never']),
      tools: [guarded],
      eagerTools,
      approve: () =>
        new Observable(() => {
          asked++;
          return () => asked--;
        }),
    });
    expect(asked).toBe(1);
    stop.next();
    expect(asked).toBe(0);
    expect(log.completed).toBe(true);
    expect(resultOf()).toMatchObject({ finishReason: 'stopped', messages: [{}, { parts: [{ code: 'cancelled' }] }] });
  });

  it('answers a call that waits for its result, while another call runs', () => {
    const external = tool({ name: 'external', description: '' });
    const model = scriptedModel([[toolCall('external'), toolCall('endless')]]);
    const { stop, resultOf } = started({ model, tools: [external, endless] });
    stop.next();
    expect(resultOf()).toMatchObject({
      finishReason: 'stopped',
      messages: [{}, { parts: [{}, { code: 'cancelled' }] }],
    });
    const history = [userMessage('Hi'), ...resultOf().messages];
    expect(repairHistory(history)).toBe(history);
  });

  it('ends the wait for a rate limit', () => {
    virtual(({ cold, expectObservable, flush }) => {
      const inner = scriptedModel(() => 'Hello');
      const agent = createAgent({ model: limitModel(inner, createLimiter({ requestsPerMinute: 1 })) });
      observe(agent.run('first'));
      const reasons = agent.run('second', { stop: cold('--s') }).pipe(map(({ finishReason }) => finishReason));
      expectObservable(reasons).toBe('--(s|)', { s: 'stopped' });
      flush();
      expect(inner.requests).toHaveLength(1);
    });
  });

  it('ends an orchestrator that waits for anything else', () => {
    virtual(({ cold, expectObservable }) => {
      const waiting = new Observable<RunEvent>((out) => {
        out.next({ type: 'text', text: 'Let me' });
        out.add(timer(600_000).subscribe());
      });
      const agent = createAgent({
        model: scriptedModel([]),
        orchestrator: { name: 'waiting', turn: () => waiting },
      });
      expectObservable(agent.stream('Hi', { stop: cold('--a') })).toBe('a-(mtr|)', {
        a: { type: 'text', text: 'Let me' },
        m: { type: 'message', message: modelMessage('Let me') },
        t: { type: 'turn', turn: 1, finishReason: 'stopped' },
        r: { type: 'result', result: expect.objectContaining({ text: 'Let me', finishReason: 'stopped' }) },
      });
    });
  });

  it('stops a model of a custom orchestrator that knows nothing of it', () => {
    const turn = (_: unknown, { model }: { readonly model: Model }) =>
      concat(model.stream({ messages: [] }), of({ type: 'turn', turn: 1, finishReason: 'stop', next: null })) as never;
    const model = scriptedModel([concat(of<Chunk>({ type: 'text', text: 'a' }), NEVER)]);
    const { stop, log } = started({ model, orchestrator: { name: 'own', turn } });
    stop.next();
    expect(typesOf(log.values)).toEqual(['text', 'finish', 'turn', 'result']);
  });

  it.each([
    ['text', { typedOutput: true }],
    ['a tool', { typedOutput: false, tools: true }],
    ['an instruction', { typedOutput: false, tools: false }],
  ])('ends a run with a typed output as %s without an output, and without an error', (_, capabilities) => {
    const script = [concat(of<Chunk>({ type: 'text', text: '{"a":' }), NEVER)];
    const { stop, log, resultOf } = started({
      model: scriptedModel(script, { capabilities }),
      output: typed(z.object({ a: z.number() })),
    });
    stop.next();
    expect([resultOf().finishReason, resultOf().output, log.error]).toEqual(['stopped', undefined, undefined]);
  });

  it('ends an asynchronous validation of a typed output', () => {
    const slow = z.object({ a: z.number() }).refine(() => new Promise<boolean>(() => undefined));
    const { stop, log, resultOf } = started({ model: scriptedModel(['{"a":1}']), output: typed(slow) });
    expect(typesOf(log.values)).toEqual(['text', 'message']);
    stop.next();
    expect(resultOf()).toMatchObject({ finishReason: 'stopped', messages: [modelMessage('{"a":1}')] });
  });

  it('does not ask for a repair after the stop, and adds no message', () => {
    const model = scriptedModel(['not JSON', '{"a":1}']);
    const stop = new Subject<void>();
    const events: RunEvent[] = [];
    createAgent({ model, output: typed(z.object({ a: z.number() })) })
      .stream('Hi', { stop })
      .subscribe((event) => {
        events.push(event);
        if (event.type === 'message') stop.next();
      });
    expect(typesOf(events)).toEqual(['text', 'message', 'turn', 'result']);
    expect(events.at(-1)).toMatchObject({ result: { finishReason: 'stopped' } });
  });

  it('fails with an error of the notifier, and ignores its completion', () => {
    const failure = new Error('the button broke');
    const agent = createAgent({ model: scriptedModel(() => 'Hello') });
    expect(observe(agent.stream('Hi', { stop: throwError(() => failure) })).error).toBe(failure);
    expect(observe(agent.run('Hi', { stop: EMPTY })).values).toMatchObject([{ finishReason: 'stop' }]);
  });

  it('subscribes the notifier once per run, until the run ends', () => {
    let subscribed = 0;
    const stop = new Observable<void>(() => {
      subscribed++;
      return () => subscribed--;
    });
    const agent = createAgent({ model: scriptedModel([[toolCall('noop')], NEVER]), tools: [noop] });
    const { subscription } = observe(agent.stream('Hi', { stop }));
    expect(subscribed).toBe(1);
    subscription.unsubscribe();
    expect(subscribed).toBe(0);
  });
});

describe('the option cancel of a run', () => {
  it('answers one call to the model, and the run continues', () => {
    const cancel = new Subject<string>();
    const turns = [[toolCall('endless', {}, 'e1'), toolCall('noop', {}, 'n1')], ['Done.']];
    const agent = createAgent({ model: scriptedModel(turns), tools: [noop, endless] });
    const { values, completed } = observe(agent.stream('Hi', { cancel }));
    expect(completed).toBe(false);
    cancel.next('e1');
    expect(values.at(-1)).toMatchObject({
      result: {
        text: 'Done.',
        finishReason: 'stop',
        messages: [{}, { parts: [{ code: 'cancelled' }, { id: 'n1' }] }, {}],
      },
    });
    expect(cancel.observed).toBe(false);
  });

  it('is subscribed once per run, and left when the run is left', () => {
    let [subscribed, left] = [0, 0];
    const cancel = new Observable<string>(() => {
      subscribed++;
      return () => left++;
    });
    const turns = [[toolCall('noop')], [toolCall('noop')], [toolCall('endless')]];
    const agent = createAgent({ model: scriptedModel(turns), tools: [noop, endless] });
    const { subscription } = observe(agent.stream('Hi', { cancel }));
    expect([subscribed, left]).toEqual([1, 0]);
    subscription.unsubscribe();
    expect([subscribed, left]).toEqual([1, 1]);
  });

  it('fails the run if it fails', () => {
    const agent = createAgent({ model: scriptedModel([[toolCall('endless')]]), tools: [endless] });
    const { error } = observe(agent.stream('Hi', { cancel: throwError(() => new Error('lost')) }));
    expect(error).toEqual(new Error('lost'));
  });
});
