import { describe, expect, it, jest } from '@jest/globals';
import { concat, delay, map, merge, mergeMap, NEVER, of, Subject, throwError, timer } from 'rxjs';
import { ConfigurationError } from '../../lib/core/errors.js';
import type { RunResult } from '../../lib/core/event.js';
import { progress } from '../../lib/core/progress.js';
import type { CallAnswers } from '../../lib/core/approval.js';
import type { Tool } from '../../lib/core/tool.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { createAgent } from '../../lib/agent/createAgent.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import { cacheTool } from '../../lib/tools/cacheTool.js';
import { limitTool } from '../../lib/tools/limitTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { anyTool, callOf, turnOf, virtual } from '../support/toolCalls.js';
import { callTool } from './calls.js';

/** A tool whose results are the numbers of its executions. */
const counter = () => {
  let executions = 0;
  return anyTool('count', () => ++executions);
};
class Place {
  readonly #city: string;
  constructor(city: string) {
    this.#city = city;
  }
  get city() {
    return this.#city;
  }
}
const resultOf = (...call: Parameters<typeof callTool>) => observe(callTool(...call)).values.at(-1);

describe('cacheTool', () => {
  it('cacheTool executes equal calls once, as in its diagram', () =>
    diagram('cacheTool', ({ calls, tool }: Streams<'calls' | 'tool', unknown>) => {
      const cached = cacheTool(anyTool('weather', () => tool));
      return calls.pipe(mergeMap((city) => callTool(cached, { city: city as string })));
    }));

  it('cacheTool compares all arguments, regardless of the order of keys', () => {
    const cached = cacheTool(counter());
    expect(resultOf(cached, { a: 1, b: { c: [1, 2], d: 3 } })).toBe(1);
    expect(resultOf(cached, { b: { d: 3, c: [1, 2] }, a: 1 })).toBe(1);
    expect(resultOf(cached, { a: 1, b: { c: [2, 1], d: 3 } })).toBe(2);
    expect(resultOf(cached, { a: '1', b: { c: [1, 2], d: 3 } })).toBe(3);
    expect(resultOf(cached, {})).toBe(4);
  });

  it('cacheTool compares the value of `key`', () => {
    const cached = cacheTool(counter(), { key: (args) => (args as { city: string }).city.toLowerCase() });
    expect(resultOf(cached, { city: 'Oslo' })).toBe(1);
    expect(resultOf(cached, { city: 'OSLO', days: 3 })).toBe(1);
    expect(resultOf(cached, { city: 'Rome' })).toBe(2);
  });

  it.each<[string, (city: string) => unknown]>([
    ['undefined', () => undefined],
    ['NaN', () => NaN],
    ['a Map', (city) => new Map([['city', city]])],
    ['a Set in a list', (city) => [new Set([city])]],
    ['search parameters', (city) => new URLSearchParams({ city })],
    ['headers', (city) => new Headers({ city })],
    ['a Promise', (city) => Promise.resolve(city)],
    ['a function', (city) => () => city],
    ['a symbol', (city) => Symbol(city)],
    ['a bigint', (city) => BigInt(city.length)],
    ['an expression', (city) => new RegExp(city)],
    ['bytes', (city) => new TextEncoder().encode(city)],
    ['an error', (city) => new Error(city)],
    ['an object with a private field', (city) => new Place(city)],
  ])('cacheTool never gives the result of one call to another if `key` returns %s', (_, key) => {
    const cached = cacheTool(
      anyTool('echo', ({ city }) => city),
      { key: ({ city }: { city: string }) => key(city) as never } as object,
    );
    const [first, second] = [resultOf(cached, { city: 'Oslo' }), resultOf(cached, { city: 'Rome' })];
    expect(first).toMatch(/^Oslo$|JSON|returned a Promise/);
    expect(second).toMatch(/^Rome$|JSON|returned a Promise/);
  });

  it('cacheTool uses a result until `ttl` has passed', () =>
    virtual(({ expectObservable }) => {
      const cached = cacheTool(counter(), { ttl: 10 });
      const calls = merge(of(0), timer(9), timer(10), timer(25)).pipe(mergeMap(() => callTool(cached)));
      expectObservable(calls).toBe('a 8ms b c 14ms (d|)', { a: 1, b: 1, c: 2, d: 3 });
    }));

  it('cacheTool removes the result that was not used for the longest time beyond `size`', () => {
    const cached = cacheTool(counter(), { size: 2 });
    const [a, b, c] = [{ n: 'a' }, { n: 'b' }, { n: 'c' }];
    expect([a, b, a, c, a, b].map((args) => resultOf(cached, args))).toEqual([1, 2, 1, 3, 1, 4]);
    const none = cacheTool(counter(), { size: 0 });
    expect([a, a].map((args) => resultOf(none, args))).toEqual([1, 2]);
  });

  it('cacheTool shares a running call: its further progress and its result', () => {
    const output = new Subject<unknown>();
    const execute = jest.fn(() => output);
    const cached = cacheTool(anyTool('f', execute));
    const first = observe(callTool(cached));
    output.next(progress('a quarter'));
    const second = observe(callTool(cached));
    output.next(progress('half'));
    output.next('done');
    output.complete();
    expect(first.values).toEqual(['a quarter', 'half', 'done']);
    expect(second.values).toEqual(['half', 'done']);
    expect(observe(callTool(cached)).values).toEqual(['done']);
    expect(execute).toHaveBeenCalledTimes(1);
  });

  it('cacheTool answers all calls that share an execution with its error', () => {
    const output = new Subject<number>();
    const cached = cacheTool(anyTool('f', () => output));
    const calls = [observe(callTool(cached)), observe(callTool(cached))];
    output.error(new Error('broken'));
    expect(calls.map(({ values }) => values)).toEqual([['broken'], ['broken']]);
  });

  it('cacheTool executes again after an error', () => {
    let executions = 0;
    const flaky = anyTool('f', () => (++executions === 1 ? throwError(() => new Error('broken')) : executions));
    const cached = cacheTool(flaky);
    expect([resultOf(cached), resultOf(cached), resultOf(cached)]).toEqual(['broken', 2, 2]);
    executions = 0;
    expect(resultOf(retryTool(cacheTool(flaky), { delay: () => of(0) }))).toBe(2);
  });

  it('cacheTool aborts a shared call when all of its callers have been cancelled', () => {
    const signals: AbortSignal[] = [];
    const slow = anyTool('f', (_, { signal }) => {
      signals.push(signal);
      return NEVER;
    });
    const cached = cacheTool(slow);
    const first = observe(callTool(cached)).subscription;
    const second = observe(callTool(cached)).subscription;
    first.unsubscribe();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    second.unsubscribe();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    observe(callTool(cached)).subscription.unsubscribe();
    expect(signals).toHaveLength(2);
  });

  it('cacheTool executes with the context of the caller when the callers of an equal call have left', () => {
    const contexts: unknown[] = [];
    const slow = anyTool('f', (_, { context }) => {
      contexts.push(context);
      return NEVER;
    });
    const cached = cacheTool(slow);
    const call = (context: string) =>
      observe(turnOf(callOf('f')).pipe(executeTools([cached], { context }))).subscription;
    call('of Ann').unsubscribe();
    call('of Bob').unsubscribe();
    expect(contexts).toEqual(['of Ann', 'of Bob']);
  });

  it('cacheTool gives each call a copy of the result', () => {
    const cached = cacheTool(anyTool('f', () => ({ list: [1] })));
    const results = [resultOf(cached), resultOf(cached)] as { list: number[] }[];
    results[0]?.list.push(2);
    expect(results[1]).toEqual({ list: [1] });
    expect(resultOf(cached)).toEqual({ list: [1] });
  });

  it('cacheTool executes unequal calls at the same time', () =>
    virtual(({ expectObservable }) => {
      const slow = anyTool('f', ({ n }) => of(n).pipe(delay(10)));
      const cached = cacheTool(slow);
      const calls = [1, 2, 1].map((n) => callTool(cached, { n }));
      expectObservable(concat(merge(...calls), callTool(cached, { n: 2 }))).toBe('10ms (aabc|)', { a: 1, b: 2, c: 2 });
    }));

  const asking = askTool({ name: 'who', description: '', execute: () => 'Ann' });
  const agentWith = (tool: Tool) => {
    const agent = createAgent({ model: scriptedModel([]), tools: [tool] });
    return agentTool(agent, { name: 'sub', description: '' });
  };
  it.each([
    ['a tool', asking, 'who'],
    ['a wrapped tool', limitTool(retryTool(asking), { concurrency: 1 }), 'who'],
    ['a tool in an agent', agentWith(asking), 'sub'],
    ['a tool in an agent in an agent', agentWith(agentWith(asking)), 'sub'],
  ])('cacheTool rejects %s that asks a person', (_, tool, name) => {
    expect(() => cacheTool(tool)).toThrow(`The tool "${name}" asks a person`);
    expect(() => cacheTool({ ttl: 1 })(tool)).toThrow(ConfigurationError);
    expect(() => cacheTool(agentWith(counter()))).not.toThrow();
  });

  /** Two runs that call a cached agent at once; the inner agent calls the tool. */
  const twoRuns = (inner: Tool) => {
    const callOnce = (name: string) =>
      scriptedModel(({ messages }) =>
        messages.at(-1)?.parts[0]?.type === 'toolResult' ? 'done' : [toolCall(name, { prompt: 'a' }, 'c')],
      );
    const agent = createAgent({ model: callOnce('count'), tools: [inner] });
    const tools = [cacheTool(agentTool(agent, { name: 'sub', description: '' }))];
    return createAgent({ model: callOnce('sub'), tools });
  };

  it('cacheTool of an agent ends only the call of the run that stops', () =>
    virtual(({ expectObservable, cold }) => {
      const agent = twoRuns(anyTool('count', () => of(1).pipe(delay(10))));
      const endOf = map(({ finishReason, text }: RunResult) => [finishReason, text]);
      expectObservable(agent.run('A', { stop: cold('5ms a') }).pipe(endOf)).toBe('5ms (a|)', { a: ['stopped', ''] });
      expectObservable(agent.run('B').pipe(endOf)).toBe('10ms (b|)', { b: ['stop', 'done'] });
    }));

  it('cacheTool of an agent lets each run decide on its own waiting calls', () => {
    const paid: unknown[] = [];
    const execute = (_: unknown, { context }: { context: unknown }) => paid.push(context);
    const agent = twoRuns({ ...anyTool('count', execute), needsApproval: true });
    const options = ['ann', 'bob'].map((context) => ({ context, checkpoints: true }) as const);
    const waiting = options.map((each) => observe(agent.run('Pay', each)).values[0]);
    for (const [at, result] of waiting.entries()) {
      expect(paid).toEqual(['ann', 'bob'].slice(0, at));
      const decisions = { 'c/c': { approve: true } };
      const resumed = observe(agent.resume(result!.checkpoint!, { ...options[at], decisions }));
      expect(resumed.values.at(-1)).toMatchObject({ result: { finishReason: 'stop' } });
    }
    expect(paid).toEqual(['ann', 'bob']);
  });

  it.each(['asks', 'runs an agent that needs an approval'])(
    'cacheTool lets each run answer a call of a tool that executes one which %s',
    (kind) => {
      const isQuestion = kind === 'asks';
      const asking = askTool({
        name: 'ask',
        description: '',
        execute: (_, { ask }) => ask({ message: 'Who?', schema: { type: 'object' } }),
      }) as Tool;
      const pay = anyTool('pay', (_, { context }) => context);
      const model = scriptedModel(({ messages }) =>
        messages.length === 1 ? [toolCall('pay', {}, '1')] : JSON.stringify(messages.at(-1)?.parts[0]),
      );
      const paying = agentTool(createAgent({ model, tools: [{ ...pay, needsApproval: true }] }), {
        name: 'sub',
        description: '',
      }) as Tool;
      const inner = isQuestion ? asking : paying;
      const cached = cacheTool(anyTool('all', (_, context) => inner.execute?.({ prompt: 'x' }, context)));
      const outer = createAgent({
        model: scriptedModel(({ messages }) => (messages.length === 1 ? [toolCall('all', {}, 'c1')] : 'Done.')),
        tools: [cached],
      });
      const users = ['ann', 'bob', 'cleo'].map((context) => {
        const answers = new Subject<CallAnswers>();
        return { context, answers, ...observe(outer.run('Go', { context, answers })) };
      });
      for (const { context, answers, values } of users) {
        expect(values).toEqual([]);
        answers.next(isQuestion ? { results: { 'c1/1': { context } } } : { decisions: { 'c1/1': { approve: true } } });
        expect(JSON.stringify(values[0]?.messages[1])).toContain(context);
      }
    },
  );

  it.each([
    [{ size: -1 }, 'size is -1.'],
    [{ size: NaN }, 'size is NaN.'],
    [{ ttl: -1 }, 'ttl is -1.'],
  ])('cacheTool rejects %j', (options, message) => {
    expect(() => cacheTool(counter(), options)).toThrow(message);
  });
});
